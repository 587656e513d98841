//! The canaries: seeded bugs in the core that a campaign has to find. One that it does
//! not find means that the simulation is broken, or blind.

pub use longrun_core::canary::{Canary, is_chosen, set as put};

use crate::{
    bench::Depth, property::Failure, run::run, shrink::shrink, source::Source, trace::Trace,
};

/// A seeded bug that was found.
#[derive(Clone, Debug)]
pub struct Found {
    /// After how many seeds.
    pub seeds: u64,
    /// In a run of how many events.
    pub events: usize,
    /// The trace that shows it, made small.
    pub trace: Trace,
    /// What did not hold.
    pub failure: Failure,
}

/// Puts a bug into the core and looks for it in so many seeds, then takes it out.
///
/// The bug is in every registry of this process: nothing else may run meanwhile.
#[must_use]
pub fn hunt(canary: Canary, from: u64, count: u64) -> Option<Found> {
    put(Some(canary));
    let found = (0..count).find_map(|place| {
        let seed = from.wrapping_add(place);
        let report = run(&mut Source::from_seed(seed), Depth::Sampled);
        let failure = report.failure?;
        let events = report.trace.events.len();
        let (trace, failure) = shrink(&report.trace).unwrap_or((report.trace, failure));
        Some(Found { seeds: place + 1, events, trace, failure })
    });
    put(None);
    found
}
