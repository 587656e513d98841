//! What fuzzing has found worth keeping, replayed without a fuzzer.

use std::{fs, path::Path};

// contract: M2, M8, M9, M11, N4
#[test]
fn every_property_of_the_texts_holds_on_the_corpus() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus/controls");
    let mut replayed = 0;
    for entry in fs::read_dir(&corpus).unwrap() {
        longrun_core::controls::exercise(&fs::read(entry.unwrap().path()).unwrap());
        replayed += 1;
    }
    assert!(replayed > 100, "{} holds {replayed} inputs", corpus.display());
}
