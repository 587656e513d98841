//! Every property of the output, on any bytes in any pieces.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| longrun_core::output::exercise(bytes));
