//! The tree of scopes: who serves whom, in which order.
//!
//! A registration in a scope serves the owners below it; one at the root serves
//! everyone, and is the only kind that serves unowned tasks. Root registrations
//! come first, then the outermost scope down to the innermost, within one scope in
//! the order of registration.

use alloc::vec::Vec;

use smallvec::SmallVec;

use super::{Registry, arena::Arena};
use crate::{
    Command, ControllerKey, Gone, ListenerKey, NoticePolicy, ObserverKey, Refusal, Reply, ScopeKey,
};

/// The scopes above an owner, innermost first; the root is not among them.
pub(super) type Chain = SmallVec<[ScopeKey; 4]>;

/// What is registered in one scope, in the order of registration.
#[derive(Clone, Debug, Default)]
struct Registrations {
    controllers: Vec<(ControllerKey, Option<NoticePolicy>)>,
    listeners: Vec<ListenerKey>,
    observers: Vec<ObserverKey>,
}

#[derive(Clone, Debug)]
struct Scope {
    parent: Option<ScopeKey>,
    /// A closed scope has no registrations, and is kept while anything is below it.
    open: bool,
    /// Scopes and owners directly below.
    below: usize,
    registrations: Registrations,
}

#[derive(Clone, Debug)]
pub(super) struct Scopes {
    root: Registrations,
    scopes: Arena<ScopeKey, Scope>,
    controllers: Arena<ControllerKey, Option<ScopeKey>>,
    listeners: Arena<ListenerKey, Option<ScopeKey>>,
    observers: Arena<ObserverKey, Option<ScopeKey>>,
}

impl Scopes {
    pub(super) fn new() -> Self {
        Self {
            root: Registrations::default(),
            scopes: Arena::new(),
            controllers: Arena::new(),
            listeners: Arena::new(),
            observers: Arena::new(),
        }
    }

    /// Whether registrations and owners can still go into a scope.
    pub(super) fn require_open(&self, scope: Option<ScopeKey>) -> Result<(), Gone> {
        match scope.map(|scope| self.scopes.get(scope)) {
            None | Some(Some(Scope { open: true, .. })) => Ok(()),
            Some(Some(Scope { open: false, .. }) | None) => Err(Gone::Scope),
        }
    }

    /// Something is directly below that scope now.
    pub(super) fn hold(&mut self, scope: Option<ScopeKey>) {
        if let Some(scope) = scope.and_then(|scope| self.scopes.get_mut(scope)) {
            scope.below += 1;
        }
    }

    /// Something is no longer below that scope: forget it if it was the last.
    pub(super) fn let_go(&mut self, scope: Option<ScopeKey>) {
        let mut next = scope;
        while let Some(key) = next {
            let Some(scope) = self.scopes.get_mut(key) else { return };
            scope.below -= 1;
            next = None;
            if !scope.open && scope.below == 0 {
                next = scope.parent;
                self.scopes.remove(key);
            }
        }
    }

    fn registrations(&mut self, scope: Option<ScopeKey>) -> Option<&mut Registrations> {
        match scope {
            None => Some(&mut self.root),
            Some(key) => self.scopes.get_mut(key).map(|scope| &mut scope.registrations),
        }
    }

    fn chain(&self, scope: Option<ScopeKey>) -> Chain {
        let mut chain = Chain::new();
        let mut next = scope;
        while let Some((key, found)) = next.and_then(|key| Some((key, self.scopes.get(key)?))) {
            chain.push(key);
            next = found.parent;
        }
        chain
    }

    /// What serves an owner in that scope, root first.
    fn serving(&self, scope: Option<ScopeKey>) -> impl DoubleEndedIterator<Item = &Registrations> {
        let chain = self.chain(scope);
        core::iter::once(&self.root).chain(
            chain
                .into_iter()
                .rev()
                .filter_map(|key| self.scopes.get(key))
                .map(|scope| &scope.registrations),
        )
    }

    /// Whether a controller serves owners in that scope.
    pub(super) fn has_controller(&self, scope: Option<ScopeKey>) -> bool {
        self.serving(scope).any(|registrations| !registrations.controllers.is_empty())
    }

    /// How owners in that scope are told of ended tasks: as the innermost controls do.
    pub(super) fn notice_policy(&self, scope: Option<ScopeKey>) -> Option<NoticePolicy> {
        self.serving(scope)
            .rev()
            .find_map(|registrations| registrations.controllers.iter().find_map(|(_, p)| *p))
    }

    pub(super) fn listeners(&self, scope: Option<ScopeKey>) -> impl Iterator<Item = ListenerKey> {
        self.serving(scope).flat_map(|registrations| registrations.listeners.iter().copied())
    }

    pub(super) fn observers(&self, scope: Option<ScopeKey>) -> impl Iterator<Item = ObserverKey> {
        self.serving(scope).flat_map(|registrations| registrations.observers.iter().copied())
    }

    fn close(&mut self, key: ScopeKey) {
        let Some(scope) = self.scopes.get_mut(key) else { return };
        scope.open = false;
        let ended = core::mem::take(&mut scope.registrations);
        for (controller, _) in ended.controllers {
            self.controllers.remove(controller);
        }
        for listener in ended.listeners {
            self.listeners.remove(listener);
        }
        for observer in ended.observers {
            self.observers.remove(observer);
        }
    }

    fn with_all_below(&self, key: ScopeKey) -> Vec<ScopeKey> {
        let is_below = |scope: ScopeKey| self.chain(Some(scope)).contains(&key);
        self.scopes.iter().map(|(scope, _)| scope).filter(|&scope| is_below(scope)).collect()
    }
}

impl Registry {
    /// Whether a completion listener is still registered: neither it nor its scope is
    /// gone. To be asked just before it is called.
    #[must_use]
    pub fn has_listener(&self, listener: ListenerKey) -> bool {
        self.scopes.listeners.get(listener).is_some()
    }

    /// Whether a change observer is still registered, likewise.
    #[must_use]
    pub fn has_observer(&self, observer: ObserverKey) -> bool {
        self.scopes.observers.get(observer).is_some()
    }

    pub(super) fn open_scope(&mut self, parent: Option<ScopeKey>) -> Result<Reply, Refusal> {
        self.scopes.require_open(parent)?;
        self.scopes.hold(parent);
        let registrations = Registrations::default();
        let scope = Scope { parent, open: true, below: 0, registrations };
        Ok(Reply::Scope(self.scopes.scopes.insert(scope)))
    }

    pub(super) fn close_scope(&mut self, scope: ScopeKey) -> Result<Reply, Refusal> {
        self.scopes.require_open(Some(scope))?;
        let closing = self.scopes.with_all_below(scope);
        for &key in &closing {
            self.scopes.close(key);
        }
        for &key in &closing {
            // Holding it for a moment lets go of it, and of those above, if it is empty.
            self.scopes.hold(Some(key));
            self.scopes.let_go(Some(key));
        }
        Ok(Reply::Done)
    }

    pub(super) fn attach_controller(
        &mut self,
        scope: Option<ScopeKey>,
        notices: Option<NoticePolicy>,
        out: &mut Vec<Command>,
    ) -> Result<Reply, Refusal> {
        self.scopes.require_open(scope)?;
        let controller = self.scopes.controllers.insert(scope);
        if let Some(registrations) = self.scopes.registrations(scope) {
            registrations.controllers.push((controller, notices));
        }
        if notices.is_some() {
            self.nudge_the_waiting(out);
        }
        Ok(Reply::Controller(controller))
    }

    pub(super) fn controller_detached(&mut self, key: ControllerKey) -> Result<Reply, Refusal> {
        if let Some(scope) = self.scopes.controllers.remove(key)
            && let Some(registrations) = self.scopes.registrations(scope)
        {
            registrations.controllers.retain(|(controller, _)| *controller != key);
        }
        Ok(Reply::Done)
    }

    pub(super) fn add_listener(&mut self, scope: Option<ScopeKey>) -> Result<Reply, Refusal> {
        self.scopes.require_open(scope)?;
        let listener = self.scopes.listeners.insert(scope);
        if let Some(registrations) = self.scopes.registrations(scope) {
            registrations.listeners.push(listener);
        }
        Ok(Reply::Listener(listener))
    }

    pub(super) fn listener_removed(&mut self, key: ListenerKey) -> Result<Reply, Refusal> {
        if let Some(scope) = self.scopes.listeners.remove(key)
            && let Some(registrations) = self.scopes.registrations(scope)
        {
            registrations.listeners.retain(|listener| *listener != key);
        }
        Ok(Reply::Done)
    }

    pub(super) fn add_observer(&mut self, scope: Option<ScopeKey>) -> Result<Reply, Refusal> {
        self.scopes.require_open(scope)?;
        let observer = self.scopes.observers.insert(scope);
        if let Some(registrations) = self.scopes.registrations(scope) {
            registrations.observers.push(observer);
        }
        Ok(Reply::Observer(observer))
    }

    pub(super) fn observer_removed(&mut self, key: ObserverKey) -> Result<Reply, Refusal> {
        if let Some(scope) = self.scopes.observers.remove(key)
            && let Some(registrations) = self.scopes.registrations(scope)
        {
            registrations.observers.retain(|observer| *observer != key);
        }
        Ok(Reply::Done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Config, Event, Now, SessionId};

    // contract: C4
    #[test]
    fn a_closed_scope_is_forgotten_with_the_last_that_is_below() {
        let mut registry = Registry::new(Config::default()).unwrap();
        let send = |registry: &mut Registry, event| {
            registry.handle(Now::default(), event, &mut Vec::new()).unwrap()
        };
        let open = |parent| Event::OpenScope { parent };
        let Reply::Scope(outer) = send(&mut registry, open(None)) else { panic!() };
        let Reply::Scope(inner) = send(&mut registry, open(Some(outer))) else { panic!() };
        let scope = Some(inner);
        let owner = Event::OpenOwner { session: SessionId::new("s"), scope, busy: false };
        let Reply::Owner { owner, .. } = send(&mut registry, owner) else { panic!() };
        send(&mut registry, Event::CloseScope { scope: inner });
        assert_eq!(registry.scopes.scopes.len(), 2, "an owner is in it");
        send(&mut registry, Event::OwnerDropped { owner });
        assert_eq!(registry.scopes.scopes.len(), 1, "the outer one is open");
        send(&mut registry, Event::CloseScope { scope: outer });
        assert_eq!(registry.scopes.scopes.len(), 0);
    }
}
