//! The registry: one door in, commands out.
//!
//! This file has the one `match` on events and no logic of its own. Each leaf has
//! one concern and the tables that go with it:
//!
//! | leaf | its concern |
//! |---|---|
//! | `scopes` | the tree of scopes: who serves whom, in which order |
//! | `owners` | live owners, their disposal, the shutdown |
//! | `tasks` | the records, who can reach them, what is seen of them |
//! | `start` | reserve → commit or release |
//! | `settle` | the one way in which a task ends |
//! | `stop` | kill → answer; the cancels of a disposal |
//! | `read` | begin → end |
//! | `waiters` | wait → woken → taken, aborted or dropped |
//! | `notices` | who is told of an end, and that it is exactly one |
//! | `deadlines` | what is due when |
//! | `check` | every invariant, in one place |

pub(crate) mod arena;
#[cfg(any(test, feature = "check"))]
mod check;
mod deadlines;
mod notices;
mod owners;
mod read;
mod scopes;
mod settle;
mod start;
mod stop;
mod tasks;
#[cfg(test)]
mod tests;
mod waiters;

use alloc::vec::Vec;

pub use deadlines::Due;

use crate::{Command, Config, Event, Instant, InvalidConfig, Now, Refusal, Reply};

/// The state machine of a background-task service.
///
/// It has four kinds of method:
///
/// - [`handle`](Self::handle), for everything that changes it;
/// - [`next_deadline`](Self::next_deadline), for the one timer that it needs;
/// - queries ([`get`](Self::get), [`list`](Self::list), …), which change nothing;
/// - [`check`](Self::check), behind the feature of that name, for tests.
#[derive(Clone, Debug)]
pub struct Registry {
    config: Config,
    now: Now,
    service: owners::Service,
    scopes: scopes::Scopes,
    owners: owners::Owners,
    tasks: tasks::Tasks,
    reservations: start::Reservations,
    waiters: waiters::Waiters,
    kills: stop::Kills,
    reads: read::Reads,
    deadlines: deadlines::Deadlines,
}

impl Registry {
    /// An empty registry.
    ///
    /// # Errors
    ///
    /// [`InvalidConfig`] if a limit is one that nothing can work within.
    pub fn new(config: Config) -> Result<Self, InvalidConfig> {
        config.check()?;
        Ok(Self {
            config,
            now: Now::default(),
            service: owners::Service::default(),
            scopes: scopes::Scopes::new(),
            owners: owners::Owners::new(),
            tasks: tasks::Tasks::default(),
            reservations: start::Reservations::new(),
            waiters: waiters::Waiters::new(),
            kills: stop::Kills::new(),
            reads: read::Reads::new(),
            deadlines: deadlines::Deadlines::default(),
        })
    }

    /// The limits it was made with.
    #[must_use]
    pub const fn config(&self) -> &Config {
        &self.config
    }

    /// Takes in an event, at the time that it happened, and appends what is to be
    /// done to `out`.
    ///
    /// Deadlines before `now` take effect first, each at its own instant; then the
    /// event; then the deadlines of this very instant, so that a fact beats a
    /// deadline that is due with it. A `now` that went backwards counts as the
    /// latest one seen.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] says why a request was turned down; the registry and `out` are
    /// then as [`Event::Tick`] would have left them. Facts are never refused.
    pub fn handle(
        &mut self,
        now: Now,
        event: Event,
        out: &mut Vec<Command>,
    ) -> Result<Reply, Refusal> {
        let now = Now::new(now.at.max(self.now.at), now.wall_ms);
        let earlier = now.at.0.saturating_sub(u64::from(!canary!(DeadlineBeatsFact)));
        self.fire_deadlines(now, Instant(earlier), out);
        self.now = now;
        let answer = self.dispatch(event, out);
        self.fire_deadlines(now, now.at, out);
        answer
    }

    fn dispatch(&mut self, event: Event, out: &mut Vec<Command>) -> Result<Reply, Refusal> {
        match event {
            Event::Tick => Ok(Reply::Done),

            Event::OpenScope { parent } => self.open_scope(parent),
            Event::CloseScope { scope } => self.close_scope(scope),
            Event::AttachController { scope, notices } => {
                self.attach_controller(scope, notices, out)
            }
            Event::ControllerDetached { controller } => self.controller_detached(controller),
            Event::AddListener { scope } => self.add_listener(scope),
            Event::ListenerRemoved { listener } => self.listener_removed(listener),
            Event::AddObserver { scope } => self.add_observer(scope),
            Event::ObserverRemoved { observer } => self.observer_removed(observer),

            Event::OpenOwner { session, scope, busy } => self.open_owner(session, scope, busy),
            Event::BusyChanged { owner, busy } => self.busy_changed(owner, busy),
            Event::Claim { owner, source, or_idle } => self.claim(owner, source, or_idle),
            Event::DisposeOwner { owner } => self.dispose_owner(owner, out),
            Event::OwnerDropped { owner } => self.owner_dropped(owner, out),

            Event::Reserve(request) => self.reserve(request),
            Event::Commit { reservation, output } => self.commit(reservation, output, out),
            Event::Release { reservation } => self.release(reservation, out),
            Event::Settled { task, outcome } => self.settled(task, outcome, out),
            Event::Broke { task, error } => self.broke(task, error, out),
            Event::CancelAnswered { task, error } => self.cancel_answered(task, error, out),

            Event::Read { id, caller } => self.begin_read(id, caller),
            Event::ReadEnded { read, delivered } => self.read_ended(read, delivered, out),
            Event::Kill { id, caller, reason } => self.begin_kill(id, caller, reason, out),
            Event::KillAnswered { kill, accepted } => self.kill_answered(kill, accepted, out),
            Event::Wait { id, caller, timeout } => self.begin_wait(id, caller, timeout, out),
            Event::TakeWait { waiter } => self.take_wait(waiter, out),
            Event::AbortWait { waiter } => self.abort_wait(waiter, out),
            Event::WaitDropped { waiter } => self.wait_dropped(waiter, out),

            Event::Shutdown => self.shutdown(out),
        }
    }

    /// The next moment at which something is due, and what it is. Always later
    /// than the latest event. Send [`Event::Tick`] then; earlier does no harm.
    #[must_use]
    pub fn next_deadline(&self) -> Option<(Instant, Due)> {
        self.deadlines.next()
    }
}
