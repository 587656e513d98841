//! One run: a safety phase, in which the world does as it pleases, then a liveness
//! phase, in which it heals.

use longrun_core::{Command, Config, Event, Registry};

use crate::{
    bench::{Bench, Depth},
    coverage::Coverage,
    heal::heal,
    model::Answer,
    property::{Failure, Kind, Property},
    source::Source,
    swarm::draw_config,
    trace::Trace,
    world::World,
};

/// What came of a run.
#[derive(Clone, Debug)]
pub struct Report {
    /// What was sent, up to and including the event that failed.
    pub trace: Trace,
    /// What did not hold, if anything.
    pub failure: Option<Failure>,
    /// What was reached.
    pub coverage: Coverage,
    /// A digest of every event, its answer and the commands that it led to, in this
    /// order. It does not depend on how much was checked.
    pub digest: u128,
}

/// Lets a source of choices make up a run.
#[must_use]
pub fn run(source: &mut Source, depth: Depth) -> Report {
    let config = draw_config(source);
    let mut trace = Trace::new(config);
    let Ok(mut bench) = Bench::new(config, depth) else {
        return Report { trace, failure: None, coverage: Coverage::default(), digest: 0 };
    };
    let failure = phases(&mut bench, &mut trace, source, depth).err();
    let digest = bench.digest();
    Report { trace, failure, coverage: bench.coverage, digest }
}

fn phases(
    bench: &mut Bench,
    trace: &mut Trace,
    source: &mut Source,
    depth: Depth,
) -> Result<(), Failure> {
    let mut world = World::new(source);
    for _ in 0..world.swarm.length {
        if source.is_empty() {
            break;
        }
        let (now, event) = world.next(bench.model(), bench.next_deadline(), source);
        trace.events.push((now, event));
        let (now, event) = &trace.events[trace.events.len() - 1];
        bench.feed(*now, event)?;
        world.observe(event, &bench.answer, &bench.commands, source);
    }
    heal(bench, trace, source)?;
    let replay = match depth {
        Depth::Full => true,
        Depth::Sampled => trace.events.len().is_multiple_of(8),
    };
    if replay { replays_the_same(trace) } else { Ok(()) }
}

/// Everything that a registry says about a trace.
fn outputs(config: Config, trace: &Trace) -> Vec<(Answer, Vec<Command>)> {
    let Ok(mut registry) = Registry::new(config) else { return Vec::new() };
    let handle = |(now, event): &(longrun_core::Now, Event)| {
        let mut commands = Vec::new();
        (registry.handle(*now, event.clone(), &mut commands), commands)
    };
    trace.events.iter().map(handle).collect()
}

/// The same trace gives the same answers and commands, each time.
// contract: X2
fn replays_the_same(trace: &Trace) -> Result<(), Failure> {
    let (first, second) = (outputs(trace.config, trace), outputs(trace.config, trace));
    let Some(step) = first.iter().zip(&second).position(|(first, second)| first != second) else {
        return Ok(());
    };
    let message = format!("first {:?}\nthen  {:?}", first[step], second[step]);
    Err(Failure { kind: Kind::Property, property: Property::Replay, message, step: step + 1 })
}

/// Runs a trace again, whoever made it up, and heals the world at its end.
///
/// # Errors
///
/// [`Unfit`](crate::trace::Unfit) if its configuration is one that nothing can work
/// within.
pub fn replay(trace: &Trace, depth: Depth) -> Result<Report, crate::trace::Unfit> {
    let mut bench = Bench::new(trace.config, depth).map_err(crate::trace::Unfit::Config)?;
    let mut sent = Trace::new(trace.config);
    let verdict = trace.events.iter().try_for_each(|(now, event)| {
        sent.events.push((*now, event.clone()));
        bench.feed(*now, event)
    });
    let verdict = verdict.and_then(|()| {
        let mut healed = sent.clone();
        let verdict = heal(&mut bench, &mut healed, &mut Source::from_bytes(&[]));
        if verdict.is_err() {
            sent = healed;
        }
        verdict
    });
    let digest = bench.digest();
    Ok(Report { trace: sent, failure: verdict.err(), coverage: bench.coverage, digest })
}
