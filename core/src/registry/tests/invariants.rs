//! Each invariant can fail: a state that breaks one is told so by `check`.

extern crate std;

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    string::String,
};

use super::*;
use crate::ReadKey;
use crate::registry::{
    deadlines::Due as Timer,
    owners::{Life, Stage},
    read::Reading,
    tasks::{Notice, Task, Teller},
    waiters::Waiting,
};

/// What `check` says of the state that `spoil` makes of a sound one: a live task with a
/// wait, a kill and a read in flight, and an ended one whose notice is pending.
fn verdict(spoil: impl FnOnce(&mut Spoilt)) -> String {
    let mut story = Story::with(Config {
        max_active_per_owner: 3,
        teardown_deadline: Some(SECOND),
        ..Config::default()
    });
    let (live, id) = story.start();
    let (waiter, kill) = (story.wait(&id), story.kill(&id));
    let caller = story.caller();
    let Reply::Reading { read, .. } = story.send(Event::Read { id, caller }) else { panic!() };
    let (ended, _) = story.start();
    story.settle(ended);
    let session = SessionId::new("s");
    let open = Event::OpenOwner { session, scope: None, busy: false };
    let Reply::Owner { owner: other, .. } = story.send(open) else { panic!() };
    let Story { registry, owner, .. } = story;
    let mut spoilt = Spoilt { registry, owner, other, live, ended, waiter, kill, read };
    spoilt.registry.check();
    spoil(&mut spoilt);
    let panic =
        catch_unwind(AssertUnwindSafe(|| spoilt.registry.check())).expect_err("it is sound");
    let text = panic.downcast_ref::<&str>().map(|text| String::from(*text));
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default()
}

struct Spoilt {
    registry: Registry,
    owner: OwnerKey,
    other: OwnerKey,
    live: TaskKey,
    ended: TaskKey,
    waiter: WaiterKey,
    kill: KillKey,
    read: ReadKey,
}

impl Spoilt {
    fn live(&mut self) -> &mut Task {
        self.registry.tasks.get_mut(self.live).unwrap()
    }

    fn ended(&mut self) -> &mut Task {
        self.registry.tasks.get_mut(self.ended).unwrap()
    }

    fn owner(&mut self) -> &mut crate::registry::owners::Owner {
        self.registry.owners.get_mut(self.owner).unwrap()
    }

    /// The notice has been claimed.
    fn claim(&mut self) {
        self.ended().notice = Notice::Claimed;
        self.owner().pending.clear();
    }
}

fn assert_told(expected: &str, spoil: impl FnOnce(&mut Spoilt)) {
    let told = verdict(spoil);
    assert!(told.contains(expected), "expected `{expected}`, and it said `{told}`");
}

// contract: S1, L1, L8, S2
#[test]
fn a_task_that_is_not_what_it_should_be_is_told() {
    assert_told("not of its kind", |s| s.live().kind = "pty".into());
    assert_told("end and finish", |s| s.live().finished_at_ms = Some(9));
    assert_told("end and finish", |s| s.ended().finished_at_ms = None);
    assert_told("clock", |s| s.ended().started_at_ms = 9);
    assert_told("owner and session", |s| s.live().owner = None);
    assert_told("S2", |s| s.live().label = "".into());
    assert_told("S2", |s| s.live().output_limit_bytes = Some(0));
    assert_told("promised as ended", |s| s.live().promises = 1);
    assert_told("was announced", |s| s.live().notice = Notice::Claimed);
    assert_told("something waits for it", |s| {
        let waiter = s.waiter;
        s.ended().waiters.insert(0, waiter);
    });
}

// contract: N1, N2, W6, K5
#[test]
fn two_first_tellers_are_told_and_so_is_none() {
    assert_told("its notice is still pending", |s| s.ended().told = Some(Teller::Read));
    assert_told("listed as pending", |s| s.owner().pending.clear());
    assert_told("listed as pending", |s| s.ended().notice = Notice::Claimed);
    assert_told("nothing tells its owner", |s| {
        s.ended().notice = Notice::None;
        s.owner().pending.clear();
    });
}

// contract: S8
#[test]
fn a_wrong_count_is_told() {
    assert_told("lists a task of another", |s| {
        s.claim();
        s.ended().owner = Some(s.other);
    });
    assert_told("left: 1\n right: 2", |s| s.owner().bucket.active = 2);
    assert_told("starts in flight", |s| s.owner().bucket.reserved = 1);
    assert_told("over its limit", |s| s.registry.config.max_active_per_owner = 0);
    assert_told("in one bucket", |s| {
        s.claim();
        let ended = s.ended;
        s.owner().bucket.tasks.remove(&ended);
    });
    assert_told("count of live tasks", |s| s.registry.tasks.one_ended());
}

// contract: W6, W7, K5, R3
#[test]
fn what_hangs_in_the_air_is_told() {
    assert_told("forgot a wait", |s| s.live().waiters.clear());
    assert_told("promises", |s| {
        s.claim();
        s.ended().promises = 1;
    });
    assert_told("a dead wait", |s| {
        let waiter = s.waiter;
        s.registry.waiters.waiters.remove(waiter);
    });
    assert_told("a dead kill", |s| {
        let kill = s.kill;
        s.registry.kills.remove(kill);
    });
    assert_told("was not carried out", |s| s.registry.now.at = Instant(u64::MAX));
    assert_told("does not know", |s| {
        let waiter = s.waiter;
        s.registry.deadlines.add(Instant(5), Timer::Wait(waiter));
    });
    assert_told("still has a timer", |s| {
        let ended = s.ended;
        s.registry.deadlines.add(Instant(5), Timer::Teardown(ended));
    });
    assert_told("a wait that is over", |s| {
        s.claim();
        s.live().waiters.clear();
        let snapshot = s.ended().snapshot();
        s.ended().promises = 1;
        let wait = s.registry.waiters.waiters.get_mut(s.waiter).unwrap();
        (wait.task, wait.state) = (s.ended, Waiting::Promised(snapshot));
    });
}

// contract: R3, R4
#[test]
fn a_read_that_is_not_the_one_of_its_task_is_told() {
    assert_told("a read beside another", |s| s.live().reading = None);
    assert_told("a read beside another", |s| {
        let task = s.live;
        s.registry.reads.insert(Reading { task, terminal: false });
    });
    assert_told("its read has ended", |s| {
        let read = s.read;
        s.registry.reads.remove(read);
    });
    assert_told("its read has ended", |s| s.ended().reading = s.live().reading);
    assert_told("was read to its end", |s| {
        let read = s.read;
        s.registry.reads.get_mut(read).unwrap().terminal = true;
    });
}

// contract: O2, O4, T1
#[test]
fn a_disposal_that_goes_on_without_work_is_told() {
    assert_told("a late notice", |s| s.owner().life = Life::Disposing);
    assert_told("its disposal should have ended", |s| {
        let other = s.other;
        s.registry.owners.get_mut(other).unwrap().life = Life::Disposing;
    });
    assert_told("is disposed and has tasks", |s| s.owner().life = Life::Disposed);
    assert_told("shut down and not empty", |s| s.registry.service.stage = Stage::Closed);
}
