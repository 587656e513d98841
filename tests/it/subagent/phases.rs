//! The scenarios of the simulation, played by the real producer on tokio with paused time.

use std::sync::Mutex;

use futures::{
    FutureExt as _,
    future::{Either, select},
};
use longrun_sim::phases::{
    ANSWER, Asker, HALF, Phased, Played, REASON, SCENARIOS, Scenario, Trouble,
};
use longrun_tokio::{
    BoxError,
    subagent::{AbortHandle, Finish, Provider, Run, Startup, Stop},
};
use tokio::time::{Instant, sleep};

use super::*;

/// Children that follow a script.
struct Scripted(Phased);

impl Provider for Scripted {
    fn start(&self, _: Request, abort: AbortHandle) -> Result<Startup, BoxError> {
        let script = self.0;
        let startup = async move {
            if aborted_within(&abort, script.startup).await {
                sleep(script.disposal).await;
                return Err(Finish::new(Stop::Aborted, ""));
            }
            if script.trouble == Trouble::Startup {
                return Err(Finish::failed(REASON));
            }
            Ok(run(script, abort))
        };
        Ok(startup.boxed())
    }
}

fn run(script: Phased, abort: AbortHandle) -> Run {
    let result = async move {
        if aborted_within(&abort, script.run).await {
            return Finish::new(Stop::Aborted, HALF);
        }
        match script.trouble {
            Trouble::Run => Finish::new(Stop::Failed(REASON.to_owned()), HALF),
            _ => Finish::new(Stop::Completed, ANSWER),
        }
    };
    Run::new(result).on_dispose(move || async move {
        sleep(script.disposal).await;
        if script.trouble == Trouble::Disposal { Err(REASON.into()) } else { Ok(()) }
    })
}

async fn aborted_within(abort: &AbortHandle, time: Duration) -> bool {
    let (aborted, over) = (Box::pin(abort.aborted()), Box::pin(sleep(time)));
    matches!(select(aborted, over).await, Either::Left(_))
}

async fn play(scenario: &Scenario) -> Played {
    let stage = Stage::new();
    let subagents = Subagents::new(Scripted(scenario.child));
    let began = Instant::now();
    let at_ms = move || u64::try_from(began.elapsed().as_millis()).unwrap();
    let played = Arc::new(Mutex::new(Played::default()));
    let told = played.clone();
    let _listener = stage.service.on_task_done(move |done| {
        let mut told = told.lock().unwrap();
        told.status = Some((done.task.status.to_string(), at_ms()));
        told.detail = done.task.detail.as_deref().map(Into::into);
    });
    let id = stage.start(&subagents, "do it");
    if let Some((at, asker)) = scenario.asked {
        sleep(at).await;
        match asker {
            Asker::Kill => stage.kill(&id),
            Asker::Disposal => assert_eq!(stage.agent.dispose().await, Ok(vec![])),
            Asker::Shutdown => assert_eq!(stage.service.shutdown().await, Ok(vec![])),
        }
        if asker != Asker::Kill {
            played.lock().unwrap().stopped_ms = Some(at_ms());
        }
    }
    let may_read = scenario.asked.is_none_or(|(_, asker)| asker == Asker::Kill);
    if may_read {
        // Long after its end: a wait would take the notice's place.
        sleep(Duration::from_secs(1)).await;
        let read = stage.service.read(&id, &stage.agent.caller()).unwrap();
        played.lock().unwrap().output = Some(read.text);
    }
    let is_nudge = |nudge: &&Nudge| matches!(nudge, Nudge::Inject(_) | Nudge::Wake(_));
    let mut played = played.lock().unwrap().clone();
    played.nudges = stage.inbox.nudges().iter().filter(is_nudge).count();
    played
}

// contract: U1, U2, O1, O2, T1, K2, N1, N2, X3
#[tokio::test(start_paused = true)]
async fn every_scenario_of_the_simulation_goes_the_same_way_in_the_real_adapter() {
    for scenario in SCENARIOS {
        assert_eq!(play(scenario).await.told(), scenario.told, "{}", scenario.name);
    }
}
