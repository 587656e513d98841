//! Operating-system processes: started so that all they leave behind is found,
//! watched without polling, ended to the last one. Linux only.
//!
//! # The model
//!
//! A process leads its own *session*; whatever it starts is in that session too,
//! unless it takes the trouble to leave: then it is a *stray*. Two facts are told:
//!
//! - *exited*: the leader has ended, with a code or by a signal;
//! - *closed*: nobody lives in the session any more, and its output has been read
//!   to the end, or for as long as [`ProcessSpec::drain`] allows: a process that
//!   left the session may hold the pipes open for ever. What it writes later is kept by
//!   nobody, but it is read for as long as the handle lives, so that nobody dies of writing.
//!
//! The leader is reaped between the two, never earlier: until then the session's
//! number cannot be given to a stranger, and may be signalled. [`Closed`] says what
//! was seen at the end, and no more than that.
//!
//! # What we do to your process
//!
//! **Before it is executed** it gets
//!
//! - a new session, so it has no controlling terminal, and a signal from a terminal does
//!   not reach it;
//! - default signal handling: nothing blocked, nothing ignored, whatever the host does;
//! - no descriptors but 0, 1 and 2. Its standard input is empty, or the text that it was
//!   given; its outputs are pipes that are read until they close. Whoever converses with it
//!   ([`Process::converse`]) has its standard input and output as pipes of his own;
//! - the environment it was given, and `LONGRUN_TASK`, a mark by which it and its
//!   descendants are found. Whoever runs such a runtime inside a task sees the outer mark
//!   first, and its own after a colon. To hide from the end of its task on purpose, a
//!   program leaves the session *and* clears its environment.
//!
//! **When its end is asked for**, all of it gets SIGTERM: every member of the session, in
//! whatever process group, and every known stray. What is stopped is continued, so that it
//! can obey. What those start who were asked to end, they start to clean up: it gets no
//! SIGTERM. When the grace is over SIGKILL follows to whatever is left. The process is closed when its session is
//! empty, however long that takes; strays are waited for until two seconds after their
//! SIGKILL, and counted in [`Closed::left`] if they live on. Members that do not yield
//! (they hang in the kernel, or belong to another user) keep the process open: that is
//! logged, and counted by [`Process::left`].
//!
//! **When it ends by itself**, it is closed when its session is empty. Strays do not hold it
//! open, for a daemon may run for ever; they are counted in [`Closed::left`], and get a
//! SIGKILL when the [`Process`] is dropped.
//!
//! **When the handle is dropped** while it runs, or the runtime shut down, all of it gets a
//! SIGKILL at once. A shutdown waits for two seconds at most.
//!
//! **When the host dies**, of `kill -9` or an abort, the *guardian* does what a request would
//! have done: SIGTERM, the longest grace of all that ran, SIGKILL. Before, it opens the
//! output pipes again that the host was reading, by their numbers, through whoever has one
//! as its descriptor 1 or 2: what is written there is read, and dropped, so that a handler
//! of SIGTERM can write. What writes in the milliseconds before that dies of it (SIGPIPE).
//!
//! The guardian is a `/bin/sh` that starts with the first process and ends with the last, so
//! a shutdown leaves none of it. [`disable_guardian`] does without it. Where there is no
//! `/bin/sh`, or it has no `kill`, `sleep` and `grep`, processes outlive a killed host; where
//! there is no `readlink` or `cat`, what writes after the host's death dies of it.
//!
//! # What cannot be found
//!
//! A stray is known by the mark in its environment, or because its parent was known and
//! alive when somebody looked, which happens before any signal. So nobody finds a process
//! that left the session, has lost its parent, *and* cleared its environment, overwrote it
//! (as some servers do to show a title), or forbids the reading of it (as one that runs
//! as another user does). After the death of the host parents tell nothing, and only the
//! session and the mark count. Hence no text says more than that no known process is left.
//!
//! Nobody is signalled by a number alone. A descriptor of the process is opened, then its
//! pid, start time and session are compared with what was seen, then the descriptor is
//! signalled; the guardian, being a shell, compares and signals, which leaves a moment of
//! some microseconds. Our own session, the first process and the kernel are never signalled.
//!
//! # What it costs
//!
//! There is no polling. While the leader runs, nothing is looked at; after its exit there
//! is one look at `/proc` whenever a process that was held as a witness has ended, shared by
//! all that look in that moment. A look reads a file of every process, some 20 µs each.
//! The environment, half as much again, is read of those only that started after the
//! leader, and only in the last look before the end and from a request on: for a short
//! command that is nearly none. The reading of an environment can block while its process
//! hangs in the kernel, which is why it happens on a blocking thread. A guardian takes half
//! a millisecond to start and end, so a command that runs alone pays that; a command beside
//! another pays a microsecond or two. On your machine:
//! `cargo test -p longrun-tokio --lib process::tests::costs -- --nocapture`.
//!
//! # What we ask of the host
//!
//! A tokio runtime with I/O and time enabled, a mounted `/proc`, Linux 5.4. If
//! the host ignores `SIGCHLD` or reaps children that are not its own, exits are
//! [`Exit::Unavailable`], and all else holds. A host that forks without executing
//! another program keeps the guardian's socket open in the copy, so the guardian waits
//! for that too.
//!
//! A host that is the first process of a container, or a child subreaper, becomes the parent
//! of those that a task leaves without one, and has to reap them when they end. Nothing is done
//! about that unless it says so: [`reap_orphans`].

#[expect(unsafe_code, reason = "what runs between fork and exec is system calls")]
mod before_exec;
mod census;
mod closed;
mod conversation;
mod custody;
mod driver;
mod exit;
mod guardian;
mod marker;
mod orphans;
mod pidfd;
mod pipes;
mod random;
mod session;
mod shared;
mod signals;
mod spawn;
mod spill;
#[cfg(test)]
pub(crate) mod tests;
mod told;
mod watch;

use std::future::Future;
use std::io;
use std::sync::Arc;

use futures::stream;
use longrun_core::output::JointCursor;
use tokio::runtime::Handle;
use tokio::sync::watch::Receiver;

use self::custody::Custody;
use self::driver::{Driver, Guard};
use self::guardian::Charge;
use self::pidfd::Watched;
use self::pipes::Pipe;
use self::shared::{Facts, Shared, Want};
use self::signals::{Kernel, Signaller};
use self::spawn::{Input, Spawned};

pub use longrun_core::output::{
    Cursor, Delta, LogChunk, Piece, Section, Stream, StreamText, TextCursor,
};

pub use self::closed::{Closed, Left, Signals};
pub use self::conversation::Conversation;
pub use self::exit::{Exit, SignalNumber};
pub use self::guardian::disable_guardian;
pub use self::orphans::{OrphanReaper, inherits_orphans, reap_orphans};
pub use self::spawn::{ProcessSpec, Resource, SpawnError, check_directory, check_program};
#[cfg(feature = "cli")]
pub(crate) use self::spill::is_tellable;
pub use self::spill::{SpillBudget, SpillFiles, SpillPlan, SpillState, SpillStop, SpillStore};

/// A running process, or one that has ended.
///
/// Dropping it while it runs kills the session at once, and what left it. So does the
/// shutdown of the runtime that it was started in. Dropping it later kills what left the
/// session and still lives, and blocks until that is gone, two seconds at most.
#[derive(Debug)]
pub struct Process {
    shared: Arc<Shared>,
}

impl Process {
    /// Starts a process. When this returns, the program has been executed; the
    /// calling thread is blocked for the millisecond that this takes.
    ///
    /// # Errors
    ///
    /// [`SpawnError`] names what was wrong. Nothing was started then.
    ///
    /// # Panics
    ///
    /// If the current runtime has no I/O driver, as tokio itself does.
    pub fn spawn(spec: &ProcessSpec) -> Result<Self, SpawnError> {
        Ok(Self::spawn_with(spec, Input::Given, &Kernel)?.0)
    }

    /// Starts a process to talk with: its standard input and output are handed out as
    /// pipes, as they are. Its standard error is kept and read like any other's; of its
    /// output nothing is kept, and nothing has to be read for it to be closed. Of `spec` the
    /// `stdin` and, for the output, `memory_bytes` and `spill` are not used.
    ///
    /// # Errors
    ///
    /// As of [`spawn`](Self::spawn).
    ///
    /// # Panics
    ///
    /// As [`spawn`](Self::spawn).
    pub fn converse(spec: &ProcessSpec) -> Result<(Self, Conversation), SpawnError> {
        let (process, conversation) = Self::spawn_with(spec, Input::Piped, &Kernel)?;
        let unpiped = || spawn::failure(spec, io::Error::other("no input pipe was made"));
        Ok((process, conversation.ok_or_else(unpiped)?))
    }

    fn spawn_with(
        spec: &ProcessSpec,
        input: Input,
        signals: &'static dyn Signaller,
    ) -> Result<(Self, Option<Conversation>), SpawnError> {
        let runtime = Handle::try_current().map_err(|_| SpawnError::NoRuntime)?;
        let charge = Charge::take(&runtime, spec.grace);
        let spawned = spawn::spawn(spec, input)?;
        let charge = charge.of(&spawned.kin, spawned.pipe_numbers());
        let Spawned { kin, pidfd, kept, stdin, stdout, stderr } = spawned;
        let custody = Custody::new(kin, pidfd.map(Arc::new), kept, signals);
        let shared = Arc::new(Shared::new(custody, charge, spec));
        // From here on whatever fails ends the process again.
        let guard = Guard(Arc::clone(&shared));
        let fail = |source: io::Error| spawn::failure(spec, source);
        let leader = shared.custody.leader().map(Watched::new);
        let (stdout, conversation) = match stdin {
            Some(stdin) => (None, Some(Conversation::new(stdin, stdout).map_err(fail)?)),
            None => (Some(stdout), None),
        };
        let driver = Driver {
            guard,
            leader: leader.transpose().map_err(fail)?,
            stdout: Pipe::new(Stream::Stdout, stdout).map_err(fail)?,
            stderr: Pipe::new(Stream::Stderr, Some(stderr)).map_err(fail)?,
            grace: spec.grace,
            drain: spec.drain,
        };
        runtime.spawn(driver.run());
        Ok((Self { shared }, conversation))
    }

    /// The pid of the leader, which is the number of the session too.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.shared.custody.kin().session.as_raw_nonzero().get().unsigned_abs()
    }

    /// Asks for the end of everything in the session and of known strays: SIGTERM, and
    /// after the grace SIGKILL to what is left. Returns at once, can be repeated, and may be
    /// called from anywhere. Says whether the request came before the process was
    /// closed.
    pub fn terminate(&self) -> bool {
        self.shared.request(Want::Terminate)
    }

    /// How the leader ended, if it has.
    #[must_use]
    pub fn exited(&self) -> Option<Exit> {
        self.shared.facts.borrow().exited
    }

    /// Whether somebody was found in the session after the leader's exit. Whoever was
    /// may be gone by now.
    #[must_use]
    pub fn outlived(&self) -> bool {
        self.shared.facts.borrow().outlived
    }

    /// How all of it ended, if it has. After that, a read gets the last bytes.
    #[must_use]
    pub fn closed(&self) -> Option<Closed> {
        self.shared.facts.borrow().closed
    }

    /// Waits for the leader's exit. The future does not keep the process alive.
    pub fn wait_exited(&self) -> impl Future<Output = Exit> + Send + 'static {
        let facts = self.shared.facts.subscribe();
        async move { fact(facts, |facts| facts.exited).await.unwrap_or(Exit::Unavailable) }
    }

    /// Waits until the process is closed. Any number of callers may wait; the
    /// future does not keep the process alive.
    pub fn done(&self) -> impl Future<Output = Closed> + Send + 'static {
        let facts = self.shared.facts.subscribe();
        async move {
            // The driver tells the end even if it is dropped before it.
            fact(facts, |facts| facts.closed).await.unwrap_or(Closed::UNKNOWN)
        }
    }

    /// Waits until something is found alive two seconds after SIGKILL: it hangs in the
    /// kernel, or we may not signal it. The process stays open then until that ends too.
    /// Never ready if all obey. The future does not keep the process alive.
    pub(crate) fn resists(&self) -> impl Future<Output = ()> + Send + 'static {
        let facts = self.shared.facts.subscribe();
        async move {
            if fact(facts, |facts| facts.resists.then_some(())).await.is_none() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// How many were alive two seconds after SIGKILL and are, as far as is known, still.
    pub(crate) fn resisting(&self) -> usize {
        let resists = self.shared.facts.borrow().resists;
        if resists { self.left().all() } else { 0 }
    }

    /// How many processes live in the session at this moment, the leader
    /// included. Blocks for one look at `/proc`, some milliseconds.
    ///
    /// # Errors
    ///
    /// If `/proc` could not be read.
    pub fn live_members(&self) -> io::Result<usize> {
        self.shared.custody.count_members()
    }

    /// The same as of a moment at most 200 ms ago, for a status line: cheap however often
    /// and for however many processes it is asked, since all that ask share one look. Once
    /// [`exited`](Self::exited) tells the leader's end, no look from before that is used, so
    /// the leader is not counted. Blocks for a look if there is none so young.
    ///
    /// # Errors
    ///
    /// If `/proc` could not be read.
    pub fn live_members_lately(&self) -> io::Result<usize> {
        self.shared.custody.count_members_lately()
    }

    /// Who was known to live when the runtime last looked. It looks when the leader has
    /// exited, and from a request for the end on: members that remain then are those that
    /// have not yielded yet. Costs nothing.
    #[must_use]
    pub fn left(&self) -> Left {
        self.shared.custody.left()
    }

    /// Kills what is known to have outlived the closed process, and blocks until that is
    /// gone, two seconds at most.
    pub(crate) fn kill_left(&self) {
        if self.left() != Left::default() {
            self.shared.custody.kill_until_gone();
        }
    }

    /// The strongest signal that was sent so far.
    #[must_use]
    pub fn signals(&self) -> Signals {
        self.shared.custody.sent()
    }

    /// What both streams brought since the cursor's last read, as text fit for a model:
    /// in the order in which it was read from the pipes, without control characters, of
    /// a line redrawn in place the last frame. Where both streams had something at the
    /// same moment, standard output goes first.
    pub fn read(&self, cursor: &mut Cursor) -> Delta {
        cursor.read(&self.shared.output.lock())
    }

    /// Whether not a byte of output has come so far.
    #[must_use]
    pub fn is_silent(&self) -> bool {
        self.shared.is_silent()
    }

    /// What a stream brought since the cursor's last read, as text, but otherwise as it
    /// was written.
    pub fn read_text(&self, stream: Stream, cursor: &mut TextCursor) -> StreamText {
        cursor.read(self.shared.output.lock().log(stream))
    }

    /// The files that hold what memory does not. They outlive the handle for as long as
    /// this is kept.
    #[must_use]
    pub fn files(&self) -> SpillFiles {
        self.shared.spills.clone()
    }

    /// The bytes of a stream from an offset on, as far as they are kept.
    #[must_use]
    pub fn read_bytes(&self, stream: Stream, offset: u64) -> LogChunk {
        self.shared.output.lock().log(stream).read_from(offset)
    }

    /// What both streams bring, in the order in which it was read from the pipes, from an
    /// offset on over both, as text but otherwise as it was written. Ends when nothing more
    /// will come. It does not keep the process alive, and holds a place in the output, no
    /// copy of it: one who is slow is told what he missed.
    pub fn observe(
        &self,
        from: u64,
    ) -> impl futures::Stream<Item = Piece> + Send + use<> + 'static {
        let output = Arc::clone(&self.shared.output);
        stream::unfold((output, JointCursor::new(from)), async |(output, mut cursor)| {
            let piece = output.next_piece(&mut cursor).await?;
            Some((piece, (output, cursor)))
        })
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.shared.let_go();
        if self.shared.request(Want::Kill) {
            // At once, and without the driver: its runtime may not get to it.
            self.shared.custody.kill_now();
        } else {
            self.kill_left();
        }
    }
}

async fn fact<T: Copy>(
    mut facts: Receiver<Facts>,
    find: impl Fn(&Facts) -> Option<T>,
) -> Option<T> {
    let found = facts.wait_for(|facts| find(facts).is_some()).await.ok()?;
    find(&found)
}
