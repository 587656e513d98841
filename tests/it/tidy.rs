//! The habits of this repository, as tests: what must be cited, and what must be absent.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

/// The clauses of the contract that no test can cite yet, with what they belong to.
const NOT_BUILT: &[(&str, &str)] = &[
    ("X4", "an adapter for another runtime"),
    ("X5", "durable tasks"),
    ("X6", "more than one machine"),
    ("Y1", "terminals"),
    ("Y2", "terminals"),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_path_buf()
}

fn read(path: &str) -> String {
    let path = root().join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The sources below a folder, with their text.
fn sources(folder: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            if path.is_dir() && name != "target" && !name.starts_with('.') {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let shown = path.strip_prefix(root()).unwrap().display().to_string();
                found.push((shown, fs::read_to_string(&path).unwrap()));
            }
        }
    }
    found.sort();
    assert!(!found.is_empty(), "no sources below {folder}");
    found
}

/// The part of a source that is not its tests.
fn without_tests(text: &str) -> &str {
    text.split("#[cfg(test)]\nmod tests {").next().unwrap()
}

fn is_test_file(path: &str) -> bool {
    path.contains("/tests/") || path.ends_with("/tests.rs")
}

/// Lines of the core that are code, outside tests.
fn core_code() -> Vec<(String, String)> {
    let files = sources("core/src").into_iter().filter(|(path, _)| !is_test_file(path));
    files
        .flat_map(|(path, text)| {
            let lines = without_tests(&text).lines().enumerate();
            let code = lines.filter(|(_, line)| !line.trim_start().starts_with("//"));
            code.map(|(number, line)| (format!("{path}:{}", number + 1), line.to_owned()))
                .collect::<Vec<_>>()
        })
        .collect()
}

fn clauses() -> BTreeSet<String> {
    let contract = read("core/CONTRACT.md");
    let lines = contract.lines().filter_map(|line| line.strip_prefix("- "));
    let names = lines.filter_map(|line| line.split(' ').next()).filter(|name| is_clause(name));
    names.map(ToOwned::to_owned).collect()
}

fn is_clause(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next().is_some_and(|first| first.is_ascii_uppercase())
        && chars.clone().next().is_some()
        && chars.all(|char| char.is_ascii_digit())
}

/// Which file cites which clause.
fn citations() -> BTreeMap<String, BTreeSet<String>> {
    let mut cited: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for folder in ["core", "runtime-tokio", "sim", "tests", "fuzz"] {
        for (path, text) in sources(folder) {
            for line in text.lines() {
                let Some((before, list)) = line.split_once("contract: ") else { continue };
                if before.trim() != "//" {
                    continue;
                }
                for name in list.split([',', ' ']).filter(|name| !name.is_empty()) {
                    assert!(is_clause(name), "{path}: not a list of clauses: {line}");
                    cited.entry(name.to_owned()).or_default().insert(path.clone());
                }
            }
        }
    }
    cited
}

#[test]
fn every_citation_names_a_clause_and_every_clause_that_is_built_is_cited() {
    let (clauses, cited) = (clauses(), citations());
    assert!(clauses.len() > 80, "the contract was not read");
    for (name, files) in &cited {
        assert!(clauses.contains(name), "{files:?} cite {name}, which is no clause");
    }
    let not_built: BTreeSet<String> =
        NOT_BUILT.iter().map(|(name, _)| (*name).to_owned()).collect();
    let uncited: BTreeSet<String> =
        clauses.iter().filter(|name| !cited.contains_key(*name)).cloned().collect();
    assert_eq!(uncited, not_built, "uncited on the left, known as not built on the right");
}

// contract: X1
#[test]
fn the_core_depends_on_what_is_listed_here_and_nothing_else() {
    let manifest = read("core/Cargo.toml");
    let dependencies = manifest.split("[dependencies]\n").nth(1).unwrap();
    let dependencies = dependencies.split("\n[").next().unwrap();
    let names: Vec<&str> = dependencies
        .lines()
        .filter_map(|line| line.split(['.', ' ', '=']).next())
        .filter(|name| !name.is_empty())
        .collect();
    assert_eq!(names, ["serde", "slab", "smallvec", "thiserror"]);
}

// contract: X1
#[test]
fn the_core_reads_no_clock_and_iterates_nothing_in_hash_order() {
    let absent = [
        "std::",
        "HashMap",
        "HashSet",
        "Instant::now",
        "SystemTime",
        ".unwrap()",
        "unsafe",
        "static mut",
        "println!",
        "thread",
    ];
    for (place, line) in core_code() {
        for word in absent {
            let allowed = line.contains("forbid(unsafe_code)");
            assert!(allowed || !line.contains(word), "{place}: {word} in the core: {line}");
        }
    }
}

#[test]
fn the_service_knows_no_tokio() {
    let manifest = read("runtime-tokio/shared/Cargo.toml");
    assert!(!manifest.contains("tokio"), "longrun-shared depends on it");
    for (path, text) in sources("runtime-tokio/shared/src") {
        let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        assert!(!code.clone().any(|line| line.contains("tokio")), "{path} uses it");
    }
}

#[test]
fn unsafe_code_is_in_one_file() {
    for (path, text) in sources("runtime-tokio").into_iter().chain(sources("sim")) {
        let uses = text.lines().any(|line| line.contains("unsafe {") || line.contains("unsafe fn"));
        assert!(!uses || path == "runtime-tokio/src/process/before_exec.rs", "{path}");
    }
}

#[test]
fn nothing_is_left_for_later_and_no_file_is_too_long_to_read() {
    let marks = ["TO", "FIX", "XX", "HA"].into_iter().zip(["DO", "ME", "X", "CK"]);
    let marks: Vec<String> = marks.map(|(a, b)| format!("{a}{b}")).collect();
    for folder in ["core", "runtime-tokio", "sim", "tests", "fuzz"] {
        for (path, text) in sources(folder) {
            for mark in &marks {
                let words =
                    |line: &str| line.split(|c: char| !c.is_alphanumeric()).any(|w| w == mark);
                assert!(!text.lines().any(words), "{path} has a {mark}");
            }
            assert!(text.lines().count() <= 520, "{path} has {} lines", text.lines().count());
        }
    }
}

#[test]
fn the_commands_that_the_readme_names_are_those_that_ci_runs() {
    let (readme, ci) = (read("README.md"), read(".ci/run"));
    for command in ["cargo demo", "cargo test --workspace"] {
        assert!(readme.contains(command), "the README does not name `{command}`");
        assert!(ci.contains(command), ".ci/run does not run `{command}`");
    }
    for table in
        readme.lines().filter(|line| line.starts_with('|') && line.contains("`cargo check"))
    {
        let command = table.rsplit('`').nth(1).unwrap();
        assert!(ci.contains(command), ".ci/run does not run `{command}`");
    }
}

/// The lines of the first block of that language below a heading of the README.
fn block(readme: &str, heading: &str, language: &str) -> Vec<String> {
    let section = readme.split(&format!("\n## {heading}\n")).nth(1).unwrap();
    let section = section.split("\n## ").next().unwrap();
    let block = section.split(&format!("```{language}\n")).nth(1).unwrap();
    block.split("```").next().unwrap().lines().map(ToOwned::to_owned).collect()
}

#[test]
fn the_campaign_that_the_readme_shows_is_one_in_both_forms_and_is_run_by_ci() {
    let readme = read("README.md");
    let shell = block(&readme, "Run the campaign", "sh");
    let workflow = block(&readme, "Run the campaign", "yaml");
    assert!(shell.iter().any(|line| line.starts_with("longrun-sim campaign ")), "{shell:?}");
    let indent = " ".repeat(10);
    let at = workflow.iter().position(|line| *line == format!("{indent}{}", shell[0]));
    let at = at.expect("the workflow has the first line of the shell form");
    for (own, shell) in workflow[at..].iter().zip(&shell) {
        assert_eq!(own.strip_prefix(&indent), Some(shell.as_str()));
    }
    assert!(read(".ci/run").contains(".ci/readme-campaign"), ".ci/run does not run it");
}

#[test]
fn every_fuzz_target_has_a_corpus_a_test_that_replays_it_and_a_line_in_the_readme() {
    let (manifest, tests) = (read("fuzz/Cargo.toml"), read("sim/tests/corpus.rs"));
    let tests = tests + &read("tests/it/corpora.rs");
    let names = manifest.split("[[bin]]\nname = \"").skip(1);
    let names: Vec<&str> = names.map(|rest| rest.split('"').next().unwrap()).collect();
    assert!(names.len() >= 3, "{names:?}");
    for name in names {
        let corpus = root().join("fuzz/corpus").join(name);
        assert!(fs::read_dir(&corpus).unwrap().next().is_some(), "{name} has no corpus");
        assert!(tests.contains(name), "no test replays the corpus of {name}");
        let row = format!("| `{name}` |");
        assert!(read("fuzz/README.md").contains(&row), "fuzz/README.md does not tell of {name}");
    }
}

#[test]
fn every_package_has_the_lints_of_the_workspace() {
    for package in ["core", "runtime-tokio", "runtime-tokio/shared", "sim", "tests"] {
        let manifest = read(&format!("{package}/Cargo.toml"));
        assert!(manifest.contains("[lints]\nworkspace = true"), "{package}");
    }
}
