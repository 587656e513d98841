//! What is known of the end of a process.

use super::exit::Exit;

/// The end of a process and of everything in its session. Each field is a fact that
/// was seen, none a conclusion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Closed {
    /// How the leader ended.
    pub exit: Exit,
    /// Whether a request to end it was accepted before it was closed.
    pub terminated: bool,
    /// Whether the output was read to its end. If not, something outside the
    /// session still held a pipe.
    pub drained: bool,
    /// Whether not a byte of output came.
    pub silent: bool,
    /// Whether the leader's end was collected by us. If not, it had not ended within the
    /// time that the teardown of its runtime allows, or somebody else collected it.
    pub reaped: bool,
    /// Whether the session was seen empty. If not, the runtime was shut down while
    /// something in it did not yield to SIGKILL within two seconds, or nobody could look.
    pub empty: bool,
    /// Who was still known to live at the last look. What left the session does not hold
    /// the process open; it is ended when the handle is dropped.
    pub left: Left,
    /// The strongest signal that we sent.
    pub signals: Signals,
}

impl Closed {
    /// Of a process whose end nobody can tell.
    pub(crate) const UNKNOWN: Self = Self {
        exit: Exit::Unavailable,
        terminated: true,
        drained: false,
        silent: false,
        reaped: false,
        empty: false,
        left: Left { members: 0, strays: 0 },
        signals: Signals::Nothing,
    };
}

/// Known processes that live. One that left the session *and* cleared or overwrote its
/// environment may be among none of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Left {
    /// In the session, the leader included.
    pub members: usize,
    /// Descendants and carriers of the mark that left the session.
    pub strays: usize,
}

impl Left {
    /// All of them.
    pub(crate) const fn all(self) -> usize {
        self.members + self.strays
    }
}

/// The strongest signal that was sent to any process of a task, by us.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Signals {
    /// None: all ended by itself.
    #[default]
    Nothing,
    /// SIGTERM was enough.
    Term,
    /// SIGKILL, to at least one.
    Kill,
}
