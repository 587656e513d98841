//! Watching a session until nobody lives in it, and ending it on request.
//!
//! The watch waits for facts (the leader's exit, the exit of a member, a request,
//! the end of a grace) and after each one looks at the session. Between two looks
//! after the leader's exit it holds the descriptor of one live member, the
//! *witness*: while that lives the session cannot be empty, so there is nothing
//! to look for. One thing no descriptor tells: that the witness has left for a
//! session of its own, as a daemon does. So it alone is asked now and then, which
//! costs the reading of one file.
//!
//! Strays, which left the session, are looked for when it is about to be called empty,
//! to be counted, and from a request on, to be ended with the rest. A request is fulfilled
//! when they are gone too, or have not yielded to SIGKILL for a while.

use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use rustix::process::Signal;
use tokio::time::{Sleep, sleep};

use super::census::census;
use super::custody::LAST_WAIT;
use super::exit::Exit;
use super::pidfd::Watched;
use super::session::{Family, Member};
use super::shared::{Shared, Want};
use super::told::Told;

/// How many looks in a row one fact may cause, while each finds members that are
/// new: a process that forks faster than that gets SIGKILL in the end.
const ROUNDS: u32 = 16;

/// After so many looks they are spaced, or a chain of short-lived processes
/// would keep a thread busy with looking.
const UNSPACED_LOOKS: u32 = 16;

/// The space.
const SPACE: Duration = Duration::from_millis(10);

/// How many looks in a row may have missed somebody before they are believed: others who
/// fork without pause must not keep a task from its end for longer than a second or two. That
/// one of its own runs ahead of so many looks, each a dozen times, is not to be expected.
const VAGUE_LOOKS: u32 = 64;

/// When to look again where the system had no descriptor left for a look.
const RETRY: Duration = Duration::from_millis(100);

/// When a new witness is asked whether it is still in the session; each time
/// after that twice as late, up to the second number.
const FIRST_QUESTION: Duration = Duration::from_millis(20);
const LAST_QUESTION: Duration = Duration::from_secs(1);

/// How long after it has closed its output a process may take to be gone.
const LAST_BREATH: Duration = Duration::from_secs(1);

/// How far the ending of the session has gone.
#[derive(Debug)]
enum Stage {
    /// Nobody asked for it.
    Calm,
    /// SIGTERM was sent; when the sleep ends, SIGKILL follows.
    Terminating(Pin<Box<Sleep>>),
    /// SIGKILL was sent. Until the sleep ends it is waited for without a word.
    Killing(Option<Pin<Box<Sleep>>>),
}

impl Stage {
    /// The request that it answers.
    const fn want(&self) -> Want {
        match self {
            Self::Calm => Want::Nothing,
            Self::Terminating(_) => Want::Terminate,
            Self::Killing(_) => Want::Kill,
        }
    }

    /// Whether the grace ended while the session was being looked at.
    fn is_overdue(&self) -> bool {
        match self {
            Self::Terminating(grace) => grace.is_elapsed(),
            Self::Calm | Self::Killing(_) => false,
        }
    }

    const fn signal(&self) -> Option<Signal> {
        match self {
            Self::Calm => None,
            Self::Terminating(_) => Some(Signal::TERM),
            Self::Killing(_) => Some(Signal::KILL),
        }
    }

    /// Whether to wait for strays: somebody asked for their end, and they may still obey.
    const fn awaits_strays(&self) -> bool {
        matches!(self, Self::Terminating(_) | Self::Killing(Some(_)))
    }
}

/// Something that gives reason to look at the session.
#[derive(Debug)]
enum Fact {
    LeaderExited(Exit),
    WitnessExited,
    WitnessDue,
    Wanted(Want),
    GraceOver,
    PatienceOver,
    SightReturns,
}

/// What a look at the session has shown.
#[derive(Debug)]
enum Sight {
    /// The leader has exited and nobody lives in the session.
    Empty,
    /// Everybody in it has been dealt with, and a fact will come.
    Settled,
    /// It changes faster than one can look.
    Restless,
}

/// A live member of the session.
#[derive(Debug)]
struct Witness {
    member: Member,
    pidfd: Watched,
    /// How long after the last fact it is asked whether it is still there.
    question: Duration,
}

#[derive(Debug)]
pub(crate) struct Watch<'a> {
    shared: &'a Shared,
    leader: Option<Watched>,
    grace: Duration,
    stage: Stage,
    exited: bool,
    witness: Option<Witness>,
    /// Who got the stage's signal.
    told: Told,
    looks: u32,
    /// How many of the last ones may have missed somebody.
    vague_looks: u32,
    /// The request after which all has ended.
    fulfilled: Want,
    /// The last look failed or came to no end, so another has to follow.
    blind: bool,
}

impl<'a> Watch<'a> {
    /// Watches the session whose leader has that descriptor, if it has one.
    pub(crate) fn new(shared: &'a Shared, leader: Option<Watched>, grace: Duration) -> Self {
        Self {
            shared,
            leader,
            grace,
            stage: Stage::Calm,
            exited: false,
            witness: None,
            told: Told::default(),
            looks: 0,
            vague_looks: 0,
            fulfilled: Want::Nothing,
            blind: false,
        }
    }

    /// Until two looks in a row have found nobody in the session, and after a request
    /// no stray either.
    pub(crate) async fn until_empty(&mut self) {
        loop {
            let seen = match self.sweep(false).await {
                Ok(Sight::Empty) => self.sweep(true).await,
                other => other,
            };
            match seen {
                Ok(Sight::Empty) => {
                    self.fulfilled = self.stage.want();
                    return;
                }
                Ok(Sight::Settled) => self.blind = false,
                Ok(Sight::Restless) => self.blind = true,
                Err(error) => {
                    tracing::warn!(%error, "the processes of a task could not be looked at");
                    self.blind = true;
                }
            }
            let fact = self.next_fact().await;
            self.take(fact);
        }
    }

    /// Until a request that came after the session was found empty has been fulfilled.
    /// Can be dropped and called again.
    pub(crate) async fn until_asked_and_empty(&mut self) {
        if self.stage.want() == self.fulfilled {
            let want = self.shared.next_want(self.fulfilled).await;
            self.advance(want);
        }
        self.until_empty().await;
    }

    /// Counts the strays again, some time after the session was found empty: whoever held
    /// the output open may be gone by now. If its end has `just` come, who is just going is
    /// waited for.
    pub(crate) async fn recount(&mut self, mut just: bool) {
        let mut breath = pin!(sleep(LAST_BREATH));
        for _ in 0..ROUNDS {
            if self.shared.custody.left().strays == 0 {
                return;
            }
            match self.eldest_stray().await {
                Ok(Some(stray)) if just => tokio::select! {
                    () = stray.over() => {}
                    () = &mut breath => just = false,
                },
                Ok(Some(_)) => return,
                // All whom the look has seen are gone by now.
                Ok(None) => {}
                Err(error) => {
                    tracing::warn!(%error, "the processes of a task could not be looked at");
                    return;
                }
            }
        }
    }

    /// The eldest of those who live outside the session now.
    async fn eldest_stray(&mut self) -> io::Result<Option<Watched>> {
        for stray in self.look(true).await?.strays {
            if let Some(pidfd) = stray.open()? {
                return Watched::new(Arc::new(pidfd)).map(Some);
            }
        }
        Ok(None)
    }

    /// The request after which all has ended.
    pub(crate) const fn fulfilled(&self) -> Want {
        self.fulfilled
    }

    async fn next_fact(&mut self) -> Fact {
        let handled = self.stage.want();
        let timer = async {
            match &mut self.stage {
                Stage::Terminating(grace) => {
                    grace.as_mut().await;
                    Fact::GraceOver
                }
                Stage::Killing(Some(patience)) => {
                    patience.as_mut().await;
                    Fact::PatienceOver
                }
                Stage::Calm | Stage::Killing(None) => std::future::pending().await,
            }
        };
        tokio::select! {
            exit = leader_exit(self.shared, self.leader.as_ref()), if !self.exited => {
                Fact::LeaderExited(exit)
            }
            fact = witness_fact(self.witness.as_ref()) => fact,
            want = self.shared.next_want(handled) => Fact::Wanted(want),
            fact = timer => fact,
            () = sleep(RETRY), if self.blind => Fact::SightReturns,
        }
    }

    fn take(&mut self, fact: Fact) {
        match fact {
            Fact::LeaderExited(exit) => {
                self.exited = true;
                self.leader = None;
                self.shared.exited(exit);
            }
            Fact::WitnessExited => self.witness = None,
            Fact::WitnessDue => self.question_witness(),
            Fact::Wanted(want) => self.advance(want),
            Fact::GraceOver => self.advance(Want::Kill),
            Fact::PatienceOver => {
                let session = self.shared.custody.kin().session.as_raw_nonzero();
                let left = self.shared.custody.left();
                tracing::warn!(session, ?left, "processes of a task live in spite of SIGKILL");
                self.shared.resists();
                self.stage = Stage::Killing(None);
                // It may be a stray, which is not waited for any longer.
                self.witness = None;
            }
            Fact::SightReturns => {}
        }
    }

    /// A witness that has left is as good as gone. If it cannot be asked, the look
    /// that follows fails too, and is repeated.
    fn question_witness(&mut self) {
        self.witness =
            self.witness.take().filter(|witness| witness.member.is_there().unwrap_or(false));
        if let Some(witness) = &mut self.witness {
            witness.question = (witness.question * 2).min(LAST_QUESTION);
        }
    }

    fn advance(&mut self, want: Want) {
        match (&self.stage, want) {
            (Stage::Calm, Want::Terminate) => {
                self.stage = Stage::Terminating(Box::pin(sleep(self.grace)));
            }
            (Stage::Calm | Stage::Terminating(_), Want::Kill) => {
                self.stage = Stage::Killing(Some(Box::pin(sleep(LAST_WAIT))));
                self.told = Told::default();
            }
            (Stage::Terminating(_) | Stage::Killing(_), Want::Terminate)
            | (Stage::Killing(_), Want::Kill)
            | (_, Want::Nothing) => {}
        }
    }

    /// Looks at who lives, signals who has not been told yet, and finds a witness. A look
    /// that is the `last` counts the strays too.
    async fn sweep(&mut self, last: bool) -> io::Result<Sight> {
        let signal = self.stage.signal();
        if signal.is_none() && (!self.exited || self.witness.is_some()) {
            return Ok(Sight::Settled);
        }
        for _ in 0..ROUNDS {
            if self.stage.is_overdue() {
                break;
            }
            if signal == Some(Signal::KILL) {
                // No look is needed for that, and it may take long.
                self.shared.custody.signal_leaders_group(Signal::KILL);
            }
            let family = self.look(last || signal.is_some()).await?;
            let fresh = match signal {
                Some(signal) => self.shared.custody.signal(&family, &mut self.told, signal)?,
                None => 0,
            };
            let strays = family.strays.first().filter(|_| self.stage.awaits_strays());
            let Some(eldest) = family.members.first().or(strays) else {
                if !self.exited {
                    // Without its exit the leader is not over yet; that fact is near.
                    return Ok(Sight::Settled);
                }
                if self.has_missed_nobody(&family) {
                    return Ok(Sight::Empty);
                }
                continue;
            };
            if fresh == 0 && self.find_witness(*eldest)? {
                return Ok(Sight::Settled);
            }
        }
        Ok(Sight::Restless)
    }

    /// Whether to believe that look, which has found nobody.
    const fn has_missed_nobody(&mut self, family: &Family) -> bool {
        self.vague_looks = if family.whole { 0 } else { self.vague_looks.saturating_add(1) };
        self.vague_looks == 0 || self.vague_looks > VAGUE_LOOKS
    }

    async fn look(&mut self, at_marks: bool) -> io::Result<Family> {
        self.looks = self.looks.saturating_add(1);
        if self.looks > UNSPACED_LOOKS {
            sleep(SPACE).await;
        }
        let since = at_marks.then_some(self.shared.custody.kin().started);
        let census = census(since).await.map_err(|error| io::Error::new(error.kind(), error))?;
        Ok(self.shared.custody.find(&census))
    }

    /// Keeps hold of a member whose exit is worth a look. As long as the leader
    /// lives, that is the leader.
    fn find_witness(&mut self, member: Member) -> io::Result<bool> {
        if !self.exited || self.witness.is_some() {
            return Ok(true);
        }
        let Some(pidfd) = member.open()? else { return Ok(false) };
        let pidfd = Watched::new(Arc::new(pidfd))?;
        self.witness = Some(Witness { member, pidfd, question: FIRST_QUESTION });
        self.shared.outlived();
        Ok(true)
    }
}

async fn leader_exit(shared: &Shared, leader: Option<&Watched>) -> Exit {
    loop {
        if let Some(exit) = shared.custody.peek() {
            return exit;
        }
        match leader {
            Some(leader) => leader.over().await,
            None => std::future::pending().await,
        }
    }
}

async fn witness_fact(witness: Option<&Witness>) -> Fact {
    let Some(witness) = witness else { return std::future::pending().await };
    tokio::select! {
        () = witness.pidfd.over() => Fact::WitnessExited,
        () = sleep(witness.question) => Fact::WitnessDue,
    }
}
