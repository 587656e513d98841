//! Who has got a signal, and who has to get it yet.

use std::collections::HashSet;

use rustix::process::{Pid, Signal};

use super::session::{Family, Member};

/// Who has been dealt with by one signal.
#[derive(Debug, Default)]
pub(crate) struct Told {
    /// That process group was signalled as a whole.
    pub(crate) group: Option<Pid>,
    /// What a look found was chosen from.
    looked: bool,
    members: HashSet<Member>,
}

impl Told {
    /// Of those, who have to get the signal: they did not yet. After the first look SIGTERM
    /// is not for who is found in the leader's group, nor for the children of some who got it
    /// or were spared earlier: what somebody starts who was asked to end, he starts to clean
    /// up, and a signal would end that.
    pub(crate) fn choose<'a>(
        &mut self,
        family: &'a Family,
        members: impl Iterator<Item = &'a Member>,
        signal: Signal,
    ) -> Vec<Member> {
        let group = self.group.map(|group| group.as_raw_nonzero().get());
        let is_first = !std::mem::replace(&mut self.looked, true);
        // Before the first look nobody was told who could have started somebody since.
        let told = self.members.iter().filter(|_| !is_first);
        let mut earlier: HashSet<i32> = told.map(|told| told.pid).collect();
        let mut chosen = Vec::new();
        for member in members {
            let ties = family.ties.get(member).filter(|_| signal == Signal::TERM);
            if self.members.contains(member) {
                continue;
            }
            if ties.is_some_and(|ties| group == Some(ties.group)) {
                self.members.insert(*member);
                // Those whom the first look finds got it with the group; their children lived
                // by then.
                if !is_first {
                    earlier.insert(member.pid);
                }
            } else if ties.is_some_and(|ties| earlier.contains(&ties.parent)) {
                self.members.insert(*member);
                earlier.insert(member.pid);
            } else {
                chosen.push(*member);
            }
        }
        chosen
    }

    /// Of those, whom SIGTERM has to reach before the leader's group gets it: they are stopped
    /// in another group. When the process ends that ties their group to the session the
    /// kernel sends SIGHUP to it, and they would die of that instead.
    pub(crate) fn choose_first<'a>(
        &self,
        family: &Family,
        members: impl Iterator<Item = &'a Member>,
        leader: Pid,
    ) -> Vec<Member> {
        let leader = leader.as_raw_nonzero().get();
        let elsewhere = |member| family.ties.get(member).is_none_or(|ties| ties.group != leader);
        let fresh = members.filter(|member| !self.looked && !self.members.contains(member));
        let stopped = fresh.filter(|member| family.stopped.contains(member));
        stopped.filter(|member| elsewhere(member)).copied().collect()
    }

    /// Notes that a member was signalled.
    pub(crate) fn note(&mut self, member: Member) {
        self.members.insert(member);
    }
}
