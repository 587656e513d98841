//! The liveness phase: the world heals, and everything has to come to rest.
//!
//! From here on nobody asks for anything new, every producer that is asked to end
//! does, and every answer that is owed is given. What is owed is read off the model,
//! so any trace can be healed, wherever it came from.

use longrun_core::{ClaimSource, Event, Instant, Now, Outcome};

use crate::{
    bench::Bench,
    model::{Model, entities::Life, entities::Stage},
    property::{Failure, Kind, Property},
    source::Source,
    trace::Trace,
};

/// Far more than any run owes.
const PATIENCE: usize = 20_000;

/// Something that the world still owes, if anything.
fn owed(model: &Model, source: &mut Source) -> Option<Event> {
    use crate::r#gen::any;
    // A kind is drawn first, so that the answers of different kinds interleave.
    let first = source.below(6);
    (0..6).find_map(|kind| match (first + kind) % 6 {
        0 => {
            let start = any(&model.starts, source, |_, start| !start.over)?;
            Some(Event::Release { reservation: model.starts[start].key })
        }
        1 => {
            let kill = any(&model.kills, source, |_, kill| !kill.over)?;
            Some(Event::KillAnswered { kill: model.kills[kill].key, accepted: true })
        }
        2 => {
            let read = any(&model.reads, source, |_, read| !read.over)?;
            Some(Event::ReadEnded { read: model.reads[read].key, delivered: source.chance(128) })
        }
        3 => {
            let wait = any(&model.waits, source, |_, w| !w.over && !w.is_waiting())?;
            Some(Event::TakeWait { waiter: model.waits[wait].key })
        }
        4 => {
            let task = any(&model.tasks, source, |_, t| t.unanswered().next().is_some())?;
            let task = &model.tasks[task];
            let event = Event::CancelAnswered { task: task.key, error: None };
            task.is_on_record().then_some(event)
        }
        _ => {
            let task = any(&model.tasks, source, |_, task| task.is_live())?;
            let task = model.tasks[task].key;
            Some(Event::Settled { task, outcome: Outcome::completed() })
        }
    })
}

/// Heals the world around a bench, lets everything end, and shuts it down.
///
/// # Errors
///
/// What did not hold on the way, or what did not come to rest, and why.
pub(crate) fn heal(
    bench: &mut Bench,
    trace: &mut Trace,
    source: &mut Source,
) -> Result<(), Failure> {
    settle_everything(bench, trace, source)?;
    claim_everything(bench, trace)?;
    let owners: Vec<_> = bench.model().owners.iter().map(|owner| owner.key).collect();
    for owner in owners {
        let drops = source.chance(128);
        let gone = bench
            .model()
            .owner_index(owner)
            .is_none_or(|index| bench.model().owners[index].is_gone());
        if !gone {
            let event = Event::DisposeOwner { owner };
            feed(bench, trace, if drops { Event::OwnerDropped { owner } } else { event })?;
        }
    }
    at_rest(bench)?;
    feed(bench, trace, Event::Shutdown)?;
    settle_everything(bench, trace, source)?;
    at_rest(bench)?;
    match bench.left_over() {
        None => Ok(()),
        Some(what) => Err(bench.failure(Kind::Liveness, (Property::NothingLeft, what))),
    }
}

fn feed(bench: &mut Bench, trace: &mut Trace, event: Event) -> Result<(), Failure> {
    feed_at(bench, trace, bench.model().now.at, event)
}

fn feed_at(bench: &mut Bench, trace: &mut Trace, at: Instant, event: Event) -> Result<(), Failure> {
    let passed_ms = at.0.saturating_sub(bench.model().now.at.0) / 1_000_000;
    let now = Now::new(at, bench.model().now.wall_ms.saturating_add(passed_ms));
    trace.events.push((now, event));
    let (now, event) = &trace.events[trace.events.len() - 1];
    bench.feed(*now, event)
}

fn settle_everything(
    bench: &mut Bench,
    trace: &mut Trace,
    source: &mut Source,
) -> Result<(), Failure> {
    for _ in 0..PATIENCE {
        if let Some(event) = owed(bench.model(), source) {
            feed(bench, trace, event)?;
        } else if let Some(at) = bench.next_deadline() {
            feed_at(bench, trace, at, Event::Tick)?;
        } else {
            return Ok(());
        }
    }
    let what = format!("still not at rest after {PATIENCE} more events");
    Err(bench.failure(Kind::Liveness, (Property::Rest, what)))
}

/// Every owner takes what is pending for it; then nothing that it was owed is left.
// contract: N1, W6, K5
fn claim_everything(bench: &mut Bench, trace: &mut Trace) -> Result<(), Failure> {
    if bench.model().stage() != Stage::Open {
        return Ok(());
    }
    let owners = bench.model().owners.iter().filter(|owner| owner.life() == Life::Live);
    let owners: Vec<_> = owners.map(|owner| owner.key).collect();
    for owner in owners {
        let event = Event::Claim { owner, source: ClaimSource::User, or_idle: true };
        feed(bench, trace, event)?;
        let untold = bench.ledger().untold(owner);
        if !untold.is_empty() {
            let what = format!("nothing ever told {owner:?} that {untold:?} had ended");
            return Err(bench.failure(Kind::Liveness, (Property::NeverNone, what)));
        }
    }
    Ok(())
}

fn at_rest(bench: &Bench) -> Result<(), Failure> {
    match bench.ledger().pending() {
        None => Ok(()),
        Some(what) => Err(bench.failure(Kind::Liveness, (Property::Rest, what))),
    }
}
