//! The record of a service: what a writer does to it, and what it does to a service.

use std::{
    io::{self, Write},
    sync::{Arc, Mutex, PoisonError},
};

use longrun_sim::Trace;
use longrun_tokio::{
    Builder, Config, NoticePolicy,
    core::{Event, trace::FORMAT},
    record,
    testing::FakeProducer,
};

use super::{Log, World, logged, start};

/// A writer into memory, which takes so many lines.
#[derive(Clone, Debug, Default)]
pub(super) struct Tape {
    written: Arc<Mutex<Vec<Vec<u8>>>>,
    /// With the write after so many, this becomes of it.
    end: Option<(usize, End)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Fails,
    Panics,
}

impl Tape {
    fn that(end: End, after: usize) -> Self {
        Self { end: Some((after, end)), ..Self::default() }
    }

    fn writes(&self) -> Vec<Vec<u8>> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn text(&self) -> String {
        String::from_utf8(self.writes().concat()).unwrap()
    }
}

impl Write for Tape {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut written = self.written.lock().unwrap();
        match self.end {
            Some((after, End::Fails)) if written.len() == after => {
                Err(io::ErrorKind::StorageFull.into())
            }
            Some((after, End::Panics)) if written.len() == after => panic!("the tape tore"),
            _ => {
                written.push(bytes.to_vec());
                Ok(bytes.len())
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn recorded(tape: &Tape) -> World {
    World::with(|builder| builder.record(tape.clone()))
}

#[tokio::test(start_paused = true)]
async fn each_line_is_written_at_once_and_the_first_holds_the_limits_of_the_service() {
    let tape = Tape::default();
    let config = Config { max_settled_per_owner: Some(3), ..Config::default() };
    // The limits are those that the service is built with, whenever they were set.
    let builder = Builder::new().record(tape.clone()).config(config).max_active_per_owner(2);
    let service = builder.build().unwrap();
    assert_eq!(tape.writes().len(), 1, "the header is there before anything happens");
    let _controls = service.mount_controls(NoticePolicy::default()).unwrap();
    service.shutdown().await.unwrap();

    let writes = tape.writes();
    assert_eq!(writes.len(), 3);
    for line in &writes {
        assert_eq!(line.iter().position(|&byte| byte == b'\n'), Some(line.len() - 1));
    }
    let begins = format!("{{\"longrun_trace\":{FORMAT},");
    assert!(tape.text().starts_with(&begins), "{}", tape.text());
    let trace = Trace::parse(&tape.text()).unwrap();
    assert_eq!(trace.config, Config { max_active_per_owner: 2, ..config });
    assert_eq!(trace.events.last().unwrap().1, Event::Shutdown);
}

/// From so many lines on: everything goes on; what was recorded until then is a trace; it was said once.
async fn a_bad_end_is_said_once(end: End, first: usize, says: &str) {
    for after in first..6 {
        let (log, tape) = (logged(), Tape::that(end, after));
        let world = recorded(&tape);
        let producer = FakeProducer::stream();
        let id = start(&world.owner, &producer);
        world.complete(&id, &producer).await;
        assert_eq!(world.claim(), [id]);
        world.service.shutdown().await.unwrap();

        assert_eq!(tape.writes().len(), after);
        if after > 0 {
            assert_eq!(Trace::parse(&tape.text()).unwrap().events.len(), after - 1);
        }
        let said: Vec<String> = log.lines();
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(said[0].contains("ERROR") && said[0].contains(says), "{said:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_writer_that_fails_ends_the_record_and_nothing_else() {
    a_bad_end_is_said_once(End::Fails, 0, "the record cannot be written any further").await;
}

#[tokio::test(start_paused = true)]
async fn a_writer_that_panics_ends_the_record_and_nothing_else() {
    a_bad_end_is_said_once(End::Panics, 1, "the tape tore").await;
}

#[tokio::test(start_paused = true)]
async fn a_tap_that_panics_does_not_end_the_record() {
    let (log, tape): (Log, Tape) = (logged(), Tape::default());
    let tap = |_, _: &Event| panic!("a bug of the tap");
    let world = World::with(|builder| builder.record(tape.clone()).tap(tap));
    world.service.shutdown().await.unwrap();
    let trace = Trace::parse(&tape.text()).unwrap();
    assert_eq!(trace.events.last().unwrap().1, Event::Shutdown);
    assert_eq!(log.lines().len(), 1, "{:?}", log.lines());
    assert!(log.has("a bug of the tap"));
}

#[test]
fn a_limit_that_is_refused_begins_no_record() {
    let tape = Tape::default();
    let runtime = super::threads();
    let builder = Builder::new().runtime(runtime.handle().clone()).max_active_per_owner(0);
    builder.record(tape.clone()).build().expect_err("no task could be started");
    assert!(tape.writes().is_empty());
}

#[cfg(unix)]
#[test]
fn the_file_of_a_record_is_its_owners_alone_and_never_one_that_is_there() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("r.jsonl");
    let file = record::create(&path).unwrap();
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let target = folder.path().join("target");
    let link = folder.path().join("link");
    std::os::unix::fs::symlink(&target, &link).unwrap();
    for taken in [&path, &link] {
        let error = record::create(taken).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
    }
    assert!(!target.exists(), "a link was followed");
}
