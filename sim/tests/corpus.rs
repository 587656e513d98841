//! What fuzzers have found worth keeping is replayed on every test run, without them.

use std::path::Path;

fn replay_corpus(target: &str, body: fn(&[u8])) {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus").join(target);
    let mut replayed = 0;
    for entry in std::fs::read_dir(&corpus).expect("a committed corpus") {
        let file = entry.expect("an entry").path();
        let bytes = std::fs::read(&file).expect("a file of the corpus");
        println!("{}", file.display());
        body(&bytes);
        replayed += 1;
    }
    assert!(replayed >= 10, "only {replayed} files in {}", corpus.display());
}

/// Each shows a mistake that a core once had, or that was seeded into it; the file is
/// named after it.
// contract: X2, X3
#[test]
fn the_traces_of_past_and_seeded_bugs_hold() {
    let traces = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/traces");
    let mut replayed = 0;
    for entry in std::fs::read_dir(traces).expect("committed traces") {
        let file = entry.expect("an entry").path();
        let text = std::fs::read_to_string(&file).expect("a trace");
        let trace = longrun_sim::Trace::parse(&text).expect("a trace");
        let report = longrun_sim::replay(&trace, longrun_sim::Depth::Full).expect("fit limits");
        assert_eq!(report.failure, None, "{}", file.display());
        replayed += 1;
    }
    assert!(replayed >= 15, "only {replayed} traces");
}

// contract: X3
#[test]
fn the_corpus_of_the_registry_target_holds() {
    replay_corpus("registry", longrun_sim::fuzz::registry);
}

// contract: X2
#[test]
fn the_corpus_of_the_trace_target_holds() {
    replay_corpus("trace", longrun_sim::fuzz::trace);
}
