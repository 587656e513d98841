//! The shutdown, and each of the others: whatever came first, it comes to its end.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use futures::FutureExt as _;
use longrun_shared::{ClaimSource, Disposal, TaskId, Wait, core::Event};

use crate::world::{World, at_once, explore, hooks, put, slot, start, take};

type Operation = Box<dyn FnOnce() + Send>;

fn shutdown(world: &World, result: &Arc<Mutex<Option<Disposal>>>) -> Operation {
    let (service, result) = (world.service.clone(), Arc::clone(result));
    Box::new(move || put(&result, service.shutdown()))
}

/// Lets an operation race with the shutdown of a service with one task, asserts that the
/// shutdown ends when the work has, and that both orders of their events were seen.
fn against(operation: fn(&World) -> Operation, event: fn(&Event) -> bool) {
    explore(
        move |world| {
            world.start();
            let ended = slot();
            let operation = operation(&world);
            at_once([shutdown(&world, &ended), operation]);
            let shut = world.place(|event| matches!(event, Event::Shutdown));
            let first = world.place(event) < shut;
            let mut ended = take(&ended);
            let is_at_work = world.owner.list().iter().any(|task| !task.status.is_terminal());
            assert_eq!((&mut ended).now_or_never().is_none(), is_at_work);
            world.finish();
            assert_eq!(ended.now_or_never(), Some(Ok(vec![])));
            assert!(world.owner.list().is_empty(), "it is not emptied");
            assert!(start(&world.owner, hooks()).is_err());
            assert_eq!(world.claim(), 0, "a notice outlived the service");
            if first { "the other" } else { "the shutdown" }
        },
        &["the other", "the shutdown"],
    );
}

fn the_task(world: &World) -> TaskId {
    world.owner.list().pop().unwrap().id
}

fn wait(world: &World) -> Wait {
    world.service.wait(&the_task(world), &world.owner.caller(), Duration::from_secs(60))
}

// contract: T1, C2
#[test]
fn an_end() {
    against(World::end, |event| matches!(event, Event::Settled { .. }));
}

// contract: T1, W3
#[test]
fn the_abort_of_a_wait() {
    let abort = |world: &World| -> Operation {
        let wait = wait(world);
        Box::new(move || assert_eq!(wait.abort(), Ok(None)))
    };
    against(abort, |event| matches!(event, Event::AbortWait { .. }));
}

// contract: T1, W6
#[test]
fn the_drop_of_a_wait() {
    let drop_it = |world: &World| -> Operation {
        let wait = wait(world);
        Box::new(move || drop(wait))
    };
    against(drop_it, |event| matches!(event, Event::WaitDropped { .. }));
}

// contract: T1, K2
#[test]
fn a_kill() {
    let kill = |world: &World| -> Operation {
        let (service, caller, id) = (world.service.clone(), world.owner.caller(), the_task(world));
        Box::new(move || assert!(service.kill(&id, &caller, None).is_ok()))
    };
    against(kill, |event| matches!(event, Event::Kill { .. }));
}

// contract: T1, O1
#[test]
fn the_disposal_of_an_owner() {
    let dispose = |world: &World| -> Operation {
        let owner = Arc::clone(&world.owner);
        Box::new(move || drop(owner.dispose()))
    };
    against(dispose, |event| matches!(event, Event::DisposeOwner { .. }));
}

// contract: T1, S10
#[test]
fn a_start() {
    let start_one = |world: &World| -> Operation {
        let owner = Arc::clone(&world.owner);
        Box::new(move || {
            if let Err(refusal) = start(&owner, hooks()) {
                assert!(refusal.contains("shutting down"), "{refusal}");
            }
        })
    };
    against(start_one, |event| matches!(event, Event::Reserve(_)));
}

// contract: T1, S10
#[test]
fn the_commit_of_a_start() {
    let start_one = |world: &World| -> Operation {
        let owner = Arc::clone(&world.owner);
        Box::new(move || drop(start(&owner, hooks())))
    };
    against(start_one, |event| matches!(event, Event::Commit { .. }));
}

// contract: T1, S11
#[test]
fn the_last_controller_leaves() {
    let detach = |world: &World| -> Operation {
        let guard = take(&world.controls);
        Box::new(move || drop(guard))
    };
    against(detach, |event| matches!(event, Event::ControllerDetached { .. }));
}

// contract: T1, C2
#[test]
fn the_drop_of_a_listeners_guard() {
    let remove = |world: &World| -> Operation {
        let guard = take(&world.listener);
        Box::new(move || drop(guard))
    };
    against(remove, |event| matches!(event, Event::ListenerRemoved { .. }));
}

// contract: T1, N6
#[test]
fn the_last_claim_before_going_idle() {
    let claim = |world: &World| -> Operation {
        let owner = Arc::clone(&world.owner);
        Box::new(move || assert_eq!(owner.claim_or_idle(ClaimSource::Inbox), None))
    };
    against(claim, |event| matches!(event, Event::Claim { .. }));
}

// contract: T1, R3
#[test]
fn a_read() {
    let read = |world: &World| -> Operation {
        let (service, caller, id) = (world.service.clone(), world.owner.caller(), the_task(world));
        Box::new(move || assert!(service.read(&id, &caller).is_ok()))
    };
    against(read, |event| matches!(event, Event::Read { .. }));
}

// contract: T1, O4
#[test]
fn another_shutdown() {
    explore(
        |world| {
            let results = [slot(), slot()];
            at_once(results.each_ref().map(|result| shutdown(&world, result)));
            for result in results {
                assert_eq!(take(&result).now_or_never(), Some(Ok(vec![])));
            }
            world.finish();
            "both ended"
        },
        &["both ended"],
    );
}
