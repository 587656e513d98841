//! What is checked, each by its name, its clauses of the contract, and how often it
//! has to hold.

/// How often a property has to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Label {
    /// After every event.
    Always,
    /// In some run of a campaign, or the campaign has not tried what it claims to.
    Sometimes,
    /// Once the world has healed and gone quiet.
    Eventually,
}

impl Label {
    /// The word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Always => "always",
            Self::Sometimes => "sometimes",
            Self::Eventually => "eventually",
        }
    }
}

macro_rules! properties {
    ($($variant:ident = $label:ident, $clauses:literal, $text:literal;)*) => {
        /// A property of the registry, or of the campaign.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Property {
            $(#[doc = $text] $variant,)*
        }

        impl Property {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// What it says, in words.
            #[must_use]
            pub const fn text(self) -> &'static str {
                match self { $(Self::$variant => $text),* }
            }

            /// The clauses of the contract that it is about.
            #[must_use]
            pub const fn clauses(self) -> &'static str {
                match self { $(Self::$variant => $clauses),* }
            }

            /// How often it has to hold.
            #[must_use]
            pub const fn label(self) -> Label {
                match self { $(Self::$variant => Label::$label),* }
            }
        }
    };
}

properties! {
    Invariants = Always, "X3", "the state keeps its own invariants";
    Admission = Always, "S2 S5 S8 S11", "a start is admitted or refused as it has to be";
    Access = Always, "A1 A2 A4 A5", "no foreign read, wait or kill";
    Requests = Always, "R3 K3 W2", "a request is answered or refused as it has to be";
    Replies = Always, "K2 K4 K5 W1 W3 W4 W5 O4 N6 R2", "an event comes to what it has to";
    FirstOutcome = Always, "L1 L3 O5", "the first outcome wins";
    Order = Always, "L4 C4 C5", "what an event brings about comes in the right order";
    Cancels = Always, "O1 O3 S10 T1", "a disposal cancels what is at work, all at once";
    Wakes = Always, "W1 W5", "a wait is woken exactly when it has something to take";
    Observers = Always, "C3 C4", "observers are told of each change that they can see";
    Listeners = Always, "C2 C4 T1", "listeners are told of each end, until the shutdown";
    Notices = Always, "N1 N2 N3 N8 W6 K5", "an end has exactly one first teller";
    Stranded = Always, "N6", "who goes idle has no notice pending";
    Withdrawals = Always, "N7", "a notice that was overtaken is withdrawn";
    ExactOwner = Always, "A4 N5 O8", "no notice to a replacement or to another session";
    Records = Always, "O1 T1", "records are there and gone when they have to be";
    Disposal = Always, "O2 O9 T1", "a disposal ends exactly when its work has";
    Warnings = Always, "L6 O5 O6", "a warning is written when somebody broke the contract";
    Limits = Always, "S8 S9", "limits are never exceeded";
    ConsecutiveIds = Always, "S1 S3 S5", "ids are consecutive per kind";
    Reads = Always, "R1 R3 R4", "reads joined equal what was written";
    Refusals = Always, "S5 K3", "a refused request leaves the state equal to what it was";
    Deadlines = Always, "W7 O6 X1", "the next deadline is the right one, and later than now";
    Snapshots = Always, "L2 L8 L10 R5", "what is shown of a task is what it is like";
    Queries = Always, "A3 R5", "get and list show what there is";
    Keys = Always, "S1", "a key is never given out twice";
    Replay = Always, "X2", "the same trace in, the same bytes out";
    Rest = Eventually, "O2 W1 T1", "once healed, everything comes to rest";
    NeverNone = Eventually, "N1 W6 K5", "an owed end is told in the end";
    NothingLeft = Eventually, "T1 T2 W7", "nothing is left after the shutdown";
    SawPromiseReopened = Sometimes, "W6", "a promise was dropped, and the notice went out";
    SawKillOvertaken = Sometimes, "K5", "a task ended while a kill of it was in flight";
    SawFailedKillOvertaken = Sometimes, "K5", "a kill failed, and its task had ended: a notice";
    SawLateOutcome = Sometimes, "L3", "an outcome came after the first one";
    SawForceFail = Sometimes, "O5", "a disposal could not stop a task";
    SawTeardownOverdue = Sometimes, "O6", "a disposal gave up on a task";
    SawLateCommit = Sometimes, "S10", "a start was committed after disposal had begun";
    SawNestedStart = Sometimes, "S9", "a starter started something else";
    SawLimit = Sometimes, "S8", "a start was refused at the limit";
    SawWake = Sometimes, "N3", "an idle owner was woken";
    SawWakeBudgetSpent = Sometimes, "N3", "an idle owner was not woken any more";
    SawReplacement = Sometimes, "A4", "an owner was replaced while it had work";
    SawWithdrawal = Sometimes, "N7", "a notice was withdrawn";
    SawWaitTimeout = Sometimes, "W1", "a wait timed out";
    SawTie = Sometimes, "X1", "a fact came at the very instant of a deadline";
    SawForeign = Sometimes, "A2", "a foreign request was turned away";
    SawEviction = Sometimes, "R5", "an ended task went to keep the limit";
    SawLateAnnouncement = Sometimes, "N6", "a notice waited for controls to be mounted";
    SawReadCollision = Sometimes, "R3", "a second read of a task was turned away";
    SawReadUndelivered = Sometimes, "R4", "a read that found an end was not delivered";
    SawReadOutlived = Sometimes, "O2 T1 R3", "a read was held until its record was gone";
    SawEndWhileRead = Sometimes, "R3", "a task ended while a read of it was held";
    SawShutdownWithWork = Sometimes, "T1", "a shutdown began with work in flight";
    SawBroken = Sometimes, "L6", "a producer broke its contract";
}

impl Property {
    /// Its name, as reports show it.
    #[must_use]
    pub fn name(self) -> String {
        let mut name = String::new();
        for letter in format!("{self:?}").chars() {
            if letter.is_uppercase() && !name.is_empty() {
                name.push('-');
            }
            name.extend(letter.to_lowercase());
        }
        name
    }

    const fn bit(self) -> u64 {
        1 << self as u64
    }
}

/// The way in which a run went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A property that always has to hold did not.
    Property,
    /// The healed world did not come to rest.
    Liveness,
    /// The registry panicked.
    Panic,
}

impl Kind {
    /// What the command line tool exits with.
    #[must_use]
    pub const fn exit_code(self) -> u8 {
        match self {
            Self::Property => 1,
            Self::Panic => 3,
            Self::Liveness => 4,
        }
    }

    /// In words.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Panic => "panic",
            Self::Property => "broken property",
            Self::Liveness => "failed liveness",
        }
    }
}

/// A run that went wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// How.
    pub kind: Kind,
    /// What did not hold.
    pub property: Property,
    /// What was expected, and what came instead.
    pub message: String,
    /// After how many events; the last of them is the offending one.
    pub step: usize,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (property, clauses) = (self.property, self.property.clauses());
        write!(f, "{} at event {}: ", self.kind.as_str(), self.step)?;
        write!(f, "{} [{clauses}] {}\n{}", property.name(), property.text(), self.message)
    }
}

/// A set of properties.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen(u64);

impl Seen {
    /// Adds one.
    pub fn insert(&mut self, property: Property) {
        self.0 |= property.bit();
    }

    /// Adds all of another set.
    pub fn extend(&mut self, other: Self) {
        self.0 |= other.0;
    }

    /// Whether it is in the set.
    #[must_use]
    pub const fn contains(self, property: Property) -> bool {
        self.0 & property.bit() != 0
    }
}
