//! Reads that are held, and several waits at once: what nobody was given is told after all.

use std::{future::pending, sync::Arc, time::Duration};

use futures::FutureExt as _;
use longrun_shared::{
    BoxError, HeldRead, Hooks, ReadError, StreamReader, TaskId, Until, WaitOutcome,
    core::{Event, ReadRefusal},
};
use loom::future::block_on;

use crate::world::{World, at_once, explore, hooks, peek, put, slot, start, take};

const A_MINUTE: Duration = Duration::from_secs(60);

/// What was written, from the beginning for as long as nothing is committed.
struct Text(&'static str);

impl StreamReader for Text {
    fn peek(&mut self) -> Result<String, BoxError> {
        Ok(self.0.to_owned())
    }

    fn commit(&mut self) {
        self.0 = "";
    }
}

fn written() -> Hooks {
    hooks().stream_with(Text("all of it"))
}

fn ids(world: &World) -> Vec<TaskId> {
    world.owner.list().into_iter().map(|task| task.id).collect()
}

/// Takes a turn, reads, and does that with it.
fn hold(world: &World, end: impl FnOnce(HeldRead) + Send + 'static) -> Box<dyn FnOnce() + Send> {
    let read = world.service.read_held(&ids(world)[0], &world.owner.caller());
    Box::new(move || end(block_on(read).unwrap()))
}

// contract: R3, N7
#[test]
fn an_end_and_a_held_read_that_is_committed() {
    explore(
        |world| {
            start(&world.owner, written()).unwrap();
            let result = slot();
            let read = Arc::clone(&result);
            at_once([world.end(), hold(&world, move |held| put(&read, held.commit()))]);
            let read = take(&result);
            assert_eq!(read.text, "all of it");
            let told = read.task.status.is_terminal();
            assert_eq!(world.claim(), usize::from(!told));
            world.finish();
            if told { "the read told" } else { "the notice told" }
        },
        &["the notice told", "the read told"],
    );
}

// contract: R3, R1, N1
#[test]
fn an_end_and_a_held_read_that_is_dropped() {
    explore(
        |world| {
            start(&world.owner, written()).unwrap();
            let result = slot();
            let was_over = Arc::clone(&result);
            let hold = hold(&world, move |held| put(&was_over, held.task.status.is_terminal()));
            at_once([world.end(), hold]);
            assert_eq!(*peek(&world.told.nudges), ["inject bash-1"], "once, and not withdrawn");
            assert_eq!(world.claim(), 1);
            let again = world.service.read(&ids(&world)[0], &world.owner.caller()).unwrap();
            assert_eq!(again.text, "all of it");
            world.finish();
            if take(&result) { "after the end" } else { "before the end" }
        },
        &["after the end", "before the end"],
    );
}

// contract: R1, R3
#[test]
fn two_held_reads_of_one_task() {
    explore(
        |world| {
            start(&world.owner, written()).unwrap();
            let results = [slot(), slot()];
            at_once(results.each_ref().map(|result| {
                let result = Arc::clone(result);
                hold(&world, move |held| put(&result, held.commit().text))
            }));
            let texts = results.map(|result| take(&result));
            world.finish();
            match texts.each_ref().map(String::as_str) {
                ["all of it", ""] => "the first got it",
                ["", "all of it"] => "the second got it",
                other => panic!("not each byte once: {other:?}"),
            }
        },
        &["the first got it", "the second got it"],
    );
}

// contract: R3
#[test]
fn a_held_read_and_a_read() {
    explore(
        |world| {
            start(&world.owner, written()).unwrap();
            let (service, caller, id) =
                (world.service.clone(), world.owner.caller(), ids(&world).remove(0));
            let (held, read) = (slot(), slot());
            let (held_result, result) = (Arc::clone(&held), Arc::clone(&read));
            at_once([
                hold(&world, move |held| put(&held_result, held.commit().text)),
                Box::new(move || put(&result, service.read(&id, &caller))),
            ]);
            let outcome = match (take(&held).as_str(), take(&read)) {
                ("all of it", Err(ReadError::Refused(ReadRefusal::InProgress { .. }))) => "refused",
                ("all of it", Ok(read)) if read.text.is_empty() => "the held one first",
                ("", Ok(read)) if read.text == "all of it" => "the other one first",
                other => panic!("not each byte once: {other:?}"),
            };
            world.finish();
            outcome
        },
        &["refused", "the held one first", "the other one first"],
    );
}

// contract: R3, W7
#[test]
fn the_end_of_a_held_read_and_one_that_gives_up_its_turn_before_another() {
    explore(
        |world| {
            start(&world.owner, written()).unwrap();
            let held = block_on(world.service.read_held(&ids(&world)[0], &world.owner.caller()));
            let next = world.service.read_held(&ids(&world)[0], &world.owner.caller());
            let mut gives_up = Box::pin(next);
            assert!(gives_up.as_mut().now_or_never().is_none());
            let result = slot();
            let text = Arc::clone(&result);
            at_once([
                Box::new(move || drop(held.unwrap())),
                Box::new(move || drop(gives_up)),
                // It would wait for ever if it were not woken.
                hold(&world, move |held| put(&text, held.commit().text)),
            ]);
            assert_eq!(take(&result), "all of it");
            world.finish();
            "its turn came"
        },
        &["its turn came"],
    );
}

// contract: W6, R3
#[test]
fn an_end_and_a_read_that_waits_for_it_and_is_dropped() {
    explore(
        |world| {
            start(&world.owner, written()).unwrap();
            let caller = world.owner.caller();
            let collect =
                world.service.wait_and_read(&ids(&world)[0], &caller, A_MINUTE, pending());
            let mut collect = Box::pin(collect);
            let result = slot();
            let got = Arc::clone(&result);
            at_once([
                world.end(),
                Box::new(move || {
                    let held = collect.as_mut().now_or_never();
                    put(&got, held.map(|held| held.unwrap().text));
                }),
            ]);
            let got = take(&result);
            assert_eq!(world.claim(), 1, "nobody else told");
            world.finish();
            match got.as_deref() {
                Some("all of it") => "held",
                None => "not yet there",
                Some(other) => panic!("{other}"),
            }
        },
        &["held", "not yet there"],
    );
}

// contract: O2, R3, O1
#[test]
fn a_disposal_and_the_commit_of_a_held_read() {
    explore(
        |world| {
            start(&world.owner, written()).unwrap();
            (world.end())();
            let (owner, over) = (Arc::clone(&world.owner), slot());
            let disposed = Arc::clone(&over);
            let result = slot();
            let read = Arc::clone(&result);
            let held = block_on(world.service.read_held(&ids(&world)[0], &owner.caller()));
            at_once([
                Box::new(move || put(&disposed, owner.dispose())),
                Box::new(move || put(&read, held.unwrap().commit().text)),
            ]);
            assert_eq!(take(&over).now_or_never(), Some(Ok(vec![])), "it waits for no read");
            assert_eq!(take(&result), "all of it");
            let ended = world.place(|event| matches!(event, Event::ReadEnded { .. }));
            let disposed = world.place(|event| matches!(event, Event::DisposeOwner { .. }));
            world.finish();
            if ended < disposed { "before it" } else { "after it" }
        },
        &["before it", "after it"],
    );
}

// contract: W8, W6, N1
#[test]
fn two_ends_and_a_wait_for_any_that_takes_what_there_is() {
    explore(
        |world| {
            world.start();
            world.start();
            let waits = world.service.wait_any(&ids(&world), &world.owner.caller(), A_MINUTE);
            let result = slot();
            let outcomes = Arc::clone(&result);
            let (first, second) = (world.end(), world.end());
            at_once([
                Box::new(move || {
                    first();
                    second();
                }),
                Box::new(move || put(&outcomes, block_on(waits).unwrap())),
            ]);
            let outcomes: Vec<(TaskId, WaitOutcome)> = take(&result);
            let ended = outcomes.iter().filter(|(_, o)| matches!(o, WaitOutcome::Ended(_)));
            let ended = ended.count();
            assert_eq!(world.claim(), 2 - ended, "each end is told once");
            world.finish();
            match ended {
                1 => "one of them",
                2 => "both",
                other => panic!("{other} have ended"),
            }
        },
        &["both", "one of them"],
    );
}

// contract: W8, W6
#[test]
fn two_ends_and_the_drop_of_what_was_collected() {
    explore(
        |world| {
            world.start();
            start(&world.owner, written()).unwrap();
            let all = Some((Until::All, A_MINUTE));
            let caller = world.owner.caller();
            let collect = world.service.collect(&ids(&world), &caller, all, pending());
            let mut collect = Box::pin(collect);
            let result = slot();
            let got = Arc::clone(&result);
            let (first, second) = (world.end(), world.end());
            at_once([
                Box::new(move || {
                    first();
                    second();
                }),
                Box::new(move || {
                    let collected = collect.as_mut().now_or_never();
                    put(&got, collected.is_some());
                    drop(collect);
                }),
            ]);
            assert_eq!(world.claim(), 2, "nobody was given anything");
            world.finish();
            if take(&result) { "collected" } else { "given up" }
        },
        &["collected", "given up"],
    );
}
