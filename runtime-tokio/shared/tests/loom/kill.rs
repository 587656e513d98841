//! An end and kills of the same task.

use std::sync::Arc;

use longrun_shared::{Hooks, KillError, Killed, TaskId, core::Event};

use crate::world::{World, at_once, explore, hooks, put, slot, start, take};

type Answer = Result<Killed, KillError>;

fn kill(
    world: &World,
    id: &TaskId,
    answer: &Arc<std::sync::Mutex<Option<Answer>>>,
) -> Box<dyn FnOnce() + Send> {
    let (service, caller) = (world.service.clone(), world.owner.caller());
    let (id, answer) = (id.clone(), Arc::clone(answer));
    Box::new(move || put(&answer, service.kill(&id, &caller, None)))
}

/// When the task ended, as its kill saw it.
fn ended(world: &World) -> &'static str {
    let killed = world.place(|event| matches!(event, Event::Kill { .. }));
    let answered = world.place(|event| matches!(event, Event::KillAnswered { .. }));
    match world.settled() {
        settled if settled < killed => "before",
        settled if settled < answered => "in between",
        _ => "after",
    }
}

// contract: K5, K4, N2
#[test]
fn an_end_and_a_kill_that_is_accepted() {
    explore(
        |world| {
            let (id, answer) = (world.start(), slot());
            at_once([world.end(), kill(&world, &id, &answer)]);
            let (answer, outcome) = (take(&answer), ended(&world));
            match outcome {
                "after" => assert!(matches!(answer, Ok(Killed::Requested(_)))),
                _ => assert!(matches!(answer, Ok(Killed::AlreadyFinished(_)))),
            }
            assert_eq!(world.claim(), 0, "the kill told");
            world.finish();
            outcome
        },
        &["before", "in between", "after"],
    );
}

fn refusing() -> Hooks {
    hooks().on_cancel(|_| Err("not now".into()))
}

// contract: K5, K3, N1
#[test]
fn an_end_and_a_kill_whose_cancel_fails() {
    explore(
        |world| {
            let (id, answer) = (start(&world.owner, refusing()).unwrap(), slot());
            at_once([world.end(), kill(&world, &id, &answer)]);
            let (answer, outcome) = (take(&answer), ended(&world));
            if outcome == "before" {
                assert!(matches!(answer, Ok(Killed::AlreadyFinished(_))));
                assert_eq!(world.claim(), 0);
            } else {
                assert!(matches!(answer, Err(KillError::Cancel(_))));
                assert_eq!(world.claim(), 1, "the kill that failed kept the notice back");
            }
            world.finish();
            outcome
        },
        &["before", "in between", "after"],
    );
}

// contract: K5, K2
#[test]
fn an_end_and_two_kills() {
    explore(
        |world| {
            let (id, answers) = (world.start(), [slot(), slot()]);
            let [first, second] = answers.each_ref().map(|answer| kill(&world, &id, answer));
            at_once([world.end(), first, second]);
            let requested = answers.map(|answer| match take(&answer).unwrap() {
                Killed::Requested(task) => {
                    assert!(!task.status.is_terminal());
                    true
                }
                Killed::AlreadyFinished(task) => {
                    assert!(task.status.is_terminal() && task.reported);
                    false
                }
            });
            assert_eq!(world.claim(), 0);
            world.finish();
            match requested {
                [true, true] => "both requested",
                [false, false] => "both found it finished",
                [true, false] | [false, true] => "one of each",
            }
        },
        &["both requested", "both found it finished", "one of each"],
    );
}
