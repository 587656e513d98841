//! Reading what was perhaps waited for, one task or several, each to be committed.

use std::{collections::BTreeMap, future::Future, pin::pin, sync::Arc, time::Duration};

use futures::future::{Either, select};
use longrun_core::{Caller, ReadRefusal, TaskId, TaskKey, TaskSnapshot};

use crate::{
    TaskService,
    error::{AccessError, CollectError, ReadError, WaitError},
    gate::Turn,
    producer::Handle,
    read::{HeldRead, Receipt},
    state::Inner,
    wait::Wait,
    waits::{Until, Waits, once_each},
};

/// What became of one task that was to be read along with others.
#[derive(Debug)]
pub enum Collected {
    /// It has written something since the previous read, or has ended: what there is.
    Read(HeldRead),
    /// It goes on and has written nothing since. It was not read.
    Nothing(TaskSnapshot),
    /// It was not read.
    Failed(CollectError),
}

/// A task that is to be read, once it has been waited for.
struct Target {
    id: TaskId,
    handle: Arc<Handle>,
    wait: Option<Wait>,
}

impl TaskService {
    /// Waits for the end of a task, for at most `timeout`, and then reads it, like
    /// [`wait`](Self::wait) and [`read_held`](Self::read_held) in one: the wait is registered
    /// when this returns, and what it is promised is taken only with the commit. Until then,
    /// dropping the future, `abort` or the [`HeldRead`] gives it back, and the notice goes
    /// out after all.
    ///
    /// A task whose record goes with its owner meanwhile is read to its end all the same, for
    /// which the future keeps hold of its producer's reader; there is nothing left to commit
    /// then. What has been promised comes before the wish to
    /// `abort`: that is looked at only where there is something to wait for.
    ///
    /// # Errors
    ///
    /// [`CollectError`]: nothing was consumed or reported.
    ///
    /// ```
    /// use std::{future, time::Duration};
    ///
    /// use longrun_shared::{CollectError, TaskId, TaskService, core::Caller};
    ///
    /// async fn end(tasks: &TaskService, id: &TaskId, of: &Caller) -> Result<String, CollectError> {
    ///     let minute = Duration::from_secs(60);
    ///     let held = tasks.wait_and_read(id, of, minute, future::pending()).await?;
    ///     Ok(held.commit().text)
    /// }
    /// ```
    pub fn wait_and_read<A: Future<Output = ()>>(
        &self,
        id: &TaskId,
        caller: &Caller,
        timeout: Duration,
        abort: A,
    ) -> impl Future<Output = Result<HeldRead, CollectError>> + use<A> {
        // The handle first: where the wait is then registered, the end can be read even if
        // the record is gone by then.
        let handle = self.handle(id, caller);
        let wait = Wait::begin(&self.inner, id, caller, timeout).or_refusal();
        let (inner, id, caller) = (Arc::clone(&self.inner), id.clone(), caller.clone());
        unless(abort, async move {
            let (_, handle) = handle?;
            let mut wait = wait?;
            wait.ready().await?;
            let turn = handle.gate.turn().await;
            let target = Target { id, handle, wait: Some(wait) };
            target.read(&inner, &caller, turn)
        })
    }

    /// Reads several tasks at once, perhaps after waiting for the first or for all of them to
    /// end: without `wait`, what is there now. The result names each task once, in the order
    /// in which they were asked for. Each read is to be committed, and keeps what it was
    /// promised until then, as with [`wait_and_read`](Self::wait_and_read).
    ///
    /// A task that cannot be reached or read is told of in the result and keeps nobody
    /// waiting. Turns are waited for in the order of registration, so that calls that read
    /// the same tasks do not wait for each other for ever.
    ///
    /// # Errors
    ///
    /// [`CollectError`] if it was aborted, or the service met a bug of its own: nothing was
    /// consumed or reported.
    pub fn collect<A: Future<Output = ()>>(
        &self,
        ids: &[TaskId],
        caller: &Caller,
        wait: Option<(Until, Duration)>,
        abort: A,
    ) -> impl Future<Output = Result<Vec<(TaskId, Collected)>, CollectError>> + use<A> {
        let ids: Vec<TaskId> = once_each(ids).into_iter().cloned().collect();
        let handles: Vec<_> = ids.iter().map(|id| self.handle(id, caller)).collect();
        let waits =
            wait.map(|(until, timeout)| Waits::begin(&self.inner, &ids, caller, timeout, until));
        let (inner, caller) = (Arc::clone(&self.inner), caller.clone());
        unless(abort, async move {
            let waits = match waits {
                Some(mut waits) => {
                    waits.ready().await.map_err(WaitError::Broken)?;
                    waits.waits.into_iter().map(|(_, wait)| wait.map(Some)).collect()
                }
                None => ids.iter().map(|_| Ok(None)).collect(),
            };
            read_all(&inner, &caller, ids, handles, waits).await
        })
    }
}

/// Reads each of them in its turn: in the order of registration, so that nobody who holds
/// one waits for another that is held by one who waits for that.
async fn read_all(
    inner: &Arc<Inner>,
    caller: &Caller,
    ids: Vec<TaskId>,
    handles: Vec<Result<(TaskKey, Arc<Handle>), AccessError>>,
    waits: Vec<Result<Option<Wait>, WaitError>>,
) -> Result<Vec<(TaskId, Collected)>, CollectError> {
    let mut collected: Vec<Option<Collected>> = ids.iter().map(|_| None).collect();
    let mut targets: BTreeMap<TaskKey, (usize, Target)> = BTreeMap::new();
    for (place, (handle, wait)) in handles.into_iter().zip(waits).enumerate() {
        match (handle, wait) {
            (Err(AccessError::Broken(broken)), _) => return Err(WaitError::from(broken).into()),
            (Err(error), _) => collected[place] = Some(Collected::Failed(error.into())),
            (Ok(_), Err(error)) => collected[place] = Some(Collected::Failed(error.into())),
            (Ok((key, handle)), Ok(wait)) => {
                targets.insert(key, (place, Target { id: ids[place].clone(), handle, wait }));
            }
        }
    }
    for (place, target) in targets.into_values() {
        let turn = target.handle.gate.turn().await;
        collected[place] = Some(match target.read(inner, caller, turn) {
            Ok(HeldRead { text, task, .. }) if text.is_empty() && !task.status.is_terminal() => {
                Collected::Nothing(task)
            }
            Ok(held) => Collected::Read(held),
            Err(error) => Collected::Failed(error),
        });
    }
    let collected = collected.into_iter().map(|one| one.expect("each was read or has failed"));
    Ok(ids.into_iter().zip(collected).collect())
}

impl Target {
    /// Reads it. The wait stays with what is read if that tells the end; otherwise it is
    /// given back, since what it may be promised from here on would be told to nobody.
    fn read(
        self,
        inner: &Arc<Inner>,
        caller: &Caller,
        turn: Turn,
    ) -> Result<HeldRead, CollectError> {
        let Self { id, handle, wait } = self;
        match inner.hold(&id, caller, turn) {
            Ok(held) => {
                let HeldRead { text, task, mut receipt } = held;
                if let Some(wait) = wait.filter(|_| task.status.is_terminal()) {
                    receipt = receipt.with_wait(wait);
                }
                Ok(HeldRead { text, task, receipt })
            }
            Err(ReadError::Refused(ReadRefusal::Access(gone))) => {
                let waited = wait.map(Wait::abort).transpose()?.flatten();
                let waited = waited.ok_or(ReadError::Refused(gone.into()))?;
                let text = handle.drain().map_err(ReadError::Reader)?;
                Ok(HeldRead { text, task: waited.into_snapshot(), receipt: Receipt::settled() })
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// What comes of the work, unless whoever asked for it gives up while it has to wait.
async fn unless<T>(
    abort: impl Future<Output = ()>,
    work: impl Future<Output = Result<T, CollectError>>,
) -> Result<T, CollectError> {
    match select(pin!(work), pin!(abort)).await {
        Either::Left((done, _)) => done,
        Either::Right(((), _)) => Err(CollectError::Aborted),
    }
}
