//! Fakes for the tests of harness authors: a producer that does as it is told, an inbox
//! that remembers, a wall clock that is set by hand.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use std::{sync::Arc, time::Duration};
//! use longrun_tokio::{Builder, NoticePolicy, Outcome, TaskSpec};
//! use longrun_tokio::testing::{FakeInbox, FakeProducer, Nudge};
//!
//! let service = Builder::new().build()?;
//! let _controls = service.mount_controls(NoticePolicy::default())?;
//! let inbox = Arc::new(FakeInbox::new());
//! let owner = service.owner("session-1").inbox(inbox.clone()).open()?;
//!
//! let producer = FakeProducer::stream();
//! let id = owner.start(TaskSpec::new("bash", "make"), || producer.hooks())?;
//! producer.write("compiling\n");
//! assert_eq!(service.read(&id, &owner.caller())?.text, "compiling\n");
//!
//! producer.settle(Outcome::completed().with_detail("exit code: 0"));
//! inbox.until(|nudges| nudges == [Nudge::Inject(id.clone())]).await;
//! # service.shutdown().await?;
//! # Ok(())
//! # }
//! ```

mod clock;
mod inbox;
mod producer;

pub use clock::FakeClock;
pub use inbox::{FakeInbox, Nudge};
pub use producer::{FakeProducer, HooksTaken, OnCancel};
