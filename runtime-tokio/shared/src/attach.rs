//! What a tool keeps for an owner, until the owner's disposal has ended.

use std::{any::Any, sync::Arc};

use longrun_core::OwnerKey;

use crate::{OwnerScope, TaskService, state::State, sync::lock};

/// At most one value of each type.
#[derive(Default)]
pub(crate) struct Attachments(Vec<Arc<dyn Any + Send + Sync>>);

impl Attachments {
    fn find<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        self.0.iter().find_map(|value| Arc::clone(value).downcast().ok())
    }
}

impl State {
    /// Where the attachments of an owner are, or those of nobody; `None` once it is too
    /// late to attach anything.
    fn attachments(&mut self, owner: Option<OwnerKey>) -> Option<&mut Attachments> {
        match owner {
            Some(owner) => {
                let entry = self.owners.get_mut(&owner).filter(|entry| !entry.ended)?;
                Some(&mut entry.attachments)
            }
            None if self.registry.is_closed() => None,
            None => Some(&mut self.attachments),
        }
    }
}

impl TaskService {
    /// The value of that type that is kept for an owner (or for all callers without one),
    /// made by `make` if there is none yet. It is let go when the owner's disposal, or the
    /// shutdown, has ended, just before that is told. After that a value is made and kept
    /// by the caller alone.
    ///
    /// For tools that have something of their own for each agent: a budget, open files.
    /// `make` runs on this thread, outside every lock; of two calls at once both may make
    /// a value, and both get the same one.
    pub fn attachment<T: Any + Send + Sync>(
        &self,
        owner: Option<&OwnerScope>,
        make: impl FnOnce() -> T,
    ) -> Arc<T> {
        let owner = owner.map(OwnerScope::key);
        let found = lock(&self.inner.state).attachments(owner).and_then(|attached| attached.find());
        if let Some(found) = found {
            return found;
        }
        // Declared before the lock is taken: if it is not the one, it is dropped after it.
        let made = Arc::new(make());
        let mut state = lock(&self.inner.state);
        let Some(attached) = state.attachments(owner) else { return made };
        if let Some(found) = attached.find() {
            return found;
        }
        attached.0.push(made.clone());
        made
    }
}
