//! Reads, kills and waits, and the facts about tasks.

use std::sync::Arc;

use longrun_core::{
    Command, End, Event, KillKey, Outcome, Output, OutputMode, Reply, StopCause, TaskKey, Warning,
};

use super::{
    Model,
    apply::{Answer, NoFreshKey, new_key},
    cut,
    ends::disposal_reason,
    entities::{Index, Kill, Read, TaskFact, Wait},
};

impl Model {
    pub(super) fn apply_request(
        &mut self,
        event: &Event,
        actual: &Answer,
        out: &mut Vec<Command>,
    ) -> Result<Reply, NoFreshKey> {
        let (Event::Read { id, .. } | Event::Kill { id, .. } | Event::Wait { id, .. }) = event
        else {
            return Err(NoFreshKey);
        };
        let index = self.task_named(id).ok_or(NoFreshKey)?;
        let task = self.tasks[index].key;
        let live = self.tasks[index].is_live();
        match (event, actual) {
            (Event::Read { .. }, Ok(Reply::Reading { read, .. })) => {
                new_key(self.reads.iter().map(|read| read.key), *read)?;
                let mut snapshot = self.snapshot(index);
                snapshot.reported |= !live;
                self.reads.push(Read { key: *read, task: index, terminal: !live, over: false });
                let output = match self.tasks[index].mode {
                    OutputMode::Stream => Output::Drain,
                    OutputMode::Final => {
                        Output::Final(self.tasks[index].end().and_then(|end| end.output.clone()))
                    }
                };
                Ok(Reply::Reading { read: *read, task, snapshot, output })
            }
            (Event::Kill { .. }, _) if !live => {
                self.tell(index, out);
                Ok(Reply::AlreadyFinished(self.snapshot(index)))
            }
            (Event::Kill { reason, .. }, Ok(Reply::Killing { kill, .. })) => {
                new_key(self.kills.iter().map(|kill| kill.key), *kill)?;
                let max = self.config.max_detail_bytes;
                let reason = reason.as_ref().map(|reason| cut(reason, max));
                self.kills.push(Kill {
                    key: *kill,
                    task: index,
                    reason,
                    promised: None,
                    over: false,
                });
                Ok(Reply::Killing { kill: *kill, task })
            }
            (Event::Wait { timeout, .. }, Ok(Reply::Waiting { waiter, .. })) => {
                new_key(self.waits.iter().map(|wait| wait.key), *waiter)?;
                let (serial, due) = (self.next_serial(), self.now.at.saturating_add(*timeout));
                self.waits.push(Wait {
                    key: *waiter,
                    task: index,
                    due,
                    serial,
                    promised: None,
                    timed_out: None,
                    over: false,
                });
                if !live {
                    let mut snapshot = self.snapshot(index);
                    snapshot.reported = true;
                    if let Some(wait) = self.waits.last_mut() {
                        wait.promised = Some(snapshot);
                    }
                    self.withdraw(index, out);
                }
                Ok(Reply::Waiting { waiter: *waiter, ready: !live })
            }
            _ => Err(NoFreshKey),
        }
    }

    pub(super) fn apply_fact(&mut self, event: &Event, out: &mut Vec<Command>) -> Reply {
        match event {
            Event::Settled { task, outcome } => {
                if let Some(index) = self.task_index(*task) {
                    self.end_task(index, outcome, out);
                }
                Reply::Done
            }
            Event::Broke { task, error } => {
                let error = cut(error, self.config.max_detail_bytes);
                let index = self.task_index(*task).filter(|&i| self.tasks[i].is_on_record());
                out.push(Command::Warn(match index {
                    Some(index) => Warning::ProducerBroke {
                        id: self.tasks[index].id.clone(),
                        error: error.clone(),
                    },
                    None => Warning::LateProducerBroke { error: error.clone() },
                }));
                if let Some(index) = index {
                    let outcome = Outcome { end: End::Failed, detail: Some(error), output: None };
                    self.end_task(index, &outcome, out);
                }
                Reply::Done
            }
            Event::CancelAnswered { task, error } => {
                self.cancel_answered(*task, error.as_ref(), out);
                Reply::Done
            }
            Event::ReadEnded { read, delivered } => {
                let found = self.reads.iter().position(|r| r.key == *read && !r.over);
                if let Some(index) = found {
                    self.reads[index].over = true;
                    if *delivered && self.reads[index].terminal {
                        self.tell(self.reads[index].task, out);
                    }
                }
                Reply::Done
            }
            Event::KillAnswered { kill, accepted } => self.kill_answered(*kill, *accepted, out),
            Event::TakeWait { waiter } => {
                let ready = self.waits.iter().position(|w| w.key == *waiter && !w.is_waiting());
                ready.map_or(Reply::Done, |index| self.end_wait(index, true, out))
            }
            Event::AbortWait { waiter } => {
                let found = self.waits.iter().position(|wait| wait.key == *waiter);
                found.map_or(Reply::Done, |index| self.end_wait(index, true, out))
            }
            Event::WaitDropped { waiter } => {
                let found = self.waits.iter().position(|wait| wait.key == *waiter);
                if let Some(index) = found {
                    self.end_wait(index, false, out);
                }
                Reply::Done
            }
            Event::Shutdown => self.shut_down(out),
            _ => Reply::Done,
        }
    }

    // contract: O5, K2, L10
    fn cancel_answered(&mut self, task: TaskKey, error: Option<&Arc<str>>, out: &mut Vec<Command>) {
        let on_record = self.task_index(task).filter(|&i| self.tasks[i].is_on_record());
        let Some(index) = on_record else { return };
        let Some(cause) = self.tasks[index].unanswered().next() else { return };
        self.note(index, TaskFact::CancelAnswered);
        if !self.tasks[index].is_live() {
            return;
        }
        match error {
            None => {
                self.accept_stop(index, cause, Some(disposal_reason(cause).into()));
                self.changed(self.tasks[index].owner, out);
            }
            Some(error) => {
                let error = cut(error, self.config.max_detail_bytes);
                let id = self.tasks[index].id.clone();
                out.push(Command::Warn(Warning::CancelFailed { id, error: error.clone() }));
                self.force_fail(index, &format!("cancel failed: {error}"), out);
            }
        }
    }

    // contract: K2, K3, K5
    fn kill_answered(&mut self, key: KillKey, accepted: bool, out: &mut Vec<Command>) -> Reply {
        let Some(found) = self.kills.iter().position(|kill| kill.key == key && !kill.over) else {
            return Reply::Done;
        };
        self.kills[found].over = true;
        let Kill { task: index, reason, promised, .. } = self.kills[found].clone();
        match promised {
            Some(snapshot) => {
                self.end_promise(index, accepted, out);
                if accepted { Reply::AlreadyFinished(snapshot) } else { Reply::Done }
            }
            None if accepted => {
                self.accept_stop(index, StopCause::Kill, reason);
                self.tell(index, out);
                self.changed(self.tasks[index].owner, out);
                Reply::KillRequested(self.snapshot(index))
            }
            None => Reply::Done,
        }
    }

    // contract: W3, W4, W6
    fn end_wait(&mut self, index: Index, taken: bool, out: &mut Vec<Command>) -> Reply {
        if self.waits[index].over {
            return Reply::Done;
        }
        self.waits[index].over = true;
        let Wait { task, promised, timed_out, .. } = self.waits[index].clone();
        match (promised, timed_out) {
            (Some(snapshot), _) => {
                self.end_promise(task, taken, out);
                Reply::WaitOver { snapshot, timed_out: false }
            }
            (None, Some(snapshot)) => Reply::WaitOver { snapshot, timed_out: true },
            (None, None) => Reply::Done,
        }
    }
}
