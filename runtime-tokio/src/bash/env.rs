//! The environment of a command.
//!
//! Three layers, later ones win: what the host has, without what looks like a
//! secret; a presentation fit for a reader that is no terminal; what the request
//! says.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

/// A variable whose name has one of these in it is kept from commands.
const SECRET: [&str; 6] = ["KEY", "PASSWORD", "SECRET", "TOKEN", "CREDENTIAL", "PASSPHRASE"];

/// No colours, no pagers, no questions.
const PRESENTATION: [(&str, &str); 5] = [
    ("NO_COLOR", "1"),
    ("TERM", "dumb"),
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("GIT_TERMINAL_PROMPT", "0"),
];

/// A finished environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Environment {
    pub(crate) vars: BTreeMap<OsString, OsString>,
    /// The names kept back, sorted.
    pub(crate) withheld: Vec<OsString>,
}

pub(crate) fn compose(
    host: impl Iterator<Item = (OsString, OsString)>,
    passed: &[OsString],
    requested: &[(OsString, OsString)],
) -> Environment {
    let (secret, mut vars): (BTreeMap<_, _>, BTreeMap<_, _>) =
        host.partition(|(name, _)| is_secret(name) && !passed.contains(name));
    vars.extend(PRESENTATION.map(|(name, value)| (name.into(), value.into())));
    vars.extend(requested.iter().cloned());
    let withheld = secret.into_keys().filter(|name| !vars.contains_key(name)).collect();
    Environment { vars, withheld }
}

fn is_secret(name: &OsStr) -> bool {
    let name = name.to_string_lossy().to_uppercase();
    SECRET.iter().any(|part| name.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(vars: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
        vars.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect()
    }

    // contract: B9
    #[test]
    fn secrets_are_withheld_unless_passed_or_requested() {
        let host = pairs(&[
            ("HOME", "/h"),
            ("my_api_key", "1"),
            ("GH_TOKEN", "2"),
            ("NPM_TOKEN", "3"),
            ("DB_PASSWORD", "4"),
            ("GOOGLE_CREDENTIALS", "5"),
            ("TERM", "xterm"),
        ]);
        let made = compose(
            host.into_iter(),
            &["GH_TOKEN".into()],
            &pairs(&[("NPM_TOKEN", "mine"), ("PAGER", "less")]),
        );
        assert_eq!(made.withheld, ["DB_PASSWORD", "GOOGLE_CREDENTIALS", "my_api_key"]);
        let expected = pairs(&[
            ("GH_TOKEN", "2"),
            ("GIT_PAGER", "cat"),
            ("GIT_TERMINAL_PROMPT", "0"),
            ("HOME", "/h"),
            ("NO_COLOR", "1"),
            ("NPM_TOKEN", "mine"),
            ("PAGER", "less"),
            ("TERM", "dumb"),
        ]);
        assert_eq!(made.vars.into_iter().collect::<Vec<_>>(), expected);
    }
}
