//! How to see something again: every failure prints one line that does it, wherever the
//! tool was started from.

use std::path::Path;

/// The command line that runs this tool, as it was built, with those arguments.
pub(crate) fn command(arguments: &str) -> String {
    let bug = seeded_bug().map(|name| format!(" --with-canary {name}")).unwrap_or_default();
    // Cargo says so to what it runs. A build with seeded bugs is nothing to be installed.
    let by_cargo = std::env::var_os("CARGO_PKG_NAME").is_some_and(|name| name == "longrun-sim");
    format!("{} {arguments}{bug}", tool(cfg!(feature = "canary"), by_cargo))
}

const fn tool(canary: bool, by_cargo: bool) -> &'static str {
    match (canary, by_cargo) {
        (true, _) => "cargo run --release -p longrun-sim --features canary --",
        (false, true) => "cargo run --release -p longrun-sim --",
        (false, false) => "longrun-sim",
    }
}

/// The name of the bug that is in the core.
#[cfg(feature = "canary")]
fn seeded_bug() -> Option<&'static str> {
    use longrun_sim::canary::{Canary, is_chosen};

    Canary::ALL.iter().find(|canary| is_chosen(**canary)).map(|canary| canary.name())
}

#[cfg(not(feature = "canary"))]
const fn seeded_bug() -> Option<&'static str> {
    None
}

/// A file as a shell takes it.
pub(crate) fn file(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=:,@".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text;
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tool_is_called_as_it_can_be_called() {
        assert_eq!(tool(false, false), "longrun-sim");
        assert_eq!(tool(false, true), "cargo run --release -p longrun-sim --");
        assert!(tool(true, false).contains("--features canary"));
    }

    #[test]
    fn a_file_is_quoted_where_a_shell_needs_it() {
        assert_eq!(file(Path::new("out/seed-1.jsonl")), "out/seed-1.jsonl");
        assert_eq!(file(Path::new("my traces/a.jsonl")), "'my traces/a.jsonl'");
        assert_eq!(file(Path::new("it's")), r"'it'\''s'");
    }
}
