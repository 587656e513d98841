//! Bytes are text: what reads as a trace is written and read again as it was.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| longrun_sim::fuzz::trace(bytes));
