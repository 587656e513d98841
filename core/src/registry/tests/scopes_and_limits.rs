//! Stories about scopes, limits, and the edges of time.

use super::*;

// contract: C4
#[test]
fn the_innermost_controls_say_how_an_owner_is_told() {
    let mut story = Story::new();
    let Reply::Scope(scope) = story.send(Event::OpenScope { parent: None }) else { panic!() };
    let waking = NoticePolicy { delivery: Delivery::Wakeup, max_consecutive_wakes: 1 };
    story.send(Event::AttachController { scope: Some(scope), notices: Some(waking) });
    let session = SessionId::new("inner");
    let open = Event::OpenOwner { session, scope: Some(scope), busy: false };
    let Reply::Owner { owner, .. } = story.send(open) else { panic!() };
    story.owner = owner;
    let (task, _) = story.start();
    story.settle(task);
    let lanes: Vec<Lane> = story.commands().iter().filter_map(lane_of).collect();
    assert_eq!(lanes, [Lane::Wake], "once, and as the inner ones do it");
}

fn lane_of(command: &Command) -> Option<Lane> {
    if let Command::Nudge { lane, .. } = command { Some(*lane) } else { None }
}

// contract: N8, N3
#[test]
fn a_task_that_asked_not_to_wake_does_not() {
    let mut story = Story::new();
    let waking = NoticePolicy { delivery: Delivery::Wakeup, max_consecutive_wakes: 9 };
    let Reply::Scope(scope) = story.send(Event::OpenScope { parent: None }) else { panic!() };
    story.send(Event::AttachController { scope: Some(scope), notices: Some(waking) });
    let session = SessionId::new("inner");
    let open = Event::OpenOwner { session, scope: Some(scope), busy: false };
    let Reply::Owner { owner, .. } = story.send(open) else { panic!() };
    story.owner = owner;
    let request = StartRequest { notice: NoticePreference::NeverWake, ..story.request() };
    let Reply::Reserved(reservation) = story.send(Event::Reserve(request)) else { panic!() };
    let commit = Event::Commit { reservation, output: OutputMode::Final };
    let Reply::Started { task, .. } = story.send(commit) else { panic!() };
    story.settle(task);
    let lanes: Vec<Lane> = story.commands().iter().filter_map(lane_of).collect();
    assert_eq!(lanes, [Lane::Inject]);
}

// contract: L10, O6
#[test]
fn the_first_to_stop_a_task_is_on_record_and_its_deadline_counts() {
    let config = Config { teardown_deadline: Some(SECOND), ..Config::default() };
    let mut story = Story::with(config);
    let (task, id) = story.start();
    story.send(Event::DisposeOwner { owner: story.owner });
    story.at_ms = 400;
    story.send(Event::Shutdown);
    story.send(Event::CancelAnswered { task, error: None });
    story.send(Event::CancelAnswered { task, error: None });
    let stop = story.registry.get(&id, story.caller().as_ref()).unwrap().stop.unwrap();
    assert_eq!(stop.by, StopCause::OwnerDisposal);
    assert_eq!(stop.reason.as_deref(), Some("owner disposed"));
    let due = story.registry.next_deadline().unwrap();
    assert_eq!(due, (Instant(1_000_000_000), Due::Teardown(task)));
}

// contract: O5
#[test]
fn cancels_are_answered_in_the_order_in_which_they_were_sent() {
    let mut story = Story::new();
    let (task, id) = story.start();
    story.send(Event::DisposeOwner { owner: story.owner });
    story.send(Event::Shutdown);
    story.send(Event::CancelAnswered { task, error: None });
    let stop = story.registry.get(&id, story.caller().as_ref()).unwrap().stop.unwrap();
    assert_eq!(stop.by, StopCause::OwnerDisposal);
    story.send(Event::CancelAnswered { task, error: Some("gone".into()) });
    let owner = story.owner;
    let commands = story.commands();
    assert!(commands.contains(&Command::OwnerDisposed { owner, orphans: vec![id.clone()] }));
    assert!(commands.contains(&Command::ShutDown { orphans: vec![id] }));
}

// contract: W2
#[test]
fn a_wait_lasts_more_than_nothing_and_no_longer_than_the_longest_there_is() {
    let mut story = Story::new();
    let (_, id) = story.start();
    let nanosecond = Duration::from_nanos(1);
    for (timeout, allowed) in [
        (Duration::ZERO, false),
        (nanosecond, true),
        (MAX_WAIT, true),
        (MAX_WAIT + nanosecond, false),
        (Duration::MAX, false),
    ] {
        let event = Event::Wait { id: id.clone(), caller: story.caller(), timeout };
        assert_eq!(story.try_send(event).is_ok(), allowed, "{timeout:?}");
    }
}

// contract: W2, W7
#[test]
fn at_the_end_of_time_a_wait_is_over_at_once() {
    let mut story = Story::new();
    let (_, id) = story.start();
    let now = Now::new(Instant::MAX, 0);
    let event = Event::Wait { id, caller: story.caller(), timeout: SECOND };
    let waiting = story.registry.handle(now, event, &mut story.out);
    let Ok(Reply::Waiting { waiter, .. }) = waiting else { panic!("{waiting:?}") };
    assert!(story.commands().contains(&Command::Wake { waiter }));
    assert_eq!(story.registry.next_deadline(), None);
}

// contract: W5
#[test]
fn so_many_waits_may_be_in_flight_on_a_task_and_no_more() {
    let mut story = Story::with(Config { max_waiters_per_task: 2, ..Config::default() });
    let (_, id) = story.start();
    let event = Event::Wait { id: id.clone(), caller: story.caller(), timeout: SECOND };
    story.wait(&id);
    story.wait(&id);
    assert_eq!(story.try_send(event), Err(WaitRefusal::TooMany { limit: 2 }.into()));
    let kill = Event::Kill { id, caller: story.caller(), reason: None };
    assert!(story.try_send(kill).is_err(), "a kill in flight counts like a wait");
}

// contract: W6
#[test]
fn what_was_promised_is_not_forgotten_for_want_of_room() {
    let mut story = Story::with(Config { max_settled_per_owner: Some(0), ..Config::default() });
    let (task, id) = story.start();
    let waiter = story.wait(&id);
    story.settle(task);
    let (other, _) = story.start();
    story.settle(other);
    assert_eq!(story.status(&id), Status::Completed, "it is still to be taken");
    story.send(Event::TakeWait { waiter });
    story.start();
    assert!(story.registry.get(&id, story.caller().as_ref()).is_err());
}

// contract: X2
#[test]
fn time_that_goes_backwards_stands_still() {
    let mut story = Story::new();
    let (_, id) = story.start();
    story.at_ms = 5_000;
    story.send(Event::Tick);
    story.at_ms = 1_000;
    story.wait(&id);
    assert_eq!(story.registry.next_deadline().unwrap().0, Instant(6_000_000_000));
}

// contract: C2
#[test]
fn what_is_registered_in_a_scope_ends_with_it_and_so_does_what_is_below() {
    let mut story = Story::new();
    let Reply::Scope(outer) = story.send(Event::OpenScope { parent: None }) else { panic!() };
    let inner = story.send(Event::OpenScope { parent: Some(outer) });
    let Reply::Scope(inner) = inner else { panic!() };
    let add = Event::AddListener { scope: Some(inner) };
    let Reply::Listener(listener) = story.send(add.clone()) else { panic!() };
    let session = SessionId::new("inner");
    let open = Event::OpenOwner { session, scope: Some(inner), busy: true };
    let Reply::Owner { owner, .. } = story.send(open) else { panic!() };
    assert!(story.registry.has_listener(listener));
    story.send(Event::CloseScope { scope: outer });
    assert!(!story.registry.has_listener(listener));
    assert!(story.try_send(add).is_err(), "the scope below is closed too");
    story.owner = owner;
    story.start();
    assert!(story.commands().iter().all(|command| !matches!(command, Command::NotifyDone { .. })));
}

// contract: C2, C3, T1
#[test]
fn what_is_registered_can_be_asked_and_so_can_whether_the_service_closes() {
    let mut story = Story::new();
    let Reply::Observer(observer) = story.send(Event::AddObserver { scope: None }) else {
        panic!()
    };
    assert!(story.registry.has_observer(observer));
    story.send(Event::ObserverRemoved { observer });
    assert!(!story.registry.has_observer(observer));
    let (task, _) = story.start();
    assert_eq!((story.registry.is_closing(), story.registry.is_closed()), (false, false));
    story.send(Event::Shutdown);
    assert_eq!((story.registry.is_closing(), story.registry.is_closed()), (true, false));
    story.settle(task);
    assert_eq!((story.registry.is_closing(), story.registry.is_closed()), (true, true));
}
