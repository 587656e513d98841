//! Where what was expected and what came begin to differ, in words, and which property
//! that is about.

use longrun_core::{
    AccessRefusal, Command, Event, KillRefusal, ReadRefusal, Refusal, Reply, StartRefusal,
    TaskSnapshot, WaitRefusal,
};

use crate::{ledger::Broken, model::Answer, property::Property};

/// An answer is not the one that was expected.
pub(crate) fn answer_difference(event: &Event, expected: &Answer, actual: &Answer) -> Broken {
    if let (Some(wanted), Some(shown)) = (snapshot_of(expected), snapshot_of(actual)) {
        let what = fields(wanted, shown);
        if wanted != shown {
            return (Property::Snapshots, format!("{}: {what}", wanted.id));
        }
    }
    let what = format!("expected the answer {expected:?}\n     and got {actual:?}");
    (property_of_answer(event, expected, actual), what)
}

const fn snapshot_of(answer: &Answer) -> Option<&TaskSnapshot> {
    match answer {
        Ok(
            Reply::KillRequested(snapshot)
            | Reply::AlreadyFinished(snapshot)
            | Reply::Reading { snapshot, .. }
            | Reply::WaitOver { snapshot, .. },
        ) => Some(snapshot),
        _ => None,
    }
}

/// The fields in which two snapshots of one task differ.
fn fields(expected: &TaskSnapshot, actual: &TaskSnapshot) -> String {
    let mut differing = Vec::new();
    let mut compare = |name: &str, wanted: String, shown: String| {
        if wanted != shown {
            differing.push(format!("{name}: expected {wanted}, got {shown}"));
        }
    };
    macro_rules! compare_all {
        ($($field:ident),*) => {$(
            compare(
                stringify!($field),
                format!("{:?}", expected.$field),
                format!("{:?}", actual.$field),
            );
        )*};
    }
    compare_all!(id, kind, label, output_limit_bytes, owner_session, status, detail);
    compare_all!(started_at_ms, finished_at_ms, reported, stop);
    differing.join("; ")
}

/// The first task in which two lists differ.
pub(crate) fn list_difference(expected: &[TaskSnapshot], actual: &[TaskSnapshot]) -> String {
    let ids = |list: &[TaskSnapshot]| {
        list.iter().map(|snapshot| snapshot.id.to_string()).collect::<Vec<_>>().join(", ")
    };
    let differing = expected.iter().zip(actual).find(|(expected, actual)| expected != actual);
    match differing {
        Some((expected, actual)) if expected.id == actual.id => {
            format!("{}: {}", expected.id, fields(expected, actual))
        }
        Some(_) | None => format!("expected {}, got {}", ids(expected), ids(actual)),
    }
}

/// The parts of two texts around the place where they begin to differ.
pub(crate) fn text_difference<'a>(left: &'a str, right: &'a str) -> (&'a str, &'a str) {
    let same = left.bytes().zip(right.bytes()).take_while(|(left, right)| left == right).count();
    let around = |text: &'a str| {
        let from = text.floor_char_boundary(same.saturating_sub(60));
        &text[from..text.ceil_char_boundary((same + 60).min(text.len()))]
    };
    (around(left), around(right))
}

/// A request was not answered with the key of a new thing.
pub(crate) fn no_fresh_key(event: &Event, answer: &Answer) -> Broken {
    let refused = answer.is_err();
    let property = if refused { property_of_request(event) } else { Property::Keys };
    let what = if refused { "it should not have been refused" } else { "an odd or used key" };
    (property, format!("{what}: got {answer:?}"))
}

fn property_of_request(event: &Event) -> Property {
    match event {
        Event::Reserve(_) => Property::Admission,
        Event::Read { .. } | Event::Kill { .. } | Event::Wait { .. } => Property::Requests,
        _ => Property::Replies,
    }
}

fn property_of_answer(event: &Event, expected: &Answer, actual: &Answer) -> Property {
    let is_access = |answer: &Answer| {
        matches!(
            answer,
            Err(Refusal::Access(_)
                | Refusal::Read(ReadRefusal::Access(AccessRefusal::Foreign { .. }))
                | Refusal::Kill(KillRefusal::Access(AccessRefusal::Foreign { .. }))
                | Refusal::Wait(WaitRefusal::Access(AccessRefusal::Foreign { .. })))
        )
    };
    let is_limit =
        |answer: &Answer| matches!(answer, Err(Refusal::Start(StartRefusal::LimitReached { .. })));
    if is_limit(expected) || is_limit(actual) {
        Property::Limits
    } else if is_access(expected) || is_access(actual) {
        Property::Access
    } else {
        property_of_request(event)
    }
}

/// The property that a command belongs to.
const fn property_of_command(command: &Command) -> Property {
    match command {
        Command::Wake { .. } => Property::Wakes,
        Command::Cancel { .. } => Property::Cancels,
        Command::NotifyChanged { .. } => Property::Observers,
        Command::NotifyDone { .. } => Property::Listeners,
        Command::Nudge { .. } => Property::Notices,
        Command::WithdrawNotice { .. } => Property::Withdrawals,
        Command::Forget { .. } => Property::Records,
        Command::OwnerDisposed { .. } | Command::ShutDown { .. } => Property::Disposal,
        Command::Warn(_) => Property::Warnings,
    }
}

/// Names the first command that is missing or too many, else what is wrong with what
/// one shows, else says that the order is wrong.
pub(crate) fn command_difference(expected: &[Command], actual: &[Command]) -> Broken {
    let listed = || {
        let list = |commands: &[Command]| {
            commands.iter().map(|command| format!("\n    {command:?}")).collect::<String>()
        };
        format!("  expected:{}\n  got:{}", list(expected), list(actual))
    };
    let first = expected.iter().zip(actual).find(|(expected, actual)| expected != actual);
    if let Some((wanted, shown)) = first.and_then(|(wanted, came)| same_but_snapshot(wanted, came))
        && expected.len() == actual.len()
    {
        return (Property::Snapshots, format!("{}: {}", wanted.id, fields(wanted, shown)));
    }
    let count = |among: &[Command], command: &Command| {
        among.iter().filter(|other| *other == command).count()
    };
    let differs = |command: &&Command| count(expected, command) != count(actual, command);
    if let Some(missing) = expected.iter().filter(differs).find(|c| !actual.contains(c)) {
        return (property_of_command(missing), format!("missing: {missing:?}\n{}", listed()));
    }
    if let Some(extra) = actual.iter().find(differs) {
        return (property_of_command(extra), format!("uncalled for: {extra:?}\n{}", listed()));
    }
    if let Some(missing) = expected.iter().find(differs) {
        return (property_of_command(missing), format!("missing: {missing:?}\n{}", listed()));
    }
    (Property::Order, format!("the right commands in the wrong order\n{}", listed()))
}

/// The snapshots of two commands that say the same to the same of the same task, and
/// show it differently.
fn same_but_snapshot<'a>(
    expected: &'a Command,
    actual: &'a Command,
) -> Option<(&'a TaskSnapshot, &'a TaskSnapshot)> {
    let (to_same, wanted, shown) = match (expected, actual) {
        (
            Command::NotifyDone { listener, owner, snapshot: wanted },
            Command::NotifyDone { listener: other, owner: whose, snapshot: shown },
        ) => (listener == other && owner == whose, wanted, shown),
        (
            Command::Nudge { owner, lane, snapshot: wanted },
            Command::Nudge { owner: whose, lane: how, snapshot: shown },
        ) => (owner == whose && lane == how, wanted, shown),
        _ => return None,
    };
    (to_same && wanted.id == shown.id && wanted != shown).then_some((wanted, shown))
}
