//! Campaigns: many runs, on several threads, until one fails or the time is over.

use std::{
    hash::Hash,
    ops::Range,
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use crate::{
    bench::Depth,
    coverage::Coverage,
    fingerprint::Fingerprint,
    property::{Label, Property},
    run::{Report, run},
    source::Source,
};

/// How many runs a campaign has to have before it must have seen everything that
/// should happen sometimes.
pub const RUNS_THAT_SEE_ALL: u64 = 2_000;

/// How many seeds a thread takes at a time.
const BATCH: u64 = 16;

/// What to run.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// The first seed.
    pub from: u64,
    /// How many seeds; `None`: until the time is over.
    pub count: Option<u64>,
    /// For how long at most.
    pub time: Option<Duration>,
    /// On how many threads.
    pub jobs: usize,
    /// Which part of the seeds, from 0 on, and of how many parts.
    pub shard: (u64, u64),
    /// How much is checked.
    pub depth: Depth,
}

/// How far a campaign has got.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Runs.
    pub runs: u64,
    /// Events in them.
    pub events: u64,
    /// What was reached.
    pub coverage: Coverage,
    /// A digest of every event of every run, and of what the registry made of it. It is
    /// the same for the same seeds, in whichever order and in how many parts they are
    /// run: those of all parts add up (wrapping around) to that of the whole.
    pub digest: u128,
    /// The first seed, and the one after the last that was reached.
    pub seeds: Range<u64>,
    /// How long it took.
    pub elapsed: Duration,
    /// The seed that failed, and what came of it.
    pub failure: Option<(u64, Box<Report>)>,
}

impl Tally {
    /// Events a second.
    #[must_use]
    pub fn rate(&self) -> u64 {
        let micros = self.elapsed.as_micros().max(1);
        u64::try_from(u128::from(self.events) * 1_000_000 / micros).unwrap_or(u64::MAX)
    }

    /// What should happen sometimes and never did, though there were runs enough.
    #[must_use]
    pub fn never_seen(&self) -> Vec<Property> {
        if self.runs < RUNS_THAT_SEE_ALL {
            return Vec::new();
        }
        let sometimes = Property::ALL.iter().filter(|p| p.label() == Label::Sometimes);
        sometimes.filter(|p| !self.coverage.seen.contains(**p)).copied().collect()
    }
}

/// Runs a campaign. `progress` is told how far it has got, now and then.
pub fn campaign(plan: &Plan, progress: &(dyn Fn(&Tally) + Sync)) -> Tally {
    let (began, next, stop) = (Instant::now(), AtomicU64::new(0), AtomicBool::new(false));
    let shared = Mutex::new(Tally { seeds: plan.from..plan.from, ..Tally::default() });
    let work = || {
        while !stop.load(Ordering::Relaxed) {
            let first = next.fetch_add(BATCH, Ordering::Relaxed);
            let over = plan.count.is_some_and(|count| first >= count);
            if over || plan.time.is_some_and(|time| began.elapsed() >= time) {
                return;
            }
            let last = plan.count.map_or(first + BATCH, |count| count.min(first + BATCH));
            let batch = run_batch(plan, first..last);
            let mut tally = shared.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            tally.runs += batch.runs;
            tally.seeds.end = tally.seeds.end.max(plan.from.saturating_add(last));
            tally.events += batch.events;
            tally.coverage.extend(&batch.coverage);
            tally.digest = tally.digest.wrapping_add(batch.digest);
            tally.elapsed = began.elapsed();
            if let Some(failure) = batch.failure {
                stop.store(true, Ordering::Relaxed);
                // The smallest seed of those that failed at the same time.
                if tally.failure.as_ref().is_none_or(|(seed, _)| failure.0 < *seed) {
                    tally.failure = Some(failure);
                }
            }
            progress(&tally);
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..plan.jobs.max(1) {
            scope.spawn(work);
        }
        work();
    });
    let mut tally = shared.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    tally.elapsed = began.elapsed();
    tally
}

fn run_batch(plan: &Plan, places: Range<u64>) -> Tally {
    let mut tally = Tally::default();
    let (shard, shards) = plan.shard;
    for place in places.filter(|place| place % shards.max(1) == shard) {
        let seed = plan.from.wrapping_add(place);
        let report = run(&mut Source::from_seed(seed), plan.depth);
        tally.runs += 1;
        tally.events += report.trace.events.len() as u64;
        tally.coverage.extend(&report.coverage);
        tally.digest = tally.digest.wrapping_add(of_seed(seed, report.digest));
        if report.failure.is_some() {
            tally.failure = Some((seed, Box::new(report)));
            break;
        }
    }
    tally
}

/// A run's part in the digest of a campaign. The seed is in it: two seeds that change
/// places are a difference.
fn of_seed(seed: u64, digest: u128) -> u128 {
    let mut fingerprint = Fingerprint::default();
    (seed, digest.to_le_bytes()).hash(&mut fingerprint);
    fingerprint.value()
}
