//! What a panic had to say.

use std::any::Any;

pub(crate) fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.map_or_else(|| "it panicked".to_owned(), |text| format!("it panicked: {text}"))
}
