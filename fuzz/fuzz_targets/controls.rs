//! Every property of the model-facing texts, on any bytes.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| longrun_core::controls::exercise(bytes));
