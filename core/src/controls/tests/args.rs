use alloc::{format, string::String, string::ToString, vec};
use core::time::Duration;

use proptest::prelude::*;

use super::hostile;
use crate::TaskId;
use crate::controls::{
    Arg, AskedTasks, ControlsConfig, KillArgs, parse_kill, parse_list, parse_output,
    unknown_task_text,
};

const ID: (&str, Arg<'static>) = ("task_id", Arg::Text("bash-1"));

/// The same, whether or not several tasks can be asked for.
fn wait_of(args: &[(&str, Arg<'_>)]) -> Result<Option<Duration>, String> {
    let config = ControlsConfig::default();
    let [wait, with_task_ids] = [config, config.with_task_ids()].map(|config| {
        let args = [ID].into_iter().chain(args.iter().cloned());
        let parsed = parse_output(args, &config);
        parsed.map(|args| args.wait).map_err(|error| error.to_string())
    });
    assert_eq!(wait, with_task_ids);
    wait
}

// contract: M3
#[test]
fn a_read_does_not_wait_unless_it_is_asked_to() {
    assert_eq!(wait_of(&[]), Ok(None));
    assert_eq!(wait_of(&[("wait", Arg::Bool(false))]), Ok(None));
    assert_eq!(wait_of(&[("wait", Arg::Null), ("timeout_ms", Arg::Number(5.0))]), Ok(None));
}

// contract: M3
#[test]
fn a_wait_lasts_as_asked_or_the_default_and_never_above_the_cap() {
    let wait = |ms| {
        wait_of(&[("wait", Arg::Bool(true)), ("timeout_ms", ms)]).unwrap().unwrap().as_millis()
    };
    assert_eq!(wait(Arg::Null), 30_000);
    assert_eq!(wait(Arg::Number(250.0)), 250);
    assert_eq!(wait(Arg::Number(250.001)), 251);
    assert_eq!(wait(Arg::Number(f64::MIN_POSITIVE)), 1);
    assert_eq!(wait(Arg::Number(600_000.0)), 600_000);
    assert_eq!(wait(Arg::Number(599_999.5)), 600_000);
    assert_eq!(wait(Arg::Number(600_000.5)), 600_000);
    assert_eq!(wait(Arg::Number(2_147_483_647.0)), 600_000);
}

// contract: W2, M3
#[test]
fn a_timeout_out_of_range_is_refused_with_the_range_only_if_it_is_used() {
    for (ms, shown) in [
        (0.0, "0"),
        (-1.5, "-1.5"),
        (f64::NAN, "NaN"),
        (f64::INFINITY, "inf"),
        (-1e300, "-1e300"),
        (1e300, "1e300"),
        (2_147_483_648.0, "2147483648"),
    ] {
        let timeout = ("timeout_ms", Arg::Number(ms));
        assert_eq!(wait_of(core::slice::from_ref(&timeout)), Ok(None));
        assert_eq!(
            wait_of(&[("wait", Arg::Bool(true)), timeout]).unwrap_err(),
            format!(
                "invalid arguments: `timeout_ms`: expected above 0 and at most 2147483647 \
                 milliseconds, got {shown}"
            )
        );
    }
}

// contract: M3
#[test]
fn everything_that_is_wrong_is_said_at_once() {
    let args = [
        ("task_id", Arg::Number(1.0)),
        ("wait", Arg::Text("yes\u{1b}")),
        ("timeout_ms", Arg::List(vec![])),
        ("tail", Arg::Null),
    ];
    insta::assert_snapshot!(
        parse_output(args, &ControlsConfig::default()).unwrap_err().violations().join("\n"),
        @r"
    unknown `tail`, expected only `task_id`, `wait`, `timeout_ms`
    `task_id`: expected a non-empty string, got 1
    `wait`: expected true or false, got the string `yes\u{1b}`
    `timeout_ms`: expected a number of milliseconds, got an array
    "
    );
    let kill = [("reason", Arg::Bool(true)), ("task_id", Arg::Text(""))];
    assert_eq!(
        parse_kill(kill).unwrap_err().to_string(),
        "invalid arguments: `task_id`: expected a non-empty string, got an empty one; \
         `reason`: expected a string, got true"
    );
    assert_eq!(
        parse_list([("all", Arg::Bool(true))]).unwrap_err().to_string(),
        "invalid arguments: unknown `all`, expected no arguments"
    );
}

fn several<'a>(args: &[(&'a str, Arg<'a>)]) -> Result<AskedTasks, String> {
    let config = ControlsConfig::default().with_task_ids();
    parse_output(args.to_vec(), &config).map(|args| args.tasks).map_err(|error| error.to_string())
}

fn texts<'a>(ids: &[&'a str]) -> (&'static str, Arg<'a>) {
    ("task_ids", Arg::List(ids.iter().map(|id| Arg::Text(id)).collect()))
}

// contract: W8, M3
#[test]
fn several_tasks_are_asked_for_by_their_ids_and_one_as_ever() {
    let id = |id| TaskId::parse(id).map_err(|_| unreachable!());
    assert_eq!(several(&[ID]), Ok(AskedTasks::One(id("bash-1"))));
    let ids = vec![id("bash-1"), id("bash-2")];
    let asked = |ids, until_all| Ok(AskedTasks::Several { ids, until_all });
    assert_eq!(several(&[texts(&["bash-1", "bash-2"])]), asked(ids.clone(), false));
    let all = ("until", Arg::Text("all"));
    assert_eq!(several(&[texts(&["bash-2"]), ID, all.clone()]), asked(ids, true));
    let only = [texts(&["x"]), ("until", Arg::Text("any")), ("task_id", Arg::Null)];
    let Ok(AskedTasks::Several { ids, until_all: false }) = several(&only) else { panic!() };
    assert_eq!(ids[0].clone().unwrap_err().to_string(), unknown_task_text("x"));
    let not_set = parse_output([ID, all], &ControlsConfig::default());
    assert!(not_set.unwrap_err().to_string().contains("unknown `until`"));
}

// contract: W8, M3
#[test]
fn what_is_wrong_with_several_is_said() {
    let until = |until| [ID, ("until", until)];
    let long = ["bash-1"; 33];
    insta::assert_snapshot!(
        [
            several(&[]),
            several(&[texts(&[])]),
            several(&[texts(&long)]),
            several(&[texts(&["bash-1", ""])]),
            several(&[("task_ids", Arg::List(vec![Arg::Bool(true)]))]),
            several(&[("task_ids", Arg::Text("bash-1"))]),
            several(&until(Arg::Text("both"))),
            several(&until(Arg::Number(1.0))),
        ]
        .map(Result::unwrap_err)
        .join("\n"),
        @r"
    invalid arguments: `task_id` or `task_ids`: expected one of them, got neither
    invalid arguments: `task_ids`: expected 1 to 32 non-empty strings, got 0
    invalid arguments: `task_ids`: expected 1 to 32 non-empty strings, got 33
    invalid arguments: `task_ids`: expected 1 to 32 non-empty strings, got an empty one among them
    invalid arguments: `task_ids`: expected 1 to 32 non-empty strings, got true
    invalid arguments: `task_ids`: expected an array of 1 to 32 non-empty strings, got the string `bash-1`
    invalid arguments: `until`: expected `any` or `all`, got the string `both`
    invalid arguments: `until`: expected `any` or `all`, got 1
    "
    );
}

// contract: A6
#[test]
fn an_error_stays_short_whatever_came() {
    let key = "k".repeat(1000);
    let args = vec![(key.as_str(), Arg::Text(&key)); 1000];
    let error = parse_kill(args).unwrap_err().to_string();
    assert!(error.contains("and 995 more") && error.len() < 400, "{error}");
}

// contract: A5, A6
#[test]
fn an_id_that_does_not_parse_gets_the_answer_of_an_unknown_one() {
    let long = "9".repeat(5000);
    for id in ["bash", "bash-0", "bash-01", "../x", "bash-1\n", " ", &long] {
        let unknown = parse_kill([("task_id", Arg::Text(id))]).unwrap().task_id.unwrap_err();
        assert_eq!(unknown.to_string(), unknown_task_text(id));
        assert!(unknown_task_text(id).contains(&format!("`{}`", unknown.shown())));
    }
}

// contract: K1
#[test]
fn a_reason_is_passed_on_verbatim() {
    let args = [ID, ("reason", Arg::Text("no\nlonger "))];
    let task_id = Ok(TaskId::parse("bash-1").unwrap());
    assert_eq!(parse_kill(args), Ok(KillArgs { task_id, reason: Some("no\nlonger ") }));
    assert_eq!(parse_kill([ID, ("reason", Arg::Null)]).unwrap().reason, None);
}

fn any_arg() -> impl Strategy<Value = (String, usize, f64, String)> {
    let key = prop_oneof![
        prop::sample::select(vec!["task_id", "wait", "timeout_ms", "reason"])
            .prop_map(String::from),
        hostile(),
    ];
    (key, 0..5_usize, any::<f64>(), hostile())
}

proptest! {
    // contract: A6, W2
    #[test]
    fn any_arguments_are_answered_within_the_range_or_with_a_short_error(
        args in prop::collection::vec(any_arg(), 0..8), max in 1..2_147_483_648_u64,
    ) {
        let config = ControlsConfig::new(1, max).unwrap();
        let args = || args.iter().map(|(key, which, number, text)| {
            let arg = match which {
                0 => Arg::Null,
                1 => Arg::Bool(true),
                2 => Arg::Number(*number),
                3 => Arg::Text(text),
                _ => Arg::Other("an object"),
            };
            (key.as_str(), arg)
        });
        match parse_output(args(), &config) {
            Ok(args) => if let Some(wait) = args.wait {
                prop_assert!((1..=u128::from(max)).contains(&wait.as_millis()));
                prop_assert_eq!(wait.subsec_nanos() % 1_000_000, 0);
            },
            Err(error) => {
                let error = error.to_string();
                prop_assert!(error.chars().count() < 700);
                prop_assert!(!error.chars().any(char::is_control));
            }
        }
        let _ = (parse_kill(args()), parse_list(args()));
    }
}
