//! Proof that the core needs no `std`: this crate defines the panic handler that `std`
//! would bring along, so that it stops compiling as soon as anything pulls `std` in.
#![no_std]

use longrun_core::{Config, InvalidConfig, Registry};

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {
        core::hint::spin_loop();
    }
}

/// Uses the core, so that it is linked.
pub fn registry() -> Result<Registry, InvalidConfig> {
    Registry::new(Config::default())
}
