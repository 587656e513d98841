//! What one run is made of: its limits, and how often it does what.
//!
//! A run that does a little of everything seldom gets far into anything. So each run
//! draws which kinds of event it leaves out, which it does more often, and how badly
//! its world behaves.

use std::time::Duration;

use longrun_core::Config;

use crate::source::Source;

/// A kind of event that somebody makes up: not an answer to anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    Start,
    Wait,
    Read,
    Kill,
    Claim,
    Busy,
    OpenOwner,
    Dispose,
    DropOwner,
    OpenScope,
    CloseScope,
    Attach,
    Detach,
    AddListener,
    RemoveListener,
    AddObserver,
    RemoveObserver,
    Settle,
    Break,
    EndWait,
    EndRead,
    Late,
    Illegal,
    Foreign,
    Shutdown,
}

/// Each with its usual share.
const ACTS: [(Act, u16); 25] = [
    (Act::Start, 24),
    (Act::Wait, 18),
    (Act::Read, 12),
    (Act::Kill, 10),
    (Act::Claim, 8),
    (Act::Busy, 5),
    (Act::OpenOwner, 5),
    (Act::Dispose, 3),
    (Act::DropOwner, 2),
    (Act::OpenScope, 3),
    (Act::CloseScope, 1),
    (Act::Attach, 4),
    (Act::Detach, 2),
    (Act::AddListener, 3),
    (Act::RemoveListener, 1),
    (Act::AddObserver, 3),
    (Act::RemoveObserver, 1),
    (Act::Settle, 10),
    (Act::Break, 1),
    (Act::EndWait, 6),
    (Act::EndRead, 6),
    (Act::Late, 4),
    (Act::Illegal, 3),
    (Act::Foreign, 3),
    (Act::Shutdown, 1),
];

/// How a run goes about things. The parts are of 256.
#[derive(Clone, Debug)]
pub(crate) struct Swarm {
    weights: [u16; ACTS.len()],
    total: usize,
    /// How many events there are before the world heals.
    pub(crate) length: usize,
    /// How often what is due is done before anything else.
    pub(crate) eager: u8,
    /// How often time goes on instead of something being made up.
    pub(crate) hasty: u8,
    pub(crate) lost: u8,
    pub(crate) doubled: u8,
    pub(crate) delayed: u8,
    /// How often a cancel fails, and how often it is ignored.
    pub(crate) cancel_fails: u8,
    pub(crate) cancel_ignored: u8,
    pub(crate) starter_fails: u8,
    /// How often what a read found is not delivered, and how often a read is held until
    /// somebody thinks of it.
    pub(crate) undelivered: u8,
    pub(crate) held: u8,
    /// How often a callback calls back in, and a starter starts something else.
    pub(crate) reentrant: u8,
    /// How often the clocks misbehave.
    pub(crate) clock_trouble: u8,
    pub(crate) wakeup: bool,
    /// Whether the clock is about to reach the end of time.
    pub(crate) near_the_end: bool,
}

impl Swarm {
    pub(crate) fn draw(source: &mut Source) -> Self {
        let length = source.pick(&[40, 80, 120, 200, 200, 60, 20, 10]);
        let whole = source.chance(96);
        let mut weights = [0; ACTS.len()];
        for (weight, (_, usual)) in weights.iter_mut().zip(ACTS) {
            let factor = if whole { 4 } else { source.pick(&[4, 4, 4, 1, 8, 16, 0, 0]) };
            *weight = usual * factor;
        }
        // The end of everything is rare in a long run, so that there is something to end.
        weights[ACTS.len() - 1] /= 2;
        let rate = |source: &mut Source| source.pick(&[0_u8, 0, 8, 24, 64, 128]);
        Self {
            weights,
            total: weights.iter().map(|weight| usize::from(*weight)).sum(),
            length,
            eager: source.pick(&[128, 200, 240, 96]),
            hasty: source.pick(&[48, 96, 24, 160]),
            lost: source.pick(&[0, 0, 4, 16]),
            doubled: source.pick(&[0, 8, 24]),
            delayed: source.pick(&[64, 24, 128]),
            cancel_fails: rate(source),
            cancel_ignored: rate(source),
            starter_fails: source.pick(&[0, 24, 64]),
            undelivered: rate(source),
            held: rate(source),
            reentrant: rate(source),
            clock_trouble: source.pick(&[0, 0, 2, 16]),
            wakeup: source.chance(128),
            near_the_end: source.chance(10),
        }
    }

    pub(crate) fn act(&self, source: &mut Source) -> Act {
        let mut drawn = source.below(self.total.max(1));
        for (weight, (act, _)) in self.weights.iter().zip(ACTS) {
            if drawn < usize::from(*weight) {
                return act;
            }
            drawn -= usize::from(*weight);
        }
        Act::Start
    }
}

/// The limits of a run: small ones, so that they are met.
pub(crate) fn draw_config(source: &mut Source) -> Config {
    Config {
        max_active_per_owner: source.pick(&[10, 3, 2, 1]),
        max_waiters_per_task: source.pick(&[4096, 4096, 3, 2, 1]),
        max_label_bytes: source.pick(&[65_536, 16]),
        max_detail_bytes: source.pick(&[4096, 24, 16]),
        max_settled_per_owner: source.pick(&[None, None, None, Some(3), Some(1), Some(0)]),
        teardown_deadline: source.pick(&[
            None,
            None,
            Some(Duration::from_millis(5)),
            Some(Duration::from_millis(20)),
        ]),
    }
}

/// A span of time: one of a few, so that deadlines and facts often meet.
pub(crate) fn draw_span(source: &mut Source) -> Duration {
    let ms = source.pick(&[1, 5, 5, 10, 20, 50, 1000]);
    Duration::from_millis(ms)
}
