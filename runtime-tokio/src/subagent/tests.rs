//! The life of children, on paused time.

use std::{
    future::pending,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use longrun_core::End;
use tokio::time::{Instant, sleep};

use super::*;

const SECOND: Duration = Duration::from_secs(1);

fn request() -> Request {
    Request::new("count", "how many?")
}

/// Runs a child that is asked to stop after that many seconds, or never.
async fn ended(provider: impl Provider, abort_after: Option<u32>) -> Ended {
    let abort = async move {
        match abort_after {
            Some(seconds) => sleep(seconds * SECOND).await,
            None => pending().await,
        }
    };
    Subagents::new(provider).run(request(), abort).await.unwrap()
}

fn told(ended: &Ended) -> (End, &str, &str) {
    (ended.end, ended.detail.as_deref().unwrap_or_default(), &ended.text)
}

/// A child whose startup, run and disposal take a second each unless told otherwise.
#[derive(Clone, Default)]
struct Slow {
    startup: Option<Duration>,
    run: Option<Duration>,
    startup_ignores_abort: bool,
    startup_panics: bool,
    disposal_fails: bool,
    disposals: Arc<AtomicUsize>,
}

impl Provider for Slow {
    fn start(&self, _: Request, abort: AbortHandle) -> Result<Startup, BoxError> {
        let slow = self.clone();
        let startup = async move {
            let ready = sleep(slow.startup.unwrap_or(SECOND));
            if slow.startup_ignores_abort {
                ready.await;
            } else {
                let (ready, aborted) = (Box::pin(ready), Box::pin(abort.aborted()));
                let first = futures::future::select(ready, aborted).await;
                if matches!(first, futures::future::Either::Right(_)) {
                    sleep(SECOND).await;
                    return Err(Finish::failed("aborted"));
                }
            }
            assert!(!slow.startup_panics, "no wheels");
            Ok(slow.into_run(abort))
        };
        Ok(startup.boxed())
    }
}

impl Slow {
    fn into_run(self, abort: AbortHandle) -> Run {
        let run = self.run.unwrap_or(SECOND);
        let result = async move {
            let (done, aborted) = (Box::pin(sleep(run)), Box::pin(abort.aborted()));
            match futures::future::select(done, aborted).await {
                futures::future::Either::Left(_) => Finish::from("42".to_owned()),
                futures::future::Either::Right(_) => Finish::new(Stop::Aborted, "4"),
            }
        };
        Run::new(result).on_dispose(move || {
            self.disposals.fetch_add(1, Ordering::SeqCst);
            let fails = self.disposal_fails;
            async move {
                sleep(SECOND).await;
                if fails { Err("it bit".into()) } else { Ok(()) }
            }
        })
    }
}

// contract: U1, U2
#[tokio::test(start_paused = true)]
async fn a_child_ends_when_its_disposal_has() {
    let (slow, began) = (Slow::default(), Instant::now());
    assert_eq!(told(&ended(slow.clone(), None).await), (End::Completed, "", "42"));
    assert_eq!((began.elapsed(), slow.disposals.load(Ordering::SeqCst)), (3 * SECOND, 1));
    let fails = Slow { disposal_fails: true, ..Slow::default() };
    let detail = "completed; its disposal failed: it bit";
    assert_eq!(told(&ended(fails, None).await), (End::Failed, detail, "42"));
}

// contract: U1, U2, P1
#[tokio::test(start_paused = true)]
async fn one_handle_aborts_the_startup_and_the_run_and_a_result_that_is_there_stays() {
    let slow = || Slow { startup: Some(3 * SECOND), run: Some(3 * SECOND), ..Slow::default() };
    let detail = "aborted during its startup";
    assert_eq!(told(&ended(slow(), Some(2)).await), (End::Killed, detail, ""));
    assert_eq!(told(&ended(slow(), Some(4)).await), (End::Killed, "aborted", "4"));
    // A startup that ignores the request brings a run that finds it.
    let deaf = Slow { startup_ignores_abort: true, ..slow() };
    assert_eq!(told(&ended(deaf.clone(), Some(2)).await), (End::Killed, "aborted", "4"));
    assert_eq!(deaf.disposals.load(Ordering::SeqCst), 1);
    // In the middle of the disposal: the answer is there.
    let quick = Slow { disposals: Arc::default(), ..Slow::default() };
    let subagents = Subagents::new(quick);
    let late = sleep(2 * SECOND + SECOND / 2);
    let ended = subagents.run(request(), late).await.unwrap();
    assert_eq!(told(&ended), (End::Completed, "", "42"));
}

// contract: U5, U2
#[tokio::test(start_paused = true)]
async fn a_startup_that_takes_too_long_is_aborted_and_what_it_brings_is_disposed() {
    let never = Slow { startup: Some(1_000 * SECOND), ..Slow::default() };
    let began = Instant::now();
    let detail = "could not be started: it was not ready after 60s";
    assert_eq!(told(&ended(never.clone(), None).await), (End::Failed, detail, ""));
    assert_eq!(began.elapsed(), 61 * SECOND);
    let deaf = Slow { startup_ignores_abort: true, disposal_fails: true, ..never };
    let detail = format!("{detail}; its disposal failed: it bit");
    assert_eq!(told(&ended(deaf.clone(), None).await), (End::Failed, &*detail, ""));
    assert_eq!(deaf.disposals.load(Ordering::SeqCst), 1);
    // Somebody else asked first: then it is his.
    let deaf = Slow { startup_ignores_abort: true, startup: Some(90 * SECOND), ..Slow::default() };
    assert_eq!(told(&ended(deaf, Some(10)).await).0, End::Killed);
}

// contract: U2, L6
#[tokio::test(start_paused = true)]
async fn panics_are_contained_wherever_they_come() {
    struct Refuses;
    impl Provider for Refuses {
        fn start(&self, _: Request, _: AbortHandle) -> Result<Startup, BoxError> {
            panic!("no road")
        }
    }
    let refused = Subagents::new(Refuses).run(request(), pending()).await.unwrap_err();
    assert_eq!(refused.to_string(), "it panicked: no road");
    let detail = "could not be started: it panicked: no wheels";
    let startup = Slow { startup_panics: true, ..Slow::default() };
    assert_eq!(told(&ended(startup, None).await), (End::Failed, detail, ""));
    let run = InProcess::new(async |child: Child| -> String {
        child.say("one, ");
        child.say("two");
        sleep(SECOND).await;
        panic!("no fuel")
    });
    let detail = "it panicked: no fuel";
    assert_eq!(told(&ended(run, None).await), (End::Failed, detail, "one, two"));
}

// contract: U5
#[tokio::test(start_paused = true)]
async fn a_child_of_this_process_answers_fails_obeys_or_is_dropped() {
    let answers = InProcess::new(async |child: Child| {
        child.say("let me see");
        format!("{} {}", child.request.prompt, child.request.depth)
    });
    assert_eq!(told(&ended(answers, None).await), (End::Completed, "", "how many? 1"));
    let fails = InProcess::new(async |child: Child| {
        child.say("let me see");
        Err::<String, _>("no idea")
    });
    assert_eq!(told(&ended(fails, None).await), (End::Failed, "no idea", "let me see"));
    let obeys = InProcess::new(async |child: Child| {
        child.abort.aborted().await;
        Finish::new(Stop::Aborted, format!("{:?}", child.abort.reason()))
    });
    let reason = "Some(\"the call was aborted\")";
    assert_eq!(told(&ended(obeys, Some(1)).await), (End::Killed, "aborted", reason));

    let ignores = InProcess::new(async |child: Child| -> String {
        child.say("one");
        pending().await
    });
    let began = Instant::now();
    let detail = "aborted, ignored that and was dropped after 2s";
    let ended = ended(ignores.drop_after(2 * SECOND), Some(1)).await;
    assert_eq!(told(&ended), (End::Killed, detail, "one"));
    assert_eq!(began.elapsed(), 3 * SECOND);
}

// contract: U5, L6
#[tokio::test(start_paused = true)]
async fn a_child_that_panics_when_it_is_dropped_is_contained_too() {
    struct Bites;
    impl Drop for Bites {
        fn drop(&mut self) {
            panic!("it bites");
        }
    }
    let bites = InProcess::new(async |_: Child| -> String {
        let _bites = Bites;
        pending().await
    });
    let ended = ended(bites, Some(1)).await;
    let detail = "aborted, ignored that, and when it was dropped it panicked: it bites";
    assert_eq!(told(&ended), (End::Killed, detail, ""));
}
