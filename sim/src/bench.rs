//! The test bench: a registry, the model beside it, and what holds the one against
//! the other after every event.
//!
//! Everything that runs events goes through here: a campaign, a replay, a search, a
//! fuzzer. A trace alone decides whether it fails, whoever made it up.

use std::{
    hash::Hash,
    panic::{AssertUnwindSafe, catch_unwind},
};

use longrun_core::{
    Command, Config, Event, Instant, Now, Refusal, Registry, Reply, SessionId, TaskId,
};

use crate::{
    coverage::Coverage,
    difference::{
        answer_difference, command_difference, list_difference, no_fresh_key, text_difference,
    },
    fingerprint::Fingerprint,
    ledger::{Broken, Ledger},
    model::{Answer, Model},
    property::{Failure, Kind, Property},
};

/// How much is checked after every event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Depth {
    /// Everything, after every event.
    #[default]
    Full,
    /// The model and every invariant after every event; what is refused and what lists
    /// show now and then.
    Sampled,
}

/// A registry under test.
#[derive(Clone, Debug)]
pub struct Bench {
    registry: Registry,
    model: Model,
    ledger: Ledger,
    depth: Depth,
    steps: usize,
    expected: Vec<Command>,
    /// What the latest event was answered.
    pub(crate) answer: Answer,
    /// What it emitted.
    pub(crate) commands: Vec<Command>,
    /// Of every event so far, its answer and what it emitted; not kept by everybody.
    digest: Option<Fingerprint>,
    /// What was reached so far.
    pub(crate) coverage: Coverage,
}

impl Bench {
    /// An empty registry and an empty model.
    ///
    /// # Errors
    ///
    /// Says which limit of the configuration nothing can work within.
    pub fn new(config: Config, depth: Depth) -> Result<Self, longrun_core::InvalidConfig> {
        Ok(Self {
            registry: Registry::new(config)?,
            model: Model::new(config),
            ledger: Ledger::default(),
            depth,
            steps: 0,
            expected: Vec::new(),
            answer: Ok(Reply::Done),
            commands: Vec::new(),
            digest: Some(Fingerprint::default()),
            coverage: Coverage::default(),
        })
    }

    /// What happened so far.
    #[must_use]
    pub const fn model(&self) -> &Model {
        &self.model
    }

    /// Checks more or less from here on.
    pub(crate) const fn set_depth(&mut self, depth: Depth) {
        self.depth = depth;
    }

    /// Keeps no digest from here on.
    pub(crate) const fn forget_digest(&mut self) {
        self.digest = None;
    }

    /// A digest of all that was sent, answered and emitted so far, in this order; zero if
    /// none was kept.
    pub(crate) fn digest(&self) -> u128 {
        self.digest.as_ref().map_or(0, |digest| digest.value())
    }

    pub(crate) const fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// What the registry says is due next.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Instant> {
        self.registry.next_deadline().map(|(at, _)| at)
    }

    pub(crate) fn failure(&self, kind: Kind, (property, message): Broken) -> Failure {
        Failure { kind, property, message, step: self.steps }
    }

    /// Hands an event to the registry and to the model, and compares.
    ///
    /// # Errors
    ///
    /// What did not hold. The bench is of no use afterwards.
    pub fn feed(&mut self, now: Now, event: &Event) -> Result<(), Failure> {
        self.steps += 1;
        let before = Instant(now.at.0.max(self.model.now.at.0));
        let now_then = Now::new(before, now.wall_ms);
        self.expected.clear();
        self.coverage.before(&self.model, now, event);
        self.model.fire(now_then, Instant(before.0.saturating_sub(1)), &mut self.expected);
        let refusal = self.model.refusal(event);
        let compare_refused = refusal.is_some() && self.is_due(32);
        let untouched = compare_refused.then(|| self.registry.clone());

        self.run_registry(now, event.clone())?;
        if let Some(digest) = &mut self.digest {
            (now, event, &self.answer, &self.commands).hash(digest);
        }
        let verdict = self.compare(event, refusal, now_then);
        verdict.map_err(|broken| self.failure(Kind::Property, broken))?;
        self.check_invariants()?;
        if let Some(untouched) = untouched {
            let verdict = self.compare_untouched(untouched, now, event);
            verdict.map_err(|broken| self.failure(Kind::Property, broken))?;
        }
        self.coverage.after(&self.model, event, &self.answer, &self.commands);
        Ok(())
    }

    /// Whether a costly check is to be made at this step.
    const fn is_due(&self, every: usize) -> bool {
        match self.depth {
            Depth::Full => true,
            Depth::Sampled => self.steps.is_multiple_of(every),
        }
    }

    fn run_registry(&mut self, now: Now, event: Event) -> Result<(), Failure> {
        self.commands.clear();
        let (registry, commands) = (&mut self.registry, &mut self.commands);
        let outcome = catch_unwind(AssertUnwindSafe(|| registry.handle(now, event, commands)));
        match outcome {
            Ok(answer) => self.answer = answer,
            Err(panic) => {
                let broken = (Property::Invariants, panic_message(&*panic));
                return Err(self.failure(Kind::Panic, broken));
            }
        }
        Ok(())
    }

    /// Last, for what it has to say is about the inside: a difference that can be seen
    /// from outside is easier to understand.
    fn check_invariants(&self) -> Result<(), Failure> {
        let registry = &self.registry;
        catch_unwind(AssertUnwindSafe(|| registry.check())).map_err(|panic| {
            self.failure(Kind::Property, (Property::Invariants, panic_message(&*panic)))
        })
    }

    fn compare(&mut self, event: &Event, refusal: Option<Refusal>, now: Now) -> Result<(), Broken> {
        // The ledger first: what it has to say needs no model to be understood.
        self.ledger.observe(event, &self.answer, &self.commands)?;
        let expected = match refusal {
            Some(refusal) => Err(refusal),
            None => match self.model.apply(event, &self.answer, &mut self.expected) {
                Ok(reply) => Ok(reply),
                Err(_) => return Err(no_fresh_key(event, &self.answer)),
            },
        };
        self.model.fire(now, now.at, &mut self.expected);
        if expected != self.answer {
            return Err(answer_difference(event, &expected, &self.answer));
        }
        if self.expected != self.commands {
            return Err(command_difference(&self.expected, &self.commands));
        }
        self.compare_deadline()?;
        self.compare_queries(event)
    }

    // contract: W7, X1
    fn compare_deadline(&self) -> Result<(), Broken> {
        let (expected, actual) = (self.model.next_deadline(), self.registry.next_deadline());
        let now = self.model.now.at;
        if let Some((at, due)) = actual.filter(|&(at, _)| at <= now) {
            let what = format!("{due:?} is due at {at:?}, and it is {now:?} already");
            return Err((Property::Deadlines, what));
        }
        if expected != actual {
            let what = format!("expected the deadline {expected:?} and got {actual:?}");
            return Err((Property::Deadlines, what));
        }
        Ok(())
    }

    // contract: A3, R5, S8
    fn compare_queries(&self, event: &Event) -> Result<(), Broken> {
        if let Event::Read { id, caller } | Event::Kill { id, caller, .. } = event {
            self.compare_get(id, caller.as_ref())?;
        }
        if !self.is_due(16) {
            return Ok(());
        }
        self.compare_list(None)?;
        for (index, owner) in self.model.owners.iter().enumerate() {
            let latest = self.model.owners.iter().rposition(|o| o.session == owner.session);
            if latest == Some(index) {
                self.compare_list(Some(&owner.session))?;
            }
        }
        Ok(())
    }

    fn compare_get(&self, id: &TaskId, caller: Option<&SessionId>) -> Result<(), Broken> {
        let (expected, actual) = (self.model.visible(id, caller), self.registry.get(id, caller));
        if expected == actual.clone().ok() {
            return Ok(());
        }
        Err((Property::Queries, format!("get {id}: expected {expected:?}\n and got {actual:?}")))
    }

    fn compare_list(&self, caller: Option<&SessionId>) -> Result<(), Broken> {
        let (expected, actual) = (self.model.visible_to(caller), self.registry.list(caller));
        if expected != actual {
            let what = list_difference(&expected, &actual);
            return Err((Property::Queries, format!("list for {caller:?}: {what}")));
        }
        let limit = self.registry.config().max_active_per_owner;
        let live = |owner| {
            let live = actual.iter().filter(|snapshot| !snapshot.status.is_terminal());
            let keys = live.filter_map(|s| self.registry.key_of(&s.id, caller).ok());
            keys.filter(|&key| self.registry.owner_of(key) == owner).count()
        };
        let owners = self.model.owners.iter().map(|owner| Some(owner.key));
        match owners.chain([None]).find(|&owner| live(owner) > limit) {
            Some(owner) => Err((Property::Limits, format!("{owner:?} has {}", live(owner)))),
            None => Ok(()),
        }
    }

    /// A refused request has left what the passing of time would have left.
    // contract: S5
    fn compare_untouched(
        &self,
        mut untouched: Registry,
        now: Now,
        event: &Event,
    ) -> Result<(), Broken> {
        let mut commands = Vec::new();
        let ticked = untouched.handle(now, Event::Tick, &mut commands);
        // Cloned, so that both have no more room than they need: how much there is shows.
        let (untouched, registry) = (untouched.clone(), self.registry.clone());
        let same = shown_fingerprint(&untouched) == shown_fingerprint(&registry);
        if ticked.is_ok() && same && commands == self.commands {
            return Ok(());
        }
        let (expected, actual) = (format!("{untouched:?}"), format!("{registry:?}"));
        let (expected, actual) = text_difference(&expected, &actual);
        let what = format!("{event:?} was refused and left\n  {actual}\ninstead of\n  {expected}");
        Err((Property::Refusals, what))
    }

    /// What the registry still shows after its shutdown, if anything.
    // contract: T1, T2
    pub(crate) fn left_over(&self) -> Option<String> {
        let sessions = self.model.owners.iter().map(|owner| Some(&owner.session));
        let left = sessions.chain([None]).flat_map(|session| self.registry.list(session)).next();
        if let Some(snapshot) = left {
            return Some(format!("{snapshot:?} is still on record"));
        }
        if let Some((at, due)) = self.registry.next_deadline() {
            return Some(format!("{due:?} is still due at {at:?}"));
        }
        (!self.registry.is_closed()).then(|| "the service is not shut down".to_owned())
    }
}

/// A fingerprint of how a registry shows itself, without writing it down.
fn shown_fingerprint(registry: &Registry) -> Fingerprint {
    use std::fmt::Write;
    let mut fingerprint = Fingerprint::default();
    // Nothing that is written to it fails.
    let _ = write!(fingerprint, "{registry:?}");
    fingerprint
}

fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
    text.unwrap_or_else(|| "a panic without a message".to_owned())
}
