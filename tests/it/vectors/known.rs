//! Where the contract asks for better than the vectors say: each difference, with
//! the clause that demands it.

/// One step whose recorded result the contract overrides.
pub(super) struct Difference {
    pub(super) scenario: &'static str,
    pub(super) step: usize,
    /// The clause that demands it.
    pub(super) clause: &'static str,
}

/// None is known.
pub(super) const DIFFERENCES: &[Difference] = &[];

/// Whether a step's record is overridden.
pub(super) fn is_overridden(scenario: &str, step: usize) -> bool {
    DIFFERENCES.iter().any(|difference| {
        assert!(!difference.clause.is_empty(), "a difference names its clause");
        difference.scenario == scenario && difference.step == step
    })
}
