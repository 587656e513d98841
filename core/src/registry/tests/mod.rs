//! Stories about what happens between the two steps of a request, each about one or two
//! clauses. What happens in plain order is told by the contract vectors.

use alloc::{vec, vec::Vec};
use core::time::Duration;

use crate::{
    Caller, ClaimSource, Command, Config, Delivery, Due, Event, Instant, KillKey, Lane, MAX_WAIT,
    NoticePolicy, NoticePreference, Now, Outcome, Output, OutputMode, OwnerKey, Refusal, Registry,
    Reply, SessionId, StartRefusal, StartRequest, Status, StopCause, TaskId, TaskKey, WaitRefusal,
    WaiterKey,
};

mod invariants;
mod scopes_and_limits;

/// A registry with controls at its root and one owner.
struct Story {
    registry: Registry,
    owner: OwnerKey,
    at_ms: u64,
    out: Vec<Command>,
}

const SECOND: Duration = Duration::from_secs(1);

impl Story {
    fn new() -> Self {
        Self::with(Config::default())
    }

    fn with(config: Config) -> Self {
        let mut registry = Registry::new(config).unwrap();
        let mut out = Vec::new();
        let notices = Some(NoticePolicy::default());
        let controls = Event::AttachController { scope: None, notices };
        registry.handle(Now::default(), controls, &mut out).unwrap();
        let open = Event::OpenOwner { session: SessionId::new("s"), scope: None, busy: true };
        let opened = registry.handle(Now::default(), open, &mut out);
        let Ok(Reply::Owner { owner, .. }) = opened else { panic!("{opened:?}") };
        Self { registry, owner, at_ms: 0, out }
    }

    fn try_send(&mut self, event: Event) -> Result<Reply, Refusal> {
        let now = Now::new(Instant(self.at_ms * 1_000_000), self.at_ms);
        let reply = self.registry.handle(now, event, &mut self.out);
        self.registry.check();
        reply
    }

    fn send(&mut self, event: Event) -> Reply {
        self.try_send(event).unwrap()
    }

    /// What was to be done since the last look.
    fn commands(&mut self) -> Vec<Command> {
        core::mem::take(&mut self.out)
    }

    /// The tasks whose notice was sent since the last look.
    fn nudged(&mut self) -> Vec<TaskId> {
        let mut nudged = Vec::new();
        for command in self.commands() {
            if let Command::Nudge { snapshot, .. } = command {
                nudged.push(snapshot.id);
            }
        }
        nudged
    }

    fn request(&self) -> StartRequest {
        StartRequest {
            kind: "bash".into(),
            label: "make".into(),
            output_limit_bytes: None,
            owner: Some(self.owner),
            notice: NoticePreference::AsMounted,
        }
    }

    fn reserve(&mut self) -> crate::ReservationKey {
        let request = self.request();
        let Reply::Reserved(reservation) = self.send(Event::Reserve(request)) else { panic!() };
        reservation
    }

    fn start(&mut self) -> (TaskKey, TaskId) {
        let reservation = self.reserve();
        let commit = Event::Commit { reservation, output: OutputMode::Final };
        let Reply::Started { task, id } = self.send(commit) else { panic!() };
        (task, id)
    }

    fn caller(&self) -> Caller {
        Some(SessionId::new("s"))
    }

    fn wait(&mut self, id: &TaskId) -> WaiterKey {
        let event = Event::Wait { id: id.clone(), caller: self.caller(), timeout: SECOND };
        let Reply::Waiting { waiter, .. } = self.send(event) else { panic!() };
        waiter
    }

    fn kill(&mut self, id: &TaskId) -> KillKey {
        let event = Event::Kill { id: id.clone(), caller: self.caller(), reason: None };
        let Reply::Killing { kill, .. } = self.send(event) else { panic!() };
        kill
    }

    fn settle(&mut self, task: TaskKey) {
        self.send(Event::Settled { task, outcome: Outcome::completed() });
    }

    fn claim(&mut self, or_idle: bool) -> (Vec<TaskId>, bool) {
        let event = Event::Claim { owner: self.owner, source: ClaimSource::Inbox, or_idle };
        let Reply::Claimed { notices, idle } = self.send(event) else { panic!() };
        (notices.into_iter().map(|task| task.id).collect(), idle)
    }

    fn reported(&self, id: &TaskId) -> bool {
        self.registry.get(id, self.caller().as_ref()).unwrap().reported
    }

    fn status(&self, id: &TaskId) -> Status {
        self.registry.get(id, self.caller().as_ref()).unwrap().status
    }
}

// contract: W6
#[test]
fn a_promise_that_the_last_wait_drops_untaken_becomes_a_notice() {
    let mut story = Story::new();
    let (task, id) = story.start();
    let (first, second) = (story.wait(&id), story.wait(&id));
    story.settle(task);
    assert!(story.reported(&id));
    assert_eq!(story.nudged(), []);
    story.send(Event::WaitDropped { waiter: first });
    assert_eq!(story.nudged(), [], "the second may still take it");
    story.send(Event::WaitDropped { waiter: second });
    assert!(!story.reported(&id));
    assert_eq!(story.nudged(), core::slice::from_ref(&id));
    assert_eq!(story.claim(false).0, [id]);
}

// contract: W6, W4
#[test]
fn a_promise_that_one_wait_takes_is_kept_for_all() {
    let mut story = Story::new();
    let (task, id) = story.start();
    let (first, second) = (story.wait(&id), story.wait(&id));
    story.settle(task);
    let taken = story.send(Event::AbortWait { waiter: first });
    assert!(matches!(taken, Reply::WaitOver { timed_out: false, .. }), "an abort comes too late");
    story.send(Event::WaitDropped { waiter: second });
    assert_eq!(story.nudged(), []);
    assert!(story.reported(&id));
}

// contract: W6, N7
#[test]
fn a_wait_on_a_task_that_has_ended_withdraws_its_notice_until_it_is_dropped() {
    let mut story = Story::new();
    let (task, id) = story.start();
    story.settle(task);
    assert_eq!(story.nudged(), core::slice::from_ref(&id));
    let waiter = story.wait(&id);
    let withdrawn = Command::WithdrawNotice { owner: story.owner, id: id.clone() };
    assert_eq!(story.commands(), [withdrawn]);
    assert_eq!(story.claim(true), (vec![], true));
    story.send(Event::WaitDropped { waiter });
    assert_eq!(story.nudged(), [id]);
}

// contract: K5
#[test]
fn a_kill_whose_task_ends_meanwhile_tells_it_or_else_the_notice_does() {
    for accepted in [true, false] {
        let mut story = Story::new();
        let (task, id) = story.start();
        let kill = story.kill(&id);
        story.settle(task);
        assert!(story.reported(&id), "the kill may still tell it");
        let answer = story.send(Event::KillAnswered { kill, accepted });
        assert_eq!(matches!(answer, Reply::AlreadyFinished(_)), accepted, "{answer:?}");
        assert_eq!(story.reported(&id), accepted);
        assert_eq!(story.nudged().len(), usize::from(!accepted));
    }
}

// contract: K3
#[test]
fn of_two_kills_in_flight_the_one_that_fails_changes_nothing() {
    let mut story = Story::new();
    let (_, id) = story.start();
    let (first, second) = (story.kill(&id), story.kill(&id));
    story.send(Event::KillAnswered { kill: first, accepted: false });
    assert_eq!((story.status(&id), story.reported(&id)), (Status::Running, false));
    story.send(Event::KillAnswered { kill: second, accepted: true });
    assert_eq!((story.status(&id), story.reported(&id)), (Status::Stopping, true));
}

// contract: R3, R4
#[test]
fn reads_of_one_task_come_one_at_a_time_and_a_failed_one_reports_nothing() {
    let mut story = Story::new();
    let (task, id) = story.start();
    story.settle(task);
    let read = |story: &mut Story| {
        let event = Event::Read { id: id.clone(), caller: story.caller() };
        story.try_send(event)
    };
    let Ok(Reply::Reading { read: first, snapshot, .. }) = read(&mut story) else { panic!() };
    assert!(snapshot.reported, "what it returns is a report");
    assert!(read(&mut story).is_err(), "a second one begins while the first drains");
    story.send(Event::ReadEnded { read: first, delivered: false });
    assert!(!story.reported(&id));
    let Ok(Reply::Reading { read: again, output, .. }) = read(&mut story) else { panic!() };
    assert_eq!(output, Output::Final(None));
    story.send(Event::ReadEnded { read: again, delivered: true });
    assert!(story.reported(&id));
}

// contract: R3
#[test]
fn a_read_that_began_before_the_end_tells_a_live_state_and_reports_nothing() {
    let mut story = Story::new();
    let (task, id) = story.start();
    let event = Event::Read { id: id.clone(), caller: story.caller() };
    let Reply::Reading { read, snapshot, .. } = story.send(event) else { panic!() };
    story.settle(task);
    story.send(Event::ReadEnded { read, delivered: true });
    assert_eq!(snapshot.status, Status::Running);
    assert!(!story.reported(&id));
    assert_eq!(story.nudged(), [id]);
}

// contract: S10, O2
#[test]
fn a_disposal_that_begins_while_a_starter_runs_cancels_and_awaits_its_task() {
    let mut story = Story::new();
    let reservation = story.reserve();
    story.send(Event::DisposeOwner { owner: story.owner });
    assert_eq!(story.commands(), [], "it waits for the starter");
    let commit = Event::Commit { reservation, output: OutputMode::Final };
    let Reply::Started { task, .. } = story.send(commit) else { panic!() };
    assert_eq!(story.commands(), [Command::Cancel { task, reason: "owner disposed".into() }]);
    story.settle(task);
    let owner = story.owner;
    let disposed = Command::OwnerDisposed { owner, orphans: vec![] };
    assert_eq!(story.commands(), [Command::Forget { task }, disposed]);
}

// contract: O6
#[test]
fn past_the_teardown_deadline_a_task_is_given_up_and_reported_but_never_a_starter() {
    let config = Config { teardown_deadline: Some(SECOND), ..Config::default() };
    let mut story = Story::with(config);
    let (stubborn, id) = story.start();
    let reservation = story.reserve();
    story.send(Event::DisposeOwner { owner: story.owner });
    story.send(Event::CancelAnswered { task: stubborn, error: None });
    assert_eq!(story.registry.next_deadline().unwrap().0, Instant(1_000_000_000));
    story.at_ms = 5_000;
    story.commands();
    story.send(Event::Tick);
    let failed = story.registry.get(&id, story.caller().as_ref()).unwrap();
    assert_eq!((failed.status, failed.finished_at_ms), (Status::Failed, Some(1_000)));
    assert!(failed.detail.unwrap().contains("may be orphaned"));
    story.commands();
    story.send(Event::Release { reservation });
    let owner = story.owner;
    let disposed = Command::OwnerDisposed { owner, orphans: vec![id] };
    assert_eq!(story.commands().last(), Some(&disposed));
}

// contract: N6
#[test]
fn a_claim_finds_what_is_pending_or_marks_the_owner_idle_but_never_both() {
    let mut story = Story::new();
    let (task, id) = story.start();
    story.settle(task);
    assert_eq!(story.claim(true), (vec![id], false));
    assert_eq!(story.claim(true), (vec![], true));
}

// contract: N1, L9
#[test]
fn a_notice_that_nobody_was_there_to_announce_is_announced_when_controls_return() {
    let mut story = Story::new();
    let (task, id) = story.start();
    // The controls go and come back, as in a reload.
    let attach = || Event::AttachController { scope: None, notices: Some(Default::default()) };
    let Reply::Controller(second) = story.send(attach()) else { panic!() };
    let first = crate::ControllerKey { index: 0, generation: 0 };
    story.send(Event::ControllerDetached { controller: first });
    story.send(Event::ControllerDetached { controller: second });
    story.settle(task);
    assert_eq!(story.nudged(), []);
    story.send(attach());
    assert_eq!(story.nudged(), core::slice::from_ref(&id));
    assert_eq!(story.claim(false).0, [id]);
}

// contract: N8
#[test]
fn a_task_that_asked_for_no_notice_gets_none() {
    let mut story = Story::new();
    let request = StartRequest { notice: NoticePreference::Never, ..story.request() };
    let Reply::Reserved(reservation) = story.send(Event::Reserve(request)) else { panic!() };
    let commit = Event::Commit { reservation, output: OutputMode::Final };
    let Reply::Started { task, .. } = story.send(commit) else { panic!() };
    story.settle(task);
    assert_eq!(story.nudged(), []);
    assert_eq!(story.claim(true), (vec![], true));
}

// contract: L8
#[test]
fn a_task_never_ends_before_it_began_though_the_wall_clock_steps_back() {
    let mut story = Story::new();
    story.at_ms = 9_000;
    let (task, id) = story.start();
    let back = Now::new(Instant(9_500_000_000), 4_000);
    let settled = Event::Settled { task, outcome: Outcome::completed() };
    story.registry.handle(back, settled, &mut story.out).unwrap();
    let ended = story.registry.get(&id, story.caller().as_ref()).unwrap();
    assert_eq!((ended.started_at_ms, ended.finished_at_ms), (9_000, Some(9_000)));
}

// contract: W1, W2, W7
#[test]
fn a_fact_beats_a_timeout_of_the_same_instant_and_a_timeout_the_next_one() {
    for (settled_at_ms, timed_out) in [(1_000, false), (1_001, true)] {
        let mut story = Story::new();
        let (task, id) = story.start();
        let waiter = story.wait(&id);
        story.at_ms = settled_at_ms;
        story.settle(task);
        let over = story.send(Event::TakeWait { waiter });
        assert!(
            matches!(over, Reply::WaitOver { timed_out: it, .. } if it == timed_out),
            "{over:?}"
        );
        assert_eq!(story.registry.next_deadline(), None);
    }
}

// contract: S5, S8
#[test]
fn a_start_in_flight_holds_a_slot_and_a_released_one_used_no_number() {
    let config = Config { max_active_per_owner: 1, ..Config::default() };
    let mut story = Story::with(config);
    let reservation = story.reserve();
    let request = story.request();
    let refused = story.try_send(Event::Reserve(request));
    assert_eq!(refused, Err(StartRefusal::LimitReached { limit: 1 }.into()));
    story.send(Event::Release { reservation });
    assert_eq!(story.start().1.as_str(), "bash-1");
}

// contract: R5, X2
#[test]
fn an_ended_task_beyond_the_limit_goes_only_once_its_owner_knows_of_its_end() {
    let config = Config { max_settled_per_owner: Some(1), ..Config::default() };
    let mut story = Story::with(config);
    let ended: Vec<TaskId> = (0..3)
        .map(|_| {
            let (task, id) = story.start();
            story.settle(task);
            id
        })
        .collect();
    let kept = |story: &Story| story.registry.list(story.caller().as_ref()).len();
    assert_eq!(kept(&story), 3, "none of them has been told");
    story.claim(false);
    let (task, _) = story.start();
    story.settle(task);
    assert_eq!(kept(&story), 1, "the one that is still to be told");
    assert!(story.registry.get(&ended[0], story.caller().as_ref()).is_err());
}
