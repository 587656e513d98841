//! What the model remembers of each thing: what happened to it, in order.
//!
//! Nothing here is ever taken back or counted down. What a thing is like now is
//! found by looking through what happened to it.

use std::sync::Arc;

use longrun_core::{
    Instant, KillKey, NoticePolicy, NoticePreference, OutputMode, OwnerKey, ReadKey,
    ReservationKey, ScopeKey, SessionId, StartRequest, Status, Stop, StopCause, TaskId, TaskKey,
    TaskSnapshot, WaiterKey,
};

/// The place of a thing in the model's list of such things.
pub(crate) type Index = usize;

#[derive(Clone, Debug)]
pub(crate) struct Scope {
    pub(crate) key: ScopeKey,
    pub(crate) parent: Option<Index>,
    pub(crate) closed: bool,
}

/// A controller, a listener or an observer.
#[derive(Clone, Debug)]
pub(crate) struct Registration<K> {
    pub(crate) key: K,
    pub(crate) scope: Option<Index>,
    /// A controller's way of announcing ends, if it does.
    pub(crate) notices: Option<NoticePolicy>,
    pub(crate) gone: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Owner {
    pub(crate) key: OwnerKey,
    pub(crate) session: SessionId,
    pub(crate) scope: Option<Index>,
    pub(crate) log: Vec<OwnerFact>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum OwnerFact {
    /// A turn began, or ended.
    Busy(bool),
    ClaimedUserInput,
    Woken,
    DisposalBegan,
    Orphaned(TaskId),
    DisposalEnded,
    /// Nobody holds it any more.
    Dropped,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Life {
    Live,
    Disposing,
    Disposed,
    Gone,
}

impl Owner {
    fn had(&self, fact: &OwnerFact) -> bool {
        self.log.contains(fact)
    }

    pub(crate) fn life(&self) -> Life {
        match (self.had(&OwnerFact::DisposalBegan), self.had(&OwnerFact::DisposalEnded)) {
            (_, true) if self.had(&OwnerFact::Dropped) => Life::Gone,
            (_, true) => Life::Disposed,
            (true, false) => Life::Disposing,
            (false, false) => Life::Live,
        }
    }

    pub(crate) fn is_gone(&self) -> bool {
        self.life() == Life::Gone
    }

    pub(crate) fn is_busy(&self) -> bool {
        let turns = self.log.iter().rev().filter_map(|fact| match fact {
            OwnerFact::Busy(busy) => Some(*busy),
            _ => None,
        });
        turns.take(1).any(|busy| busy)
    }

    /// How often it was woken since it last claimed user input.
    pub(crate) fn wakes(&self) -> u32 {
        let recent = self.log.iter().rev().take_while(|f| **f != OwnerFact::ClaimedUserInput);
        recent.map(|fact| u32::from(*fact == OwnerFact::Woken)).sum()
    }

    pub(crate) fn orphans(&self) -> Vec<TaskId> {
        let orphans = self.log.iter().filter_map(|fact| match fact {
            OwnerFact::Orphaned(id) => Some(id.clone()),
            _ => None,
        });
        orphans.collect()
    }
}

/// A start that was admitted.
#[derive(Clone, Debug)]
pub(crate) struct Start {
    pub(crate) key: ReservationKey,
    pub(crate) request: StartRequest,
    pub(crate) owner: Option<Index>,
    pub(crate) over: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Task {
    pub(crate) key: TaskKey,
    pub(crate) id: TaskId,
    pub(crate) kind: Arc<str>,
    pub(crate) label: Arc<str>,
    pub(crate) output_limit_bytes: Option<u64>,
    pub(crate) owner: Option<Index>,
    pub(crate) session: Option<SessionId>,
    pub(crate) mode: OutputMode,
    pub(crate) preference: NoticePreference,
    pub(crate) started_at_ms: u64,
    pub(crate) log: Vec<TaskFact>,
}

#[derive(Clone, Debug)]
pub(crate) enum TaskFact {
    /// A disposal asked the producer to stop.
    CancelSent {
        serial: u64,
        cause: StopCause,
        due: Option<Instant>,
    },
    CancelAnswered,
    StopAccepted(Stop),
    /// A read, a wait, a kill or a disposal told its end, or is to.
    Told,
    Ended(Ended),
    NoticePending {
        serial: u64,
    },
    NoticeAnnounced,
    NoticeGone,
    NoticeClaimed,
    Forgotten,
}

#[derive(Clone, Debug)]
pub(crate) struct Ended {
    pub(crate) status: Status,
    pub(crate) detail: Option<Arc<str>>,
    pub(crate) output: Option<Arc<str>>,
    pub(crate) finished_at_ms: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Notice {
    None,
    Pending,
    Announced,
    Claimed,
}

impl Task {
    pub(crate) fn end(&self) -> Option<&Ended> {
        self.log.iter().find_map(|fact| match fact {
            TaskFact::Ended(ended) => Some(ended),
            _ => None,
        })
    }

    pub(crate) fn is_live(&self) -> bool {
        self.end().is_none()
    }

    pub(crate) fn stop(&self) -> Option<&Stop> {
        self.log.iter().find_map(|fact| match fact {
            TaskFact::StopAccepted(stop) => Some(stop),
            _ => None,
        })
    }

    pub(crate) fn status(&self) -> Status {
        match self.end() {
            Some(ended) => ended.status,
            None if self.stop().is_some() => Status::Stopping,
            None => Status::Running,
        }
    }

    pub(crate) fn is_told(&self) -> bool {
        self.log.iter().any(|fact| matches!(fact, TaskFact::Told))
    }

    pub(crate) fn is_on_record(&self) -> bool {
        !self.log.iter().any(|fact| matches!(fact, TaskFact::Forgotten))
    }

    /// The causes of the cancels that were sent and not answered, oldest first.
    pub(crate) fn unanswered(&self) -> impl Iterator<Item = StopCause> {
        let answers = self.log.iter().filter(|fact| matches!(fact, TaskFact::CancelAnswered));
        let sent = self.log.iter().filter_map(|fact| match fact {
            TaskFact::CancelSent { cause, .. } => Some(*cause),
            _ => None,
        });
        sent.skip(answers.count())
    }

    /// When a disposal gives up on it: counted from the first cancel.
    pub(crate) fn teardown_due(&self) -> Option<(Instant, u64)> {
        if !self.is_live() {
            return None;
        }
        self.log.iter().find_map(|fact| match fact {
            TaskFact::CancelSent { serial, due, .. } => due.map(|due| (due, *serial)),
            _ => None,
        })
    }

    pub(crate) fn notice(&self) -> Notice {
        let latest = self.log.iter().rev().find_map(|fact| match fact {
            TaskFact::NoticePending { .. } => Some(Notice::Pending),
            TaskFact::NoticeAnnounced => Some(Notice::Announced),
            TaskFact::NoticeGone | TaskFact::Forgotten => Some(Notice::None),
            TaskFact::NoticeClaimed => Some(Notice::Claimed),
            _ => None,
        });
        latest.unwrap_or(Notice::None)
    }

    /// Since when its notice has been pending, if it is.
    pub(crate) fn pending_since(&self) -> Option<u64> {
        let pending = matches!(self.notice(), Notice::Pending | Notice::Announced);
        let since = self.log.iter().rev().find_map(|fact| match fact {
            TaskFact::NoticePending { serial } => Some(*serial),
            _ => None,
        });
        since.filter(|_| pending)
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Wait {
    pub(crate) key: WaiterKey,
    pub(crate) task: Index,
    pub(crate) due: Instant,
    pub(crate) serial: u64,
    /// The terminal state, once it has been promised.
    pub(crate) promised: Option<TaskSnapshot>,
    pub(crate) timed_out: Option<TaskSnapshot>,
    pub(crate) over: bool,
}

impl Wait {
    pub(crate) fn is_waiting(&self) -> bool {
        !self.over && self.promised.is_none() && self.timed_out.is_none()
    }

    pub(crate) fn is_promised(&self) -> bool {
        !self.over && self.promised.is_some()
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Kill {
    pub(crate) key: KillKey,
    pub(crate) task: Index,
    pub(crate) reason: Option<Arc<str>>,
    pub(crate) promised: Option<TaskSnapshot>,
    pub(crate) over: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Read {
    pub(crate) key: ReadKey,
    pub(crate) task: Index,
    /// Whether the state it tells is terminal.
    pub(crate) terminal: bool,
    pub(crate) over: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ServiceFact {
    ShutdownBegan,
    Orphaned(TaskId),
    ShutdownEnded,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Stage {
    Open,
    Closing,
    Closed,
}
