//! A recorded run replays.

use std::{
    cell::OnceCell,
    mem,
    sync::{Arc, Mutex},
    time::Duration,
};

use longrun_sim::Trace;
use longrun_tokio::{
    BoxError, Config, Inbox, Notice, Outcome, StartError, TaskId,
    core::{Command, Event, Lane, Now, Refusal, Registry, Reply},
    testing::{FakeInbox, FakeProducer, OnCancel},
};

use super::{Log, World, block_until, make, record::Tape, threads};

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

/// Writes down how it is nudged.
struct Telling(Log);

impl Inbox for Telling {
    fn inject(&self, notice: &Notice) -> Result<(), BoxError> {
        self.0.add(format_args!("inject {}", notice.task.id));
        Ok(())
    }

    fn wake(&self, notice: &Notice) -> Result<(), BoxError> {
        self.0.add(format_args!("wake {}", notice.task.id));
        Ok(())
    }

    fn withdraw(&self, id: &TaskId) {
        self.0.add(format_args!("withdraw {id}"));
    }
}

/// What a command has its driver do, as the callbacks below write it down.
fn told(command: &Command) -> Option<String> {
    match command {
        Command::NotifyChanged { owner, .. } => Some(format!("changed {owner:?}")),
        Command::NotifyDone { snapshot, .. } => {
            Some(format!("done {} {}", snapshot.id, snapshot.status))
        }
        Command::Nudge { lane: Lane::Inject, snapshot, .. } => {
            Some(format!("inject {}", snapshot.id))
        }
        Command::Nudge { lane: Lane::Wake, snapshot, .. } => Some(format!("wake {}", snapshot.id)),
        Command::WithdrawNotice { id, .. } => Some(format!("withdraw {id}")),
        _ => None,
    }
}

/// A live service from its beginning to its end.
struct Live {
    /// As its tap saw it.
    tapped: Recording,
    /// As it was recorded.
    record: String,
    /// What it had everybody told, up to the end of the last task.
    told: Vec<String>,
}

fn run_live() -> Live {
    let runtime = threads();
    let _inside = runtime.enter();
    let (tapped, tape, log) =
        (Arc::new(Mutex::new(Recording::new())), Tape::default(), Log::default());
    let tap = {
        let tapped = tapped.clone();
        move |now, event: &Event| tapped.lock().unwrap().push((now, event.clone()))
    };
    let builder = longrun_tokio::Builder::new().record(tape.clone()).tap(tap).config(CONFIG);
    let service = builder.build().unwrap();
    let controls = service.mount_controls(longrun_tokio::NoticePolicy::default()).unwrap();
    let done = log.clone();
    let _done = service.on_task_done(move |done_with| {
        done.add(format_args!("done {} {}", done_with.task.id, done_with.task.status));
    });
    let changed = log.clone();
    let _changed = service.on_tasks_changed(move |whose| {
        changed.add(format_args!("changed {:?}", whose.owner));
    });
    let owner = service.owner("s1").inbox(Arc::new(Telling(log.clone()))).open().unwrap();
    let world = World { service, controls, inbox: Arc::new(FakeInbox::new()), owner };
    std::thread::scope(|scope| {
        for seed in 0..THREADS {
            let world = &world;
            scope.spawn(move || be_busy(world, seed));
        }
    });
    let ends = || log.lines().iter().filter(|line| line.starts_with("done")).count();
    block_until("all have been told of", || ends() == THREADS * ROUNDS);
    // Callbacks come in order: when the end of this one is told of, all else has been.
    let last = FakeProducer::stream();
    start(&world, &last);
    last.settle(Outcome::completed());
    block_until("the last one has been told of", || ends() == THREADS * ROUNDS + 1);
    let told = up_to_last_end(log.lines());
    world.service.shutdown_blocking().unwrap();
    drop(world);
    let tapped = mem::take(&mut *tapped.lock().unwrap());
    Live { tapped, record: tape.text(), told }
}

fn up_to_last_end(mut told: Vec<String>) -> Vec<String> {
    let last = told.iter().rposition(|line| line.starts_with("done")).unwrap();
    told.truncate(last + 1);
    told
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
fn a_recorded_run_of_a_busy_service_replays_to_the_same_commands_and_keeps_every_invariant() {
    let live = run_live();
    let trace = Trace::parse(&live.record).unwrap();
    assert_eq!(trace, Trace { config: CONFIG, events: live.tapped });
    let (first, registry) = replay(&trace.events);
    let (second, _) = replay(&trace.events);
    assert_eq!(first, second);
    assert!(registry.is_closed(), "the recording ends with the shutdown");
    assert_eq!(registry.next_deadline(), None, "a timer is left");

    let all = || first.iter().flat_map(|(_, commands)| commands);
    assert_eq!(up_to_last_end(all().filter_map(told).collect()), live.told);

    let replies = |wanted: fn(&Reply) -> bool| {
        first.iter().filter_map(|(reply, _)| reply.as_ref().ok()).filter(|r| wanted(r)).count()
    };
    let commands = |wanted: fn(&Command) -> bool| all().filter(|c| wanted(c)).count();
    let tasks = THREADS * ROUNDS + 1;
    assert_eq!(replies(|reply| matches!(reply, Reply::Started { .. })), tasks);
    assert!(replies(|reply| matches!(reply, Reply::WaitOver { .. })) > tasks / 2);
    assert_eq!(commands(|command| matches!(command, Command::Forget { .. })), tasks);
    assert_eq!(commands(|command| matches!(command, Command::ShutDown { .. })), 1);
}

// contract: X2, X3
#[test]
fn the_simulation_has_nothing_to_say_against_a_recorded_run_of_a_busy_service() {
    let trace = Trace::parse(&run_live().record).unwrap();
    let report = longrun_sim::replay(&trace, longrun_sim::Depth::Full).unwrap();
    assert!(report.failure.is_none(), "{}\n\n{}", report.failure.unwrap(), trace.print());
}
