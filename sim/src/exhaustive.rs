//! Exhaustive search: every order of every event of a small world, breadth first, down
//! to a depth.
//!
//! Two histories that come to the same canonical state are gone on with only once. The
//! canonical state is the model's; that the registry agrees with it is what each step
//! checks, down to the walk through all invariants. Of a state only a fingerprint of
//! 128 bits is kept, and of the frontier only the path to each state, from which it is
//! rebuilt.

use std::{
    collections::HashSet,
    hash::BuildHasherDefault,
    time::{Duration, Instant},
};

use longrun_core::{Event, Now};

use crate::{
    bench::{Bench, Depth},
    coverage::Pairs,
    fingerprint::Fingerprint,
    property::Failure,
    trace::Trace,
};

pub use crate::worlds::{SmallWorld, WORLDS};

/// How to search.
#[derive(Clone, Copy, Debug)]
pub struct Search {
    /// How many events deep, not counting what there is at the beginning.
    pub depth: usize,
    /// On how many threads.
    pub jobs: usize,
    /// Stop soon after so many states, be it in the middle of a level.
    pub max_states: usize,
}

/// What was found.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// Distinct states.
    pub states: usize,
    /// Events tried.
    pub transitions: usize,
    /// How deep the search went; the last level may have been left half searched.
    pub depth: usize,
    /// Whether there was nothing left to try.
    pub complete: bool,
    /// Which event met which phase.
    pub pairs: Pairs,
    /// How long it took.
    pub elapsed: Duration,
    /// A trace that fails, if there is one, and how.
    pub failure: Option<(Trace, Failure)>,
}

/// How many states of a frontier are gone on from before it is asked whether to stop.
const SLICE: usize = 1 << 14;

/// The choices that lead to a state.
type Path = Box<[u8]>;

type Seen = HashSet<u128, BuildHasherDefault<Fingerprint>>;

fn fingerprint(bench: &Bench) -> u128 {
    let mut hasher = Fingerprint::default();
    bench.model().canonical(&mut hasher);
    hasher.value()
}

/// What one thread found in its part of a frontier.
#[derive(Default)]
struct Part {
    states: Vec<(u128, Path)>,
    transitions: usize,
    pairs: Pairs,
    failure: Option<(Trace, Failure)>,
}

/// Searches a world. `progress` is told the depth, the states and the transitions so
/// far, after each level.
pub fn search(world: &SmallWorld, plan: &Search, progress: &dyn Fn(usize, usize, usize)) -> Found {
    let began = Instant::now();
    let mut found = Found::default();
    let mut seen = Seen::default();
    let mut frontier: Vec<Path> = vec![Path::default()];
    found.states = 1;
    let mut cut = false;
    while found.depth < plan.depth && !frontier.is_empty() && !cut {
        let mut next = Vec::new();
        for slice in frontier.chunks(SLICE) {
            for part in expand_on(world, slice, &seen, plan.jobs) {
                found.transitions += part.transitions;
                found.pairs.extend(part.pairs);
                found.failure = found.failure.take().or(part.failure);
                next.extend(part.states.into_iter().filter(|(print, _)| seen.insert(*print)));
            }
            if found.failure.is_some() || found.states + next.len() >= plan.max_states {
                cut = true;
                break;
            }
        }
        found.states += next.len();
        found.depth += 1;
        frontier = next.into_iter().map(|(_, path)| path).collect();
        progress(found.depth, found.states, found.transitions);
    }
    found.complete = frontier.is_empty() && !cut;
    found.elapsed = began.elapsed();
    found
}

/// Tries everything after each state of a part of a frontier, on several threads. What
/// they found comes in the order of their parts.
fn expand_on(world: &SmallWorld, frontier: &[Path], seen: &Seen, jobs: usize) -> Vec<Part> {
    let size = frontier.len().div_ceil(jobs.max(1));
    std::thread::scope(|scope| {
        let threads: Vec<_> = frontier
            .chunks(size)
            .map(|paths| scope.spawn(move || expand(world, paths, seen)))
            .collect();
        threads
            .into_iter()
            .map(|thread| match thread.join() {
                Ok(part) => part,
                Err(panic) => std::panic::resume_unwind(panic),
            })
            .collect()
    })
}

/// The time of the next event: the world has no time but that of its deadlines.
fn time_of(bench: &Bench, event: &Event) -> Now {
    let mut now = bench.model().now;
    if let (Event::Tick, Some(at)) = (event, bench.next_deadline()) {
        now.at = at;
    }
    now
}

/// A way through a world, with the state after each step. The paths of a frontier come
/// in the order in which they were found, so the next one begins like this one, and only
/// its last steps have to be gone again.
struct Way<'a> {
    world: &'a SmallWorld,
    start: Bench,
    prelude: Vec<(Now, Event)>,
    steps: Vec<Step>,
}

struct Step {
    choice: u8,
    sent: (Now, Event),
    bench: Bench,
}

impl<'a> Way<'a> {
    fn new(world: &'a SmallWorld) -> Option<Self> {
        let mut start = Bench::new(world.config(), Depth::Sampled).ok()?;
        start.forget_digest();
        let mut prelude = Vec::new();
        for event in world.prelude() {
            let now = time_of(&start, &event);
            start.feed(now, &event).ok()?;
            prelude.push((now, event));
        }
        Some(Self { world, start, prelude, steps: Vec::new() })
    }

    fn end(&self) -> &Bench {
        self.steps.last().map_or(&self.start, |step| &step.bench)
    }

    /// Goes to the end of a path.
    fn follow(&mut self, path: &[u8]) -> Option<&Bench> {
        let same = self.steps.iter().zip(path).take_while(|(step, choice)| step.choice == **choice);
        self.steps.truncate(same.count());
        for &choice in &path[self.steps.len()..] {
            let mut bench = self.end().clone();
            let event = self.world.choices(bench.model()).swap_remove(usize::from(choice));
            let now = time_of(&bench, &event);
            bench.feed(now, &event).ok()?;
            self.steps.push(Step { choice, sent: (now, event), bench });
        }
        Some(self.end())
    }

    /// All that was sent on it, and one event more.
    fn trace(&self, last: (Now, Event)) -> Trace {
        let steps = self.steps.iter().map(|step| &step.sent);
        let events = self.prelude.iter().chain(steps).cloned().chain([last]).collect();
        Trace { config: self.world.config(), events }
    }
}

/// Tries everything that can come next after each of those states.
fn expand(world: &SmallWorld, paths: &[Path], seen: &Seen) -> Part {
    let mut part = Part::default();
    let mut fresh = Seen::default();
    let Some(mut way) = Way::new(world) else { return part };
    for path in paths {
        let Some(bench) = way.follow(path) else { continue };
        for (choice, event) in world.choices(bench.model()).into_iter().enumerate() {
            let now = time_of(bench, &event);
            let mut next = bench.clone();
            next.set_depth(Depth::Full);
            part.transitions += 1;
            if let Err(failure) = next.feed(now, &event) {
                part.failure = Some((way.trace((now, event)), failure));
                return part;
            }
            part.pairs.extend(next.coverage.pairs);
            let print = fingerprint(&next);
            if !seen.contains(&print) && fresh.insert(print) {
                let mut longer = path.to_vec();
                longer.push(u8::try_from(choice).unwrap_or(u8::MAX));
                part.states.push((print, longer.into()));
            }
        }
    }
    part
}
