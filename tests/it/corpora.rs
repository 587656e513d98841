//! What fuzzing has found worth keeping, replayed without a fuzzer.

use std::{fs, path::Path};

/// Calls the target's body on each input; says how many there were.
fn replay(target: &str, body: fn(&[u8])) -> usize {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus").join(target);
    let inputs = fs::read_dir(&corpus).unwrap();
    inputs.map(|entry| body(&fs::read(entry.unwrap().path()).unwrap())).count()
}

// contract: M2, M8, M9, M11, N4
#[test]
fn every_property_of_the_texts_holds_on_the_corpus() {
    assert!(replay("controls", longrun_core::controls::exercise) > 100);
}

// contract: R1, R7, R8, M12
#[test]
fn every_property_of_the_output_holds_on_the_corpus() {
    assert!(replay("output", longrun_core::output::exercise) > 10);
}
