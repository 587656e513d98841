//! The one timer of a service.

use std::sync::Arc;

use longrun_shared::WeakTaskService;
use tokio::{sync::Notify, time};

use crate::clock::Clocks;

/// Sleeps until the next deadline, over and over, for as long as the service lives.
/// `rearm` says that the next deadline is earlier than was thought, or that the service
/// is gone; its permit is kept, so that nothing is missed between two sleeps.
pub(crate) async fn run(service: WeakTaskService, clocks: Arc<Clocks>, rearm: Arc<Notify>) {
    while let Some(next) = service.tick() {
        match next {
            Some(at) => {
                let _ = time::timeout_at(clocks.when(at), rearm.notified()).await;
            }
            None => rearm.notified().await,
        }
    }
}
