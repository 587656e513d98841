//! Who is told of an end, and that it is exactly one.
//!
//! Of every owned task that has ended, one thing tells the owner first: a read, a
//! wait, a kill, a disposal, or else the notice. A notice stays here until the owner
//! claims it; its harness is only nudged. So one that something else has overtaken
//! is simply gone, and none is lost between an owner's last claim and its going idle.

use alloc::vec::Vec;

use super::{
    Registry,
    owners::{Life, Stage},
    tasks::{Notice, Task, Teller},
};
use crate::{
    ClaimSource, Command, Delivery, Gone, Lane, NoticePolicy, NoticePreference, OwnerKey, Refusal,
    Reply, TaskKey, TaskSnapshot,
};

impl Registry {
    /// Somebody has been told of a task's end, or has asked for it.
    pub(super) fn tell(&mut self, key: TaskKey, teller: Teller, out: &mut Vec<Command>) {
        let Some(task) = self.tasks.get_mut(key) else { return };
        task.told.get_or_insert(teller);
        self.withdraw_notice(key, out);
    }

    /// Something that was promised the terminal state took it, or gave it back.
    pub(super) fn settle_promise(
        &mut self,
        key: TaskKey,
        teller: Option<Teller>,
        out: &mut Vec<Command>,
    ) {
        let Some(task) = self.tasks.get_mut(key) else { return };
        task.promises -= 1;
        match teller {
            Some(teller) => self.tell(key, teller, out),
            None if canary!(PromiseNotGivenBack) => task.promises += 1,
            None => self.notice_if_untold(key, out),
        }
    }

    /// Sends the notice of a task that has ended, unless something else tells.
    pub(super) fn notice_if_untold(&mut self, key: TaskKey, out: &mut Vec<Command>) {
        let Some(task) = self.tasks.get_mut(key) else { return };
        let due = !task.reported()
            && task.notice == Notice::None
            && task.preference != NoticePreference::Never;
        let Some(owner_key) = task.owner.filter(|_| due && self.service.stage == Stage::Open)
        else {
            return;
        };
        let owner_key = if canary!(NoticeToReplacement) {
            self.owners.live_one(owner_key).unwrap_or(owner_key)
        } else {
            owner_key
        };
        let Some(owner) = self.owners.get_mut(owner_key) else { return };
        if owner.life != Life::Live {
            return;
        }
        task.notice = Notice::Pending { announced: false };
        owner.pending.push_back(key);
        self.nudge(owner_key, key, out);
    }

    /// Tells the owner's harness of a pending notice, if controls are mounted for it.
    fn nudge(&mut self, owner_key: OwnerKey, key: TaskKey, out: &mut Vec<Command>) {
        let scope = self.scope_of(Some(owner_key));
        let Some(policy) = self.scopes.notice_policy(scope) else { return };
        let Some(task) = self.tasks.get_mut(key) else { return };
        let Some(owner) = self.owners.get_mut(owner_key) else { return };
        task.notice = Notice::Pending { announced: true };
        let lane = lane(policy, owner.busy, owner.wakes, task.preference);
        if lane == Lane::Wake {
            owner.wakes += 1;
        }
        out.push(Command::Nudge { owner: owner_key, lane, snapshot: task.snapshot() });
    }

    /// Controls were mounted: announce what became pending while there were none.
    pub(super) fn nudge_the_waiting(&mut self, out: &mut Vec<Command>) {
        let waiting: Vec<(OwnerKey, TaskKey)> = self
            .owners
            .iter()
            .flat_map(|(key, owner)| owner.pending.iter().map(move |&task| (key, task)))
            .filter(|&(_, task)| self.is_unannounced(task))
            .collect();
        for (owner, task) in waiting {
            self.nudge(owner, task, out);
        }
    }

    fn is_unannounced(&self, key: TaskKey) -> bool {
        let unannounced = Notice::Pending { announced: false };
        self.tasks.get(key).is_some_and(|task| task.notice == unannounced)
    }

    /// A pending notice is no longer news.
    pub(super) fn withdraw_notice(&mut self, key: TaskKey, out: &mut Vec<Command>) {
        let Some(task) = self.tasks.get_mut(key) else { return };
        let Notice::Pending { announced } = task.notice else { return };
        task.notice = Notice::None;
        let id = task.id.clone();
        let Some(owner_key) = task.owner else { return };
        if let Some(owner) = self.owners.get_mut(owner_key) {
            owner.pending.retain(|pending| *pending != key);
        }
        if announced && !canary!(SilentWithdrawal) {
            out.push(Command::WithdrawNotice { owner: owner_key, id });
        }
    }

    /// An owner's disposal has begun: what was pending for it is not sent any more.
    pub(super) fn drop_pending(&mut self, owner: OwnerKey) {
        let Some(owner) = self.owners.get_mut(owner) else { return };
        for key in core::mem::take(&mut owner.pending) {
            if let Some(task) = self.tasks.get_mut(key) {
                task.notice = Notice::None;
            }
        }
    }

    pub(super) fn claim(
        &mut self,
        key: OwnerKey,
        source: ClaimSource,
        or_idle: bool,
    ) -> Result<Reply, Refusal> {
        let owner = self.owners.get_mut(key).ok_or(Gone::Owner)?;
        match source {
            ClaimSource::User => owner.wakes = 0,
            ClaimSource::Inbox => {}
        }
        let claimed = core::mem::take(&mut owner.pending);
        let idle = or_idle && (claimed.is_empty() || canary!(IdleStrands));
        if idle {
            owner.busy = false;
        }
        let notices = claimed.into_iter().filter_map(|key| self.claim_notice(key)).collect();
        Ok(Reply::Claimed { notices, idle })
    }

    fn claim_notice(&mut self, key: TaskKey) -> Option<TaskSnapshot> {
        let task = self.tasks.get_mut(key)?;
        task.notice = Notice::Claimed;
        Some(task.snapshot())
    }
}

/// Which way a notice takes.
fn lane(policy: NoticePolicy, busy: bool, wakes: u32, preference: NoticePreference) -> Lane {
    let may_wake = match policy.delivery {
        Delivery::Quiet => false,
        Delivery::Wakeup => wakes < policy.max_consecutive_wakes,
    };
    let may_be_woken = match preference {
        NoticePreference::AsMounted => !busy,
        NoticePreference::NeverWake | NoticePreference::Never => false,
    };
    if may_wake && may_be_woken { Lane::Wake } else { Lane::Inject }
}

impl Task {
    /// Whether its end is known to its owner and nothing is under way on it.
    pub(super) fn may_be_evicted(&self) -> bool {
        let known = self.told.is_some() || self.notice == Notice::Claimed;
        !self.is_live() && known && self.promises == 0 && self.reading.is_none()
    }
}
