//! A recorded run replays.

use std::{
    cell::OnceCell,
    mem,
    sync::{Arc, Mutex},
    time::Duration,
};

use longrun_tokio::{
    Config, Outcome, StartError, TaskId,
    core::{Command, Event, Now, Refusal, Registry, Reply},
    testing::{FakeProducer, OnCancel},
};

use super::{World, block_until, make, threads};

type Recording = Vec<(Now, Event)>;
type Step = (Result<Reply, Refusal>, Vec<Command>);

const CONFIG: Config = Config {
    max_active_per_owner: 4,
    max_waiters_per_task: 8,
    max_label_bytes: 64,
    max_detail_bytes: 64,
    max_settled_per_owner: Some(6),
    teardown_deadline: None,
};

const THREADS: usize = 3;
const ROUNDS: usize = 60;

/// Starts a task as soon as there is a slot for it.
fn start(world: &World, producer: &FakeProducer) -> TaskId {
    let started = OnceCell::new();
    block_until("there is a slot", || match world.owner.start(make(), || producer.hooks()) {
        Ok(id) => started.set(id).is_ok(),
        Err(StartError::Refused(_)) => false,
        Err(other) => panic!("{other}"),
    });
    started.into_inner().unwrap()
}

/// What one of the threads does: a mix that hardly repeats. Whether a kill or a read
/// succeeds is the mix's business.
fn be_busy(world: &World, seed: usize) {
    let outcomes =
        [Outcome::completed(), Outcome::failed("no"), Outcome::completed().with_output("42")];
    let cancels = [OnCancel::Settle, OnCancel::FailOnce, OnCancel::Ignore];
    for round in 0..ROUNDS {
        let mix = seed * 31 + round * 7;
        let is_stream = mix.is_multiple_of(2);
        let producer =
            if is_stream { FakeProducer::stream() } else { FakeProducer::final_output() };
        let producer = producer.on_cancel(cancels[mix % 3]);
        let id = start(world, &producer);
        producer.write("output");
        let [first, second] = [0, 200].map(|us| {
            let timeout = Duration::from_micros(us + 1 + mix as u64 % 300);
            world.service.wait(&id, &world.caller(), timeout)
        });
        if mix.is_multiple_of(3) {
            drop(world.service.kill(&id, &world.caller(), Some("because")));
        }
        producer.settle(outcomes[mix % 3].clone());
        drop(first);
        if mix.is_multiple_of(5) {
            drop(second);
        } else {
            drop(futures::executor::block_on(second));
        }
        drop(world.service.read(&id, &world.caller()));
        world.owner.set_busy(is_stream);
        if mix.is_multiple_of(4) {
            drop(world.claim());
        }
    }
}

/// Records a live service from its beginning to its end.
fn record() -> Recording {
    let runtime = threads();
    let _inside = runtime.enter();
    let recording = Arc::new(Mutex::new(Recording::new()));
    let tap = {
        let recording = recording.clone();
        move |now, event: &Event| recording.lock().unwrap().push((now, event.clone()))
    };
    let world = World::with(|builder| builder.config(CONFIG).tap(tap));
    std::thread::scope(|scope| {
        for seed in 0..THREADS {
            let world = &world;
            scope.spawn(move || be_busy(world, seed));
        }
    });
    world.service.shutdown_blocking().unwrap();
    drop(world);
    mem::take(&mut *recording.lock().unwrap())
}

/// Replays it, with every invariant checked after every event.
fn replay(recording: &Recording) -> (Vec<Step>, Registry) {
    let mut registry = Registry::new(CONFIG).unwrap();
    let mut steps = Vec::new();
    for (now, event) in recording {
        let mut commands = Vec::new();
        let reply = registry.handle(*now, event.clone(), &mut commands);
        registry.check();
        steps.push((reply, commands));
    }
    (steps, registry)
}

// contract: X2, X3, W7, T2
#[test]
fn a_recorded_run_of_a_busy_service_replays_the_same_and_keeps_every_invariant() {
    let recording = record();
    let (first, registry) = replay(&recording);
    let (second, _) = replay(&recording);
    assert_eq!(first, second);
    assert!(registry.is_closed(), "the recording ends with the shutdown");
    assert_eq!(registry.next_deadline(), None, "a timer is left");

    let replies = |wanted: fn(&Reply) -> bool| {
        first.iter().filter_map(|(reply, _)| reply.as_ref().ok()).filter(|r| wanted(r)).count()
    };
    let commands = |wanted: fn(&Command) -> bool| {
        first.iter().flat_map(|(_, commands)| commands).filter(|c| wanted(c)).count()
    };
    assert_eq!(replies(|reply| matches!(reply, Reply::Started { .. })), THREADS * ROUNDS);
    assert!(replies(|reply| matches!(reply, Reply::WaitOver { .. })) > THREADS * ROUNDS / 2);
    assert_eq!(commands(|command| matches!(command, Command::Forget { .. })), THREADS * ROUNDS);
    assert_eq!(commands(|command| matches!(command, Command::ShutDown { .. })), 1);
}

// contract: X2
#[test]
fn a_recording_survives_its_way_through_json() {
    let recording = record();
    let text = serde_json::to_string(&recording).unwrap();
    let read: Recording = serde_json::from_str(&text).unwrap();
    assert_eq!(read, recording);
}
