//! What the task of a command says of itself while it lives.
//!
//! A silent task is the one that a model takes for dead and starts again, so it says
//! that it lives and for how long. A task whose shell has exited says so, or it could
//! not be told from one that hangs.

use std::time::Duration;

use super::count;
use crate::process::Exit;

/// After the age of a silent task: why that is nothing to act on.
const BUFFERED: &str = "it may be buffering, do not start it again";

/// What is known of a live command.
pub(super) struct Live {
    /// How the shell ended, if it has.
    pub(super) shell: Option<Exit>,
    /// How many processes live in the session, if that could be seen.
    pub(super) alive: Option<usize>,
    /// Since when not a byte of output has come, if none has.
    pub(super) silent_for: Option<Duration>,
    /// Whether its end was asked for.
    pub(super) stopping: bool,
    /// How many processes have not yielded to SIGKILL.
    pub(super) resisting: usize,
}

impl Live {
    /// In words; nothing where the status alone says it all.
    pub(super) fn detail(&self) -> Option<String> {
        let mut parts = Vec::new();
        let mut is_over = false;
        if let Some(exit) = self.shell {
            parts.push(shell_ended(exit));
            is_over = self.alive == Some(0);
            parts.extend(self.alive.filter(|_| self.resisting == 0).map(still_running));
        }
        if self.resisting > 0 {
            parts.push(could_not_be_ended(self.resisting));
        }
        if let Some(age) = self.silent_for.filter(|_| !self.stopping && !is_over) {
            parts.push(format!("no output yet, {} s; {BUFFERED}", age.as_secs()));
        }
        (!parts.is_empty()).then(|| parts.join(", "))
    }
}

/// What there is to say of processes that have not yielded.
pub(crate) fn could_not_be_ended(resisting: usize) -> String {
    format!("{} could not be ended, not by SIGKILL either", count(resisting))
}

fn shell_ended(exit: Exit) -> String {
    match exit {
        Exit::Code(code) => format!("shell exited with code {code}"),
        Exit::Signal(signal) => format!("shell ended by signal {signal}"),
        Exit::Unavailable => "shell ended, exit status unavailable".to_owned(),
    }
}

fn still_running(alive: usize) -> String {
    match alive {
        // Only its output is still waited for.
        0 => "no known process is left".to_owned(),
        alive => format!("{} still running", count(alive)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::SignalNumber;

    const SILENT: &str = "no output yet, 12 s; it may be buffering, do not start it again";

    fn calm(shell: Option<Exit>, alive: Option<usize>) -> Live {
        Live { shell, alive, silent_for: None, stopping: false, resisting: 0 }
    }

    fn silent(shell: Option<Exit>, alive: Option<usize>) -> Live {
        Live { silent_for: Some(Duration::from_millis(12_900)), ..calm(shell, alive) }
    }

    fn stopping(live: Live) -> Live {
        Live { stopping: true, ..live }
    }

    fn check(live: Live, expected: Option<&str>) {
        assert_eq!(live.detail().as_deref(), expected);
    }

    // contract: M13
    #[test]
    fn a_silent_command_says_so_until_its_end_is_asked_for() {
        check(calm(None, None), None);
        check(silent(None, None), Some(SILENT));
        check(stopping(silent(None, None)), None);
    }

    // contract: B6, M13, L10
    #[test]
    fn a_command_whose_shell_has_exited_says_what_is_known_to_be_left() {
        let (ok, lost) = (Some(Exit::Code(0)), Some(Exit::Unavailable));
        let killed = Some(Exit::Signal(SignalNumber(9)));
        let one = "shell exited with code 0, 1 process still running";
        check(calm(ok, Some(1)), Some(one));
        check(stopping(silent(ok, Some(1))), Some(one));
        check(silent(ok, Some(1)), Some(&format!("{one}, {SILENT}")));
        let none = "shell exited with code 0, no known process is left";
        check(silent(ok, Some(0)), Some(none));
        check(calm(ok, None), Some("shell exited with code 0"));
        let two = "shell ended by signal SIGKILL, 2 processes still running";
        check(calm(killed, Some(2)), Some(two));
        check(calm(lost, None), Some("shell ended, exit status unavailable"));
    }

    // contract: B5, L10
    #[test]
    fn what_does_not_yield_to_sigkill_is_told() {
        let resisting = |live| Live { resisting: 1, ..stopping(live) };
        let one = "1 process could not be ended, not by SIGKILL either";
        check(resisting(silent(None, None)), Some(one));
        let ok = Some(Exit::Code(0));
        check(resisting(calm(ok, Some(1))), Some(&format!("shell exited with code 0, {one}")));
    }
}
