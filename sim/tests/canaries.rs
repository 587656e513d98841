//! Every seeded bug is found. Run with `--features canary`; the bugs are in every
//! registry of the process, so this is one test in a binary of its own.

use longrun_sim::canary::{Canary, hunt, put};

/// Within so many seeds each of them has to be found.
const SEEDS: u64 = 2_000;
/// A person has to be able to read what it was shrunk to.
const EVENTS: usize = 12;

#[test]
fn every_seeded_bug_is_found_and_its_trace_is_short() {
    std::panic::set_hook(Box::new(|_| {}));
    for canary in Canary::ALL {
        let found = hunt(*canary, 0, SEEDS);
        let found = found.unwrap_or_else(|| panic!("{} was not found", canary.name()));
        assert!(found.trace.events.len() <= EVENTS, "{}: {found:?}", canary.name());
    }
    for canary in Canary::ALL {
        let file = format!("{}/tests/traces/{}.jsonl", env!("CARGO_MANIFEST_DIR"), canary.name());
        let text = std::fs::read_to_string(&file).expect("a committed trace");
        let trace = longrun_sim::Trace::parse(&text).expect("a trace");
        put(Some(*canary));
        let report = longrun_sim::replay(&trace, longrun_sim::Depth::Full).expect("fit limits");
        put(None);
        assert!(report.failure.is_some(), "{file} does not show its bug any more");
    }
    assert!(hunt(Canary::ALL[0], 0, 0).is_none(), "a hunt over no seeds finds nothing");
}
