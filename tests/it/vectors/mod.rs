//! The contract vectors: scenarios with the results that the system in which the
//! contract originates gives. With `LONGRUN_VECTORS=DIR` set, the files in that
//! directory run instead of those in `tests/vectors`.

mod format;
mod known;
mod world;

use std::{
    fmt::Write as _,
    fs,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
};

use format::{Scenario, Seen};
use world::World;

/// Where the vectors are. A relative `LONGRUN_VECTORS` is looked for here and at the root
/// of the workspace, since tests run in the folder of their package.
fn directory() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let Some(named) = std::env::var_os("LONGRUN_VECTORS").map(PathBuf::from) else {
        return package.join("vectors");
    };
    let at_root = package.parent().unwrap().join(&named);
    if named.is_dir() || !at_root.is_dir() { named } else { at_root }
}

/// Each scenario, or why a line is none.
fn scenarios() -> Vec<Result<Scenario, String>> {
    let directory = directory();
    let mut files: Vec<PathBuf> = fs::read_dir(&directory)
        .unwrap_or_else(|error| panic!("cannot read {}: {error}", directory.display()))
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"))
        .collect();
    files.sort();
    let mut scenarios = Vec::new();
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            scenarios.push(serde_json::from_str(line).map_err(|error| {
                format!("{}:{}: not a scenario: {error}", file.display(), number + 1)
            }));
        }
    }
    scenarios
}

/// Runs one scenario; what differs comes back as a text for a person.
fn run(scenario: &Scenario) -> Result<(), String> {
    let mut world = World::new(&scenario.config);
    let mut so_far = String::new();
    for (number, step) in scenario.steps.iter().enumerate() {
        let _ = writeln!(so_far, "    {number:>3}  {}", step.summary());
        if step.is_skipped() {
            continue;
        }
        let outcome = catch_unwind(AssertUnwindSafe(|| world.step(&step.operation)));
        let differs = match outcome {
            Ok(result) => {
                let seen = Seen::from(world.take_events());
                let expected = Seen::from(step.events.clone());
                step.compare(&scenario.name, number, &result)
                    .or_else(|| expected.compare(&seen, &scenario.name, number))
            }
            Err(panic) => {
                let text = panic.downcast_ref::<String>().map(String::as_str);
                let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
                Some(format!("  a panic: {}", text.unwrap_or("see above")))
            }
        };
        if let Some(differs) = differs {
            return Err(format!(
                "{} ({}), step {number}:\n{differs}\n  steps so far:\n{so_far}",
                scenario.name,
                scenario.about.join(", "),
            ));
        }
    }
    Ok(())
}

// contract: S1, S2, S3, S5, S8, S11, L1, L3, L4, L5, L6, A2, A3, A4, R1, R2, R5, K1, K2, K3, K4,
// contract: W1, W2, W3, W4, W5, C1, C2, C3, C4, O1, O2, O4, O5, O7, O8, T1, N1, N2, N3, N4, N5, M8
#[test]
fn every_contract_vector_gives_the_result_that_is_on_record() {
    let scenarios = scenarios();
    assert!(!scenarios.is_empty(), "no scenarios in {}", directory().display());
    let failures: Vec<String> = scenarios
        .iter()
        .filter_map(|scenario| match scenario {
            Ok(scenario) => run(scenario).err(),
            Err(error) => Some(error.clone()),
        })
        .collect();
    for failure in &failures {
        eprintln!("{failure}\n");
    }
    let (failed, all) = (failures.len(), scenarios.len());
    assert!(failures.is_empty(), "{failed} of {all} scenarios differ; each is told above");
    println!("{all} scenarios");
}
