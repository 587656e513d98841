//! Reads of one task from several threads.

use std::sync::{Arc, Mutex};

use longrun_shared::{Hooks, Read};

use crate::world::{World, at_once, explore, hooks, peek, put, slot, start, take};

/// A stream task that has written this, and no more.
fn written(text: &'static str) -> Hooks {
    let mut left = text;
    hooks().stream(move || Ok(std::mem::take(&mut left).to_owned()))
}

fn read(world: &World, result: &Arc<Mutex<Option<Read>>>) -> Box<dyn FnOnce() + Send> {
    let (service, caller) = (world.service.clone(), world.owner.caller());
    let (id, result) = (world.owner.list().pop().unwrap().id, Arc::clone(result));
    Box::new(move || put(&result, service.read(&id, &caller).unwrap()))
}

// contract: R1, R3
#[test]
fn two_reads_of_one_task() {
    explore(
        |world| {
            start(&world.owner, written("all of it")).unwrap();
            let results = [slot(), slot()];
            at_once(results.each_ref().map(|result| read(&world, result)));
            let texts = results.map(|result| take(&result).text);
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

// contract: R3, N7
#[test]
fn a_read_and_an_end() {
    explore(
        |world| {
            start(&world.owner, written("all of it")).unwrap();
            let result = slot();
            at_once([world.end(), read(&world, &result)]);
            let read = take(&result);
            assert_eq!(read.text, "all of it");
            let terminal = read.task.status.is_terminal();
            assert_eq!(world.claim(), usize::from(!terminal));
            let nudges = if terminal { 2 } else { 1 };
            assert_eq!(
                peek(&world.told.nudges)[..],
                ["inject bash-1", "withdraw bash-1"][..nudges]
            );
            world.finish();
            if terminal { "the read overtook the notice" } else { "the notice told" }
        },
        &["the notice told", "the read overtook the notice"],
    );
}
