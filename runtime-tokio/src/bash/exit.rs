//! How a command ended, and what its task makes of it.

use longrun_core::Outcome;

use super::count;
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
    /// Whether not a byte of output came.
    pub silent: bool,
    /// How many processes are known to have left the session and to be alive still.
    pub left_session: usize,
}

impl From<Closed> for BashExit {
    fn from(closed: Closed) -> Self {
        Self {
            exit: closed.exit,
            killed: closed.terminated,
            drained: closed.drained,
            silent: closed.silent,
            left_session: closed.left.strays,
        }
    }
}

impl BashExit {
    /// The outcome of its task: `completed` if the shell exited by itself,
    /// `killed` if a signal ended it or somebody asked for its end, `failed` if
    /// its exit status is lost. The detail always says how the shell ended, and
    /// then what else a reader must know: that there was no output, and what is
    /// known to live on.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        let detail = self.detail();
        match (self.exit, self.killed) {
            (Exit::Code(_), false) => Outcome::completed().with_detail(&detail),
            (Exit::Code(_), true) | (Exit::Signal(_), _) => Outcome::killed().with_detail(&detail),
            (Exit::Unavailable, _) => Outcome::failed(&detail),
        }
    }

    fn detail(&self) -> String {
        let mut detail = self.exit.to_string();
        if self.silent {
            detail.push_str(", no output");
        }
        match (self.left_session, self.drained) {
            (0, true) => {}
            (0, false) => detail.push_str(", output was still held open by a process that left"),
            (left, _) => {
                let were = if left == 1 { "was" } else { "were" };
                let left = count(left);
                detail.push_str(&format!(", {left} left the session and {were} still running"));
            }
        }
        if !self.drained {
            let whose = if self.left_session > 1 { "their" } else { "its" };
            detail.push_str(&format!(", {whose} later output is not kept"));
        }
        detail
    }
}

#[cfg(test)]
mod tests {
    use longrun_core::End;

    use super::*;
    use crate::process::SignalNumber;

    fn exit(exit: Exit, killed: bool) -> BashExit {
        BashExit { exit, killed, drained: true, silent: false, left_session: 0 }
    }

    // contract: B4, L2
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
        for (how, killed, end, detail) in cases {
            let outcome = exit(how, killed).outcome();
            assert_eq!((outcome.end, outcome.detail.as_deref()), (end, Some(detail)));
            assert_eq!(outcome.output, None);
            let silent = BashExit { silent: true, ..exit(how, killed) }.outcome();
            assert_eq!(silent.detail, Some(format!("{detail}, no output").into()));
        }
    }

    // contract: B6, L10
    #[test]
    fn what_is_known_to_live_on_is_said() {
        let silent = BashExit { silent: true, ..exit(Exit::Code(0), false) };
        let cases = [
            (
                0,
                false,
                "exit code: 0, no output, output was still held open by a process that left, \
                 its later output is not kept",
            ),
            (1, true, "exit code: 0, no output, 1 process left the session and was still running"),
            (
                2,
                false,
                "exit code: 0, no output, 2 processes left the session and were still running, \
                 their later output is not kept",
            ),
        ];
        for (left_session, drained, detail) in cases {
            let outcome = BashExit { left_session, drained, ..silent }.outcome();
            assert_eq!(outcome.detail.as_deref(), Some(detail));
        }
    }
}
