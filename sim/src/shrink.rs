//! Makes a failing trace small: takes out events while it still fails in the same way,
//! then shortens what is left of numbers and texts.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::Duration,
};

use longrun_core::{Config, Event, Instant, NoticePreference, Now, Registry};

use crate::{
    bench::Depth,
    keys::Renaming,
    model::Answer,
    property::{Failure, Kind, Property},
    run::replay,
    trace::Trace,
};

/// What has to stay the same about a failure.
type Signature = (Kind, Property);

/// Finds a smaller trace that fails in the same way, or gives back `None` if this one
/// does not fail.
#[must_use]
pub fn shrink(trace: &Trace) -> Option<(Trace, Failure)> {
    let (mut best, mut failure) = fails(trace, None)?;
    let signature = (failure.kind, failure.property);
    let keep_if_fails = |candidate: &Trace, best: &mut Trace, failure: &mut Failure| {
        let found = fails(candidate, Some(signature));
        found.map(|(trace, why)| (*best, *failure) = (trace, why)).is_some()
    };
    loop {
        let mut progress = false;
        let mut size = best.events.len().div_ceil(2);
        while size > 0 {
            let mut from = 0;
            while from < best.events.len() {
                let until = (from + size).min(best.events.len());
                let candidate = without(&best, from..until);
                if keep_if_fails(&candidate, &mut best, &mut failure) {
                    progress = true;
                } else {
                    from += size;
                }
            }
            size /= 2;
        }
        for candidate in simpler_configs(&best) {
            progress |= keep_if_fails(&candidate, &mut best, &mut failure);
        }
        for step in 0..best.events.len() {
            for change in 0..CHANGES {
                let Some(candidate) = simpler_event(&best, step, change) else { continue };
                progress |= keep_if_fails(&candidate, &mut best, &mut failure);
            }
        }
        if !progress {
            return Some((best, failure));
        }
    }
}

/// Runs a trace; if it fails in that way, gives the part that was needed for it.
fn fails(trace: &Trace, signature: Option<Signature>) -> Option<(Trace, Failure)> {
    let report = replay(trace, Depth::Full).ok()?;
    let failure = report.failure?;
    let same = signature.is_none_or(|wanted| wanted == (failure.kind, failure.property));
    // What comes after the failure is not needed; what healed the world comes by itself.
    let mut needed = if failure.kind == Kind::Liveness { trace.clone() } else { report.trace };
    needed.events.truncate(trace.events.len().max(1));
    same.then_some((needed, failure))
}

/// What a bare registry answers to each event, up to where it panics, if it does.
fn answers(trace: &Trace) -> Vec<Answer> {
    let Ok(mut registry) = Registry::new(trace.config) else { return Vec::new() };
    let mut answers = Vec::new();
    for (now, event) in &trace.events {
        let mut out = Vec::new();
        let handled =
            catch_unwind(AssertUnwindSafe(|| registry.handle(*now, event.clone(), &mut out)));
        match handled {
            Ok(answer) => answers.push(answer),
            Err(_) => break,
        }
    }
    answers
}

/// The trace without some of its events, the rest renamed; events about what is no
/// longer brought into being go too.
fn without(trace: &Trace, taken_out: std::ops::Range<usize>) -> Trace {
    let left = trace.events.iter().enumerate().filter(|(step, _)| !taken_out.contains(step));
    rename(trace, left.map(|(step, (now, event))| (step, *now, event.clone())))
}

fn rename(original: &Trace, events: impl Iterator<Item = (usize, Now, Event)>) -> Trace {
    let then = answers(original);
    let mut renaming = Renaming::new(then.iter());
    let mut renamed = Trace::new(original.config);
    let Ok(mut registry) = Registry::new(original.config) else { return renamed };
    for (step, now, event) in events {
        let Some(event) = renaming.rename(&event) else { continue };
        renamed.events.push((now, event.clone()));
        let mut out = Vec::new();
        let handled = catch_unwind(AssertUnwindSafe(|| registry.handle(now, event, &mut out)));
        match (then.get(step), handled) {
            (Some(then), Ok(answer)) => renaming.note(then, &answer),
            (None, _) | (_, Err(_)) => break,
        }
    }
    renamed
}

fn simpler_configs(trace: &Trace) -> Vec<Trace> {
    let (config, plain) = (trace.config, Config::default());
    let configs = [
        plain,
        Config { max_active_per_owner: plain.max_active_per_owner, ..config },
        Config { max_waiters_per_task: plain.max_waiters_per_task, ..config },
        Config { max_label_bytes: plain.max_label_bytes, ..config },
        Config { max_detail_bytes: plain.max_detail_bytes, ..config },
        Config { max_settled_per_owner: None, ..config },
        Config { teardown_deadline: None, ..config },
    ];
    let changed = configs.into_iter().filter(|simpler| *simpler != config);
    changed.map(|config| Trace { config, events: trace.events.clone() }).collect()
}

/// How many ways there are to make an event simpler.
const CHANGES: usize = 8;

/// The trace with one event made simpler in one way, if it can be.
fn simpler_event(trace: &Trace, step: usize, change: usize) -> Option<Trace> {
    let mut events = trace.events.clone();
    let (now, event) = &mut events[step];
    match change {
        0 => {
            // Everything from here on comes earlier, by the whole gap.
            let before = step.checked_sub(1).map_or(Instant(0), |before| trace.events[before].0.at);
            let gap = now.at.0.checked_sub(before.0).filter(|gap| *gap > 0)?;
            for (now, _) in &mut events[step..] {
                now.at.0 = now.at.0.saturating_sub(gap);
            }
        }
        1 if now.wall_ms == now.at.0 / 1_000_000 => return None,
        1 => now.wall_ms = now.at.0 / 1_000_000,
        2 => simpler_texts(event)?,
        3 => match event {
            Event::Reserve(request) if &*request.kind != "t" => request.kind = "t".into(),
            _ => return None,
        },
        4 => match event {
            Event::Reserve(request) => {
                request.output_limit_bytes.take()?;
            }
            Event::Settled { outcome, .. } => {
                outcome.output.take()?;
            }
            _ => return None,
        },
        5 => match event {
            Event::Reserve(request) if request.notice != NoticePreference::AsMounted => {
                request.notice = NoticePreference::AsMounted;
            }
            Event::Wait { timeout, .. } if *timeout > Duration::from_millis(1) => {
                *timeout = Duration::from_millis(1);
            }
            _ => return None,
        },
        6 => match event {
            Event::OpenOwner { busy: busy @ true, .. } => *busy = false,
            Event::Claim { or_idle: or_idle @ true, .. } => *or_idle = false,
            Event::AttachController { notices: notices @ Some(_), .. } => *notices = None,
            _ => return None,
        },
        _ => match event {
            Event::AttachController { scope: scope @ Some(_), .. }
            | Event::AddListener { scope: scope @ Some(_) }
            | Event::AddObserver { scope: scope @ Some(_) }
            | Event::OpenOwner { scope: scope @ Some(_), .. } => *scope = None,
            _ => return None,
        },
    }
    let renamed = events.into_iter().enumerate().map(|(step, (now, event))| (step, now, event));
    Some(rename(trace, renamed))
}

fn simpler_texts(event: &mut Event) -> Option<()> {
    let plain: Arc<str> = "a".into();
    match event {
        Event::Reserve(request) if request.label != plain => request.label = plain,
        Event::Settled { outcome, .. } => {
            outcome.detail.take()?;
        }
        Event::Kill { reason, .. } => {
            reason.take()?;
        }
        Event::Broke { error, .. } | Event::CancelAnswered { error: Some(error), .. }
            if *error != plain =>
        {
            *error = plain;
        }
        _ => return None,
    }
    Some(())
}
