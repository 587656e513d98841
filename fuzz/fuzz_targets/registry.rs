//! Bytes are choices: whatever run they make up, every property holds.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| longrun_sim::fuzz::registry(bytes));
