//! How a process ended.

use std::fmt;

use rustix::process::{Signal, WaitIdStatus};

/// How the leader of a session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Exit {
    /// It exited by itself, with that code.
    Code(i32),
    /// A signal ended it, whoever sent it.
    Signal(SignalNumber),
    /// It ended, but somebody else took its exit status: the host ignores
    /// `SIGCHLD`, or reaps children that are not its own.
    Unavailable,
}

impl Exit {
    /// Reads what the kernel says of an ended child.
    pub(crate) fn of(status: &WaitIdStatus) -> Self {
        match (status.exit_status(), status.terminating_signal()) {
            (Some(code), _) => Self::Code(code),
            (None, Some(signal)) => Self::Signal(SignalNumber(signal)),
            (None, None) => Self::Unavailable,
        }
    }
}

/// For people and models: `exit code: 1`, `signal: SIGKILL`,
/// `exit status unavailable`.
impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exit code: {code}"),
            Self::Signal(signal) => write!(f, "signal: {signal}"),
            Self::Unavailable => f.write_str("exit status unavailable"),
        }
    }
}

/// The number of a signal; shown by its name, `SIGKILL`, if it has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SignalNumber(pub i32);

/// The numbers differ between architectures, so they are taken from the system.
const NAMES: [(Signal, &str); 30] = [
    (Signal::HUP, "SIGHUP"),
    (Signal::INT, "SIGINT"),
    (Signal::QUIT, "SIGQUIT"),
    (Signal::ILL, "SIGILL"),
    (Signal::TRAP, "SIGTRAP"),
    (Signal::ABORT, "SIGABRT"),
    (Signal::BUS, "SIGBUS"),
    (Signal::FPE, "SIGFPE"),
    (Signal::KILL, "SIGKILL"),
    (Signal::USR1, "SIGUSR1"),
    (Signal::SEGV, "SIGSEGV"),
    (Signal::USR2, "SIGUSR2"),
    (Signal::PIPE, "SIGPIPE"),
    (Signal::ALARM, "SIGALRM"),
    (Signal::TERM, "SIGTERM"),
    (Signal::CHILD, "SIGCHLD"),
    (Signal::CONT, "SIGCONT"),
    (Signal::STOP, "SIGSTOP"),
    (Signal::TSTP, "SIGTSTP"),
    (Signal::TTIN, "SIGTTIN"),
    (Signal::TTOU, "SIGTTOU"),
    (Signal::URG, "SIGURG"),
    (Signal::XCPU, "SIGXCPU"),
    (Signal::XFSZ, "SIGXFSZ"),
    (Signal::VTALARM, "SIGVTALRM"),
    (Signal::PROF, "SIGPROF"),
    (Signal::WINCH, "SIGWINCH"),
    (Signal::IO, "SIGIO"),
    (Signal::POWER, "SIGPWR"),
    (Signal::SYS, "SIGSYS"),
];

impl fmt::Display for SignalNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match NAMES.iter().find(|(signal, _)| signal.as_raw() == self.0) {
            Some((_, name)) => f.write_str(name),
            None => self.0.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // contract: B4
    #[test]
    fn exits_are_told_in_words() {
        assert_eq!(Exit::Code(3).to_string(), "exit code: 3");
        assert_eq!(Exit::Signal(SignalNumber(15)).to_string(), "signal: SIGTERM");
        assert_eq!(Exit::Signal(SignalNumber(40)).to_string(), "signal: 40");
        assert_eq!(Exit::Unavailable.to_string(), "exit status unavailable");
    }
}
