//! The environment of a command.
//!
//! Three layers, later ones win: what the host has, without what looks like a secret and
//! without what asks or colours; a presentation fit for a reader that is no terminal; what
//! the request says. [`BashConfig::pass_env`](super::BashConfig::pass_env) tells the whole
//! rule, and so does the help of `longrun serve --env`.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

/// A variable whose name has one of these in it is kept from commands.
const SECRET: [&str; 6] = ["KEY", "PASSWORD", "SECRET", "TOKEN", "CREDENTIAL", "PASSPHRASE"];

/// So is one that has one of these between underscores: they are parts of other words.
const SECRET_WORDS: [&str; 6] = ["PASS", "PASSWD", "PWD", "PAT", "JWT", "BEARER"];

/// Names like these are no secrets for all that.
const DIRECTORIES: [&str; 2] = ["PWD", "OLDPWD"];

/// Names that end like this tell a program to run another one, which waits for somebody.
const ASKING: [&str; 4] = ["EDITOR", "VISUAL", "ASKPASS", "PAGER"];

/// These colour what no terminal reads.
const COLOURING: [&str; 2] = ["FORCE_COLOR", "CLICOLOR_FORCE"];

/// No colours, no pagers, no questions. Where an empty value is set, it keeps a program from
/// what its configuration names.
const PRESENTATION: [(&str, &str); 16] = [
    ("NO_COLOR", "1"),
    ("CARGO_TERM_COLOR", "never"),
    ("TERM", "dumb"),
    ("PAGER", "cat"),
    ("AWS_PAGER", ""),
    ("GH_PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("MANPAGER", "cat"),
    ("SYSTEMD_PAGER", "cat"),
    ("DEBIAN_FRONTEND", "noninteractive"),
    ("GCM_INTERACTIVE", "never"),
    ("GH_PROMPT_DISABLED", "1"),
    ("GIT_ASKPASS", ""),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("PIP_NO_INPUT", "1"),
    ("SSH_ASKPASS_REQUIRE", "never"),
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
    let (passed, kept): (BTreeMap<_, _>, BTreeMap<_, _>) =
        host.partition(|(name, _)| passed.contains(name));
    let (secret, mut vars): (BTreeMap<_, _>, BTreeMap<_, _>) =
        kept.into_iter().partition(|(name, _)| is_secret(name));
    vars.retain(|name, _| !disturbs(name));
    vars.extend(PRESENTATION.map(|(name, value)| (name.into(), value.into())));
    vars.extend(passed);
    vars.extend(requested.iter().cloned());
    let withheld = secret.into_keys().filter(|name| !vars.contains_key(name)).collect();
    Environment { vars, withheld }
}

fn is_secret(name: &OsStr) -> bool {
    let name = name.to_string_lossy().to_uppercase();
    SECRET.iter().any(|part| name.contains(part))
        || !DIRECTORIES.contains(&&*name)
            && name.split('_').any(|word| SECRET_WORDS.contains(&word))
}

fn disturbs(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    COLOURING.contains(&&*name) || ASKING.iter().any(|end| name.ends_with(end))
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
        let mut expected = presentation();
        expected.extend(pairs(&[
            ("GH_TOKEN", "2"),
            ("HOME", "/h"),
            ("NPM_TOKEN", "mine"),
            ("PAGER", "less"),
        ]));
        assert_eq!(made.vars, expected);
    }

    fn presentation() -> BTreeMap<OsString, OsString> {
        pairs(&PRESENTATION).into_iter().collect()
    }

    // contract: B9
    #[test]
    fn what_is_a_secret_goes_by_the_parts_of_its_name() {
        let secrets = [
            "GITHUB_PAT",
            "MYSQL_PWD",
            "SMTP_PASS",
            "PASS",
            "db_passwd",
            "JWT",
            "MY_BEARER_X",
            "PGPASSWORD",
            "APIKEY",
        ];
        let others = ["PWD", "OLDPWD", "PATH", "MANPATH", "COMPASS", "PASSENGER_APP", "PATTERN"];
        for name in secrets {
            assert!(is_secret(name.as_ref()), "{name}");
        }
        for name in others {
            assert!(!is_secret(name.as_ref()), "{name}");
        }
    }

    // contract: B9
    #[test]
    fn what_asks_or_colours_is_left_out_unless_passed_or_requested() {
        let names = [
            "EDITOR",
            "VISUAL",
            "GIT_EDITOR",
            "GIT_SEQUENCE_EDITOR",
            "SSH_ASKPASS",
            "SUDO_ASKPASS",
            "PSQL_PAGER",
            "FORCE_COLOR",
            "CLICOLOR_FORCE",
            "GIT_ASKPASS",
            "TERM",
            "MANPAGER",
        ];
        let host = || names.map(|name| (name.into(), "theirs".into())).into_iter();
        let made = compose(host(), &[], &[]);
        assert_eq!((made.vars, made.withheld), (presentation(), Vec::new()));
        let made = compose(host(), &names.map(Into::into), &[]);
        assert!(names.iter().all(|name| made.vars[OsStr::new(name)] == "theirs"), "{made:?}");
        let requested: Vec<_> = names.map(|name| (name.into(), "mine".into())).into();
        let made = compose(host(), &names.map(Into::into), &requested);
        assert!(names.iter().all(|name| made.vars[OsStr::new(name)] == "mine"), "{made:?}");
    }
}
