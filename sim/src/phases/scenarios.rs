//! The scenarios.

use std::time::Duration;

use super::{ANSWER, Asker, HALF, Phased, Scenario, Told, Trouble};

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// 30 ms to start, 50 ms to work, 20 ms to be disposed.
const CHILD: Phased =
    Phased { startup: ms(30), run: ms(50), disposal: ms(20), trouble: Trouble::Nowhere };

const fn troubled(trouble: Trouble) -> Phased {
    Phased { trouble, ..CHILD }
}

const NOTHING: Told<'static> =
    Told { status: None, detail: None, output: None, nudges: 0, stopped_ms: None };

/// All of them.
pub const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "it answers",
        child: CHILD,
        asked: None,
        told: Told { status: Some(("completed", 100)), output: Some(ANSWER), nudges: 1, ..NOTHING },
    },
    Scenario {
        name: "it cannot be started",
        child: troubled(Trouble::Startup),
        asked: None,
        told: Told {
            status: Some(("failed", 30)),
            detail: Some("could not be started: it broke"),
            output: Some(""),
            nudges: 1,
            ..NOTHING
        },
    },
    Scenario {
        name: "it gives up",
        child: troubled(Trouble::Run),
        asked: None,
        told: Told {
            status: Some(("failed", 100)),
            detail: Some("it broke"),
            output: Some(HALF),
            nudges: 1,
            ..NOTHING
        },
    },
    Scenario {
        name: "its disposal fails",
        child: troubled(Trouble::Disposal),
        asked: None,
        told: Told {
            status: Some(("failed", 100)),
            detail: Some("completed; its disposal failed: it broke"),
            output: Some(ANSWER),
            nudges: 1,
            ..NOTHING
        },
    },
    Scenario {
        name: "killed before anything has happened",
        child: CHILD,
        asked: Some((ms(0), Asker::Kill)),
        told: Told {
            status: Some(("killed", 20)),
            detail: Some("aborted during its startup"),
            output: Some(""),
            ..NOTHING
        },
    },
    Scenario {
        name: "killed in its startup",
        child: CHILD,
        asked: Some((ms(10), Asker::Kill)),
        told: Told {
            status: Some(("killed", 30)),
            detail: Some("aborted during its startup"),
            output: Some(""),
            ..NOTHING
        },
    },
    Scenario {
        name: "killed in its run",
        child: CHILD,
        asked: Some((ms(40), Asker::Kill)),
        told: Told {
            status: Some(("killed", 60)),
            detail: Some("aborted"),
            output: Some(HALF),
            ..NOTHING
        },
    },
    Scenario {
        name: "killed in its run, and its disposal fails",
        child: troubled(Trouble::Disposal),
        asked: Some((ms(40), Asker::Kill)),
        told: Told {
            status: Some(("failed", 60)),
            detail: Some("aborted; its disposal failed: it broke"),
            output: Some(HALF),
            ..NOTHING
        },
    },
    Scenario {
        name: "killed in its disposal, when the answer is there",
        child: CHILD,
        asked: Some((ms(90), Asker::Kill)),
        told: Told { status: Some(("completed", 100)), output: Some(ANSWER), ..NOTHING },
    },
    Scenario {
        name: "its owner goes in its startup",
        child: CHILD,
        asked: Some((ms(10), Asker::Disposal)),
        told: Told {
            status: Some(("killed", 30)),
            detail: Some("aborted during its startup"),
            stopped_ms: Some(30),
            ..NOTHING
        },
    },
    Scenario {
        name: "its owner goes in its run",
        child: CHILD,
        asked: Some((ms(40), Asker::Disposal)),
        told: Told {
            status: Some(("killed", 60)),
            detail: Some("aborted"),
            stopped_ms: Some(60),
            ..NOTHING
        },
    },
    Scenario {
        name: "its owner goes in its disposal",
        child: troubled(Trouble::Run),
        asked: Some((ms(90), Asker::Disposal)),
        told: Told {
            status: Some(("failed", 100)),
            detail: Some("it broke"),
            stopped_ms: Some(100),
            ..NOTHING
        },
    },
    Scenario {
        name: "all is shut down in its startup",
        child: CHILD,
        asked: Some((ms(10), Asker::Shutdown)),
        told: Told { stopped_ms: Some(30), ..NOTHING },
    },
    Scenario {
        name: "all is shut down in its run",
        child: CHILD,
        asked: Some((ms(40), Asker::Shutdown)),
        told: Told { stopped_ms: Some(60), ..NOTHING },
    },
    Scenario {
        name: "all is shut down in its disposal",
        child: CHILD,
        asked: Some((ms(90), Asker::Shutdown)),
        told: Told { stopped_ms: Some(100), ..NOTHING },
    },
];
