//! Seeded bugs, for trying out what is meant to find bugs.
//!
//! With the feature `canary`, which is never on by default, one of them can be chosen
//! at run time. Each is a single wrong step at a single place, of the sort that a
//! hurried change makes. Without the feature nothing of them is compiled in.

/// Whether that seeded bug is at work.
#[cfg(feature = "canary")]
macro_rules! canary {
    ($name:ident) => {
        $crate::canary::is_chosen($crate::canary::Canary::$name)
    };
}

/// Whether that seeded bug is at work: there are none in this build.
#[cfg(not(feature = "canary"))]
macro_rules! canary {
    ($name:ident) => {
        false
    };
}

#[cfg(feature = "canary")]
pub use seeded::{Canary, is_chosen, set};

#[cfg(feature = "canary")]
mod seeded {
    use core::sync::atomic::{AtomicU8, Ordering};

    macro_rules! canaries {
        ($($variant:ident = $name:literal, $text:literal;)*) => {
            /// A seeded bug.
            #[derive(Clone, Copy, Debug, PartialEq, Eq)]
            pub enum Canary {
                $(#[doc = $text] $variant,)*
            }

            impl Canary {
                /// All of them.
                pub const ALL: &'static [Self] = &[$(Self::$variant),*];

                /// The name to choose it by.
                #[must_use]
                pub const fn name(self) -> &'static str {
                    match self { $(Self::$variant => $name),* }
                }

                /// What goes wrong.
                #[must_use]
                pub const fn text(self) -> &'static str {
                    match self { $(Self::$variant => $text),* }
                }
            }
        };
    }

    canaries! {
        SecondOutcomeWins = "second-outcome-wins", "A second outcome overwrites the first.";
        PromiseNotGivenBack = "promise-not-given-back", "A dropped wait keeps what it was promised.";
        KillNotCounted = "kill-not-counted", "A kill in flight is not promised the end of its task.";
        NoticeToReplacement = "notice-to-replacement", "A notice goes to whoever has the session now.";
        StoppingIsFree = "stopping-is-free", "A stopping task holds no slot.";
        ReleaseLeaksSlot = "release-leaks-slot", "A starter that fails keeps its slot.";
        RefusalBurnsNumber = "refusal-burns-number", "A start refused at the limit uses up a number.";
        TimerLeftBehind = "timer-left-behind", "An aborted wait leaves its timer.";
        TeardownSpeaks = "teardown-speaks", "A disposal does not count as having told.";
        IdleStrands = "idle-strands", "A claim that found something marks its owner idle.";
        DeadlineBeatsFact = "deadline-beats-fact", "A deadline comes before a fact of the same instant.";
        DisposalEndsEarly = "disposal-ends-early", "A disposal does not wait for starters.";
        ForeignRead = "foreign-read", "A read does not ask whose task it is.";
        UndeliveredTells = "undelivered-tells", "A read that nobody was given counts as having told.";
        UndeliveredKeepsTurn = "undelivered-keeps-turn", "A read that was not delivered lets no other in.";
        SilentWithdrawal = "silent-withdrawal", "The harness is not told of a withdrawn notice.";
        AnswersAreTrusted = "answers-are-trusted", "A second answer to a kill is taken for impossible.";
        ShutdownUntold = "shutdown-untold", "A service never says that it is shut down.";
        NoticeBeforeListeners = "notice-before-listeners", "The notice goes out before listeners are told.";
    }

    /// Which one is at work, counted from 1; 0 is none.
    static CHOSEN: AtomicU8 = AtomicU8::new(0);

    /// Puts one of them to work in this process, or none.
    pub fn set(canary: Option<Canary>) {
        CHOSEN.store(canary.map_or(0, |canary| canary as u8 + 1), Ordering::Relaxed);
    }

    /// Whether that one is at work.
    #[must_use]
    pub fn is_chosen(canary: Canary) -> bool {
        CHOSEN.load(Ordering::Relaxed) == canary as u8 + 1
    }
}
