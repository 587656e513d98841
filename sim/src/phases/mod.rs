//! Producers that start in two steps, as a subagent does: a startup, a run, a disposal.
//!
//! The registry knows nothing of these steps. What it sees is when the work ends and how,
//! and that depends on the step in which the work was asked to stop: [`Phased`] tells. The
//! world draws such producers among its others. [`SCENARIOS`] are scripted ones, for a real
//! adapter too: on a clock that it controls it has to come to the same [`Told`] as
//! [`play`] does in the simulated world.

mod play;
mod scenarios;

use std::time::Duration;

use longrun_core::Outcome;

use crate::{source::Source, swarm::draw_span};

pub use self::{play::play, scenarios::SCENARIOS};

/// What a child says before its answer is complete.
pub const HALF: &str = "half";
/// Its answer.
pub const ANSWER: &str = "42";
/// Why it fails, if it is to.
pub const REASON: &str = "it broke";

/// The step in which a child fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// In none.
    Nowhere,
    /// It cannot be started.
    Startup,
    /// It gives up at the end of its run.
    Run,
    /// What it holds cannot be released.
    Disposal,
}

/// A child: how long its steps take, and whether one of them fails.
#[derive(Clone, Copy, Debug)]
pub struct Phased {
    /// Until it is there.
    pub startup: Duration,
    /// From then on until its answer.
    pub run: Duration,
    /// To release what it holds, also in a startup that is aborted.
    pub disposal: Duration,
    /// What fails.
    pub trouble: Trouble,
}

impl Phased {
    pub(crate) fn draw(source: &mut Source) -> Self {
        Self {
            startup: draw_span(source),
            run: draw_span(source),
            disposal: draw_span(source),
            trouble: source.pick(&[
                Trouble::Nowhere,
                Trouble::Nowhere,
                Trouble::Startup,
                Trouble::Run,
                Trouble::Disposal,
            ]),
        }
    }

    /// How long after its beginning it ends, and how, if it is asked to stop so long after
    /// its beginning, or never. Who asks when the answer is there, asks in vain.
    #[must_use]
    pub fn end(&self, asked: Option<Duration>) -> (Duration, Outcome) {
        let answered = self.startup + self.run;
        match asked {
            Some(asked) if asked < self.startup => {
                let outcome = Outcome::killed().with_detail("aborted during its startup");
                (asked + self.disposal, outcome.with_output(""))
            }
            _ if self.trouble == Trouble::Startup => {
                let outcome = Outcome::failed(&format!("could not be started: {REASON}"));
                (self.startup, outcome.with_output(""))
            }
            Some(asked) if asked < answered => {
                let outcome = Outcome::killed().with_detail("aborted").with_output(HALF);
                (asked + self.disposal, self.disposed(outcome))
            }
            _ if self.trouble == Trouble::Run => {
                (answered + self.disposal, Outcome::failed(REASON).with_output(HALF))
            }
            _ => {
                let outcome = Outcome::completed().with_output(ANSWER);
                (answered + self.disposal, self.disposed(outcome))
            }
        }
    }

    fn disposed(&self, outcome: Outcome) -> Outcome {
        if self.trouble != Trouble::Disposal {
            return outcome;
        }
        let before = outcome.detail.as_deref().unwrap_or("completed");
        let failed = Outcome::failed(&format!("{before}; its disposal failed: {REASON}"));
        Outcome { output: outcome.output, ..failed }
    }
}

/// Who asks a child to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asker {
    /// Somebody who kills its task.
    Kill,
    /// The disposal of its owner.
    Disposal,
    /// The shutdown of the service.
    Shutdown,
}

/// One child, and what becomes of it.
#[derive(Clone, Copy, Debug)]
pub struct Scenario {
    /// What it is about.
    pub name: &'static str,
    /// The child.
    pub child: Phased,
    /// Who asks it to stop, and how long after its beginning.
    pub asked: Option<(Duration, Asker)>,
    /// What is told of it.
    pub told: Told<'static>,
}

/// What is told of a child, by everything that tells. Times are in milliseconds after its
/// beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Told<'a> {
    /// The status that a listener is told, in words, and when; nothing once a shutdown has
    /// begun.
    pub status: Option<(&'a str, u64)>,
    /// The detail beside it.
    pub detail: Option<&'a str>,
    /// What a read gives afterwards; nothing where the record went with its owner.
    pub output: Option<&'a str>,
    /// How often the owner is nudged.
    pub nudges: usize,
    /// When the disposal or the shutdown had ended.
    pub stopped_ms: Option<u64>,
}

/// What came of playing a scenario.
#[derive(Clone, Debug, Default)]
pub struct Played {
    /// As in [`Told::status`].
    pub status: Option<(String, u64)>,
    /// As in [`Told::detail`].
    pub detail: Option<String>,
    /// As in [`Told::output`].
    pub output: Option<String>,
    /// As in [`Told::nudges`].
    pub nudges: usize,
    /// As in [`Told::stopped_ms`].
    pub stopped_ms: Option<u64>,
}

impl Played {
    /// To be compared.
    #[must_use]
    pub fn told(&self) -> Told<'_> {
        Told {
            status: self.status.as_ref().map(|(status, at)| (status.as_str(), *at)),
            detail: self.detail.as_deref(),
            output: self.output.as_deref(),
            nudges: self.nudges,
            stopped_ms: self.stopped_ms,
        }
    }
}
