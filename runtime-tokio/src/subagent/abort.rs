//! Asking a child to stop.

use std::{future::Future, sync::Arc};

use tokio::sync::watch;

/// Asks one child to stop, from before it exists until after it has ended. Clones ask the
/// same child.
///
/// ```
/// use longrun_tokio::subagent::AbortHandle;
///
/// let abort = AbortHandle::new();
/// assert!(!abort.is_aborted());
/// abort.abort(Some("the result is not needed"));
/// abort.abort(None);
/// assert_eq!(abort.reason().as_deref(), Some("the result is not needed"));
/// ```
#[derive(Clone, Debug)]
pub struct AbortHandle(Arc<watch::Sender<Asked>>);

/// Whether a child was asked to stop, and why.
#[derive(Debug)]
enum Asked {
    Not,
    For(Option<Arc<str>>),
}

impl AbortHandle {
    /// Of a child that nobody has asked to stop.
    #[must_use]
    pub fn new() -> Self {
        Self(Arc::new(watch::Sender::new(Asked::Not)))
    }

    /// Asks. Returns at once, may be repeated and called from anywhere; the first reason
    /// counts.
    pub fn abort(&self, reason: Option<&str>) {
        self.0.send_if_modified(|asked| {
            let first = matches!(asked, Asked::Not);
            if first {
                *asked = Asked::For(reason.map(Into::into));
            }
            first
        });
    }

    /// Whether the child was asked to stop.
    #[must_use]
    pub fn is_aborted(&self) -> bool {
        matches!(*self.0.borrow(), Asked::For(_))
    }

    /// Why the child was asked to stop, if somebody said so.
    #[must_use]
    pub fn reason(&self) -> Option<Arc<str>> {
        match &*self.0.borrow() {
            Asked::Not => None,
            Asked::For(reason) => reason.clone(),
        }
    }

    /// Waits until the child is asked to stop; ready at once if it was.
    pub fn aborted(&self) -> impl Future<Output = ()> + Send + 'static {
        let (mut asked, sender) = (self.0.subscribe(), Arc::clone(&self.0));
        async move {
            // The sender is held here, so that it cannot have gone.
            let _ = asked.wait_for(|asked| matches!(asked, Asked::For(_))).await;
            drop(sender);
        }
    }
}

impl Default for AbortHandle {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    // contract: U1
    #[test]
    fn who_waits_is_told_once_somebody_asks_and_at_once_after_that() {
        let abort = AbortHandle::new();
        let mut waiting = Box::pin(abort.aborted());
        assert_eq!((&mut waiting).now_or_never(), None);
        assert_eq!((abort.is_aborted(), abort.reason()), (false, None));
        let other = abort.clone();
        other.abort(None);
        abort.abort(Some("later"));
        assert!(abort.is_aborted() && other.is_aborted());
        assert_eq!((waiting.now_or_never(), abort.reason()), (Some(()), None));
        assert_eq!(abort.aborted().now_or_never(), Some(()));
    }
}
