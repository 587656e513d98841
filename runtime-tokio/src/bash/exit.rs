//! How a command ended, and what its task makes of it.

use longrun_core::Outcome;

use crate::process::{Closed, Exit};

/// How a background command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BashExit {
    /// How the shell ended.
    pub exit: Exit,
    /// Whether a kill was accepted before all had ended.
    pub killed: bool,
    /// Whether the output was read to its end. If not, a process that left the session
    /// still holds it open.
    pub drained: bool,
}

impl From<Closed> for BashExit {
    fn from(closed: Closed) -> Self {
        Self { exit: closed.exit, killed: closed.terminated, drained: closed.drained }
    }
}

impl BashExit {
    /// The outcome of its task: `completed` if the shell exited by itself,
    /// `killed` if a signal ended it or somebody asked for its end, `failed` if
    /// its exit status is lost. The detail always says how the shell ended.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        let detail = match self.drained {
            true => self.exit.to_string(),
            false => format!("{}, output still held open by a process that left", self.exit),
        };
        match (self.exit, self.killed) {
            (Exit::Code(_), false) => Outcome::completed().with_detail(&detail),
            (Exit::Code(_), true) | (Exit::Signal(_), _) => Outcome::killed().with_detail(&detail),
            (Exit::Unavailable, _) => Outcome::failed(&detail),
        }
    }
}

#[cfg(test)]
mod tests {
    use longrun_core::End;

    use super::*;
    use crate::process::SignalNumber;

    // contract: B4
    #[test]
    fn every_exit_has_its_outcome() {
        let cases = [
            (Exit::Code(0), false, End::Completed, "exit code: 0"),
            (Exit::Code(1), false, End::Completed, "exit code: 1"),
            (Exit::Code(0), true, End::Killed, "exit code: 0"),
            (Exit::Signal(SignalNumber(9)), true, End::Killed, "signal: SIGKILL"),
            (Exit::Signal(SignalNumber(15)), false, End::Killed, "signal: SIGTERM"),
            (Exit::Unavailable, false, End::Failed, "exit status unavailable"),
            (Exit::Unavailable, true, End::Failed, "exit status unavailable"),
        ];
        for (exit, killed, end, detail) in cases {
            let outcome = BashExit { exit, killed, drained: true }.outcome();
            assert_eq!((outcome.end, outcome.detail.as_deref()), (end, Some(detail)));
            assert_eq!(outcome.output, None);
        }
        let cut = BashExit { exit: Exit::Code(0), killed: false, drained: false }.outcome();
        assert!(cut.detail.unwrap().contains("held open"), "what may be missing is said");
    }
}
