//! The bodies of the fuzz targets. They are here, so that they break with the build,
//! and so that `cargo test` can replay what a fuzzer has found.

use crate::{
    bench::Depth,
    run::{replay, run},
    source::Source,
    trace::Trace,
};

/// How many events of a made-up trace are run: a fuzzer likes to repeat itself.
const MOST_EVENTS: usize = 400;

/// Bytes are choices: whatever run they make up, every property holds.
///
/// # Panics
///
/// If one does not, with the trace that shows it.
pub fn registry(bytes: &[u8]) {
    let report = run(&mut Source::from_bytes(bytes), Depth::Full);
    if let Some(failure) = report.failure {
        panic!("{failure}\n\n{}", report.trace.print());
    }
}

/// Bytes are text: what reads as a trace is written and read again as it was, and
/// whoever made it up, every property holds.
///
/// # Panics
///
/// If it comes back different, or if a property does not hold.
pub fn trace(bytes: &[u8]) {
    let Ok(mut trace) =
        std::str::from_utf8(bytes).map_err(drop).and_then(|text| Trace::parse(text).map_err(drop))
    else {
        return;
    };
    let printed = trace.print();
    match Trace::parse(&printed) {
        Ok(read) => assert_eq!(read, trace, "it came back different:\n{printed}"),
        Err(error) => panic!("what was written cannot be read: {error}\n{printed}"),
    }
    trace.events.truncate(MOST_EVENTS);
    let report = replay(&trace, Depth::Full);
    if let Some(failure) = report.ok().and_then(|report| report.failure) {
        panic!("{failure}\n\n{printed}");
    }
}
