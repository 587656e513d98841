//! The schemas, held against what the tools take.

use jsonschema::{Draft, Validator};
use longrun_tokio::{
    core::controls::ControlsConfig,
    tools::{BashOptions, SubagentOptions, Tool, ToolDescription},
};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::Harness;

/// Every tool in each of its forms, with the validator of its schema.
fn tools() -> Vec<(Box<dyn Tool>, ToolDescription, Validator)> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let _entered = runtime.enter();
    let mut tools: Vec<Box<dyn Tool>> = Vec::new();
    for config in [ControlsConfig::default(), ControlsConfig::default().with_task_ids()] {
        let harness = Harness::with(config);
        tools.extend(harness.controls.tools());
        for enable_run_in_background in [true, false] {
            let options = BashOptions { enable_run_in_background, ..BashOptions::default() };
            tools.push(Box::new(harness.bash(options)));
            let options = SubagentOptions { enable_run_in_background, ..Default::default() };
            tools.push(Box::new(harness.subagent(options)));
        }
    }
    tools
        .into_iter()
        .map(|tool| {
            let offered = tool.description();
            let options = jsonschema::options().with_draft(Draft::Draft202012);
            let validator = options.build(&offered.input_schema).unwrap();
            (tool, offered, validator)
        })
        .collect()
}

// contract: M1
#[test]
fn each_schema_is_one_of_the_2020_12_dialect_and_of_an_object_without_other_keys() {
    for (_, offered, _) in tools() {
        let schema = offered.input_schema;
        jsonschema::draft202012::meta::validate(&schema).unwrap_or_else(|wrong| panic!("{wrong}"));
        assert_eq!(schema["type"], "object");
        assert_eq!(schema["additionalProperties"], false);
        for refused in ["oneOf", "anyOf", "allOf", "$schema"] {
            assert_eq!(schema.get(refused), None, "{}: {refused}", offered.name);
        }
        for (name, property) in schema["properties"].as_object().unwrap() {
            let said = property["description"].as_str().unwrap();
            assert!(said.ends_with('.'), "{name}: {said}");
        }
    }
}

// contract: M1, M3, P2
#[test]
fn real_calls_are_taken_by_schema_and_tool_alike() {
    let calls = [
        ("bash", json!({"command": "true"}), true),
        (
            "bash",
            json!({"command": "true", "description": "x", "workdir": "a", "timeout_ms": 0.5}),
            true,
        ),
        ("bash", json!({}), false),
        ("bash", json!({"command": " \n"}), false),
        ("bash", json!({"command": "true", "timeout_ms": 0}), false),
        ("bash", json!({"command": "true", "run_in_background": "yes"}), false),
        ("bash", json!({"cmd": "true"}), false),
        ("subagent", json!({"description": "x", "prompt": "y"}), true),
        ("subagent", json!({"description": "x"}), false),
        ("subagent", json!({"description": " ", "prompt": "y"}), false),
        ("subagent", json!({"description": "x", "prompt": "y", "depth": 1}), false),
        ("task_output", json!({"task_id": "bash-1"}), true),
        ("task_output", json!({"task_id": "bash-1", "wait": true, "timeout_ms": 3_600_000}), true),
        ("task_output", json!({"task_id": "bash-1", "wait": true, "timeout_ms": 0}), false),
        ("task_output", json!({"task_id": "bash-1", "wait": true, "timeout_ms": 1e12}), false),
        ("task_output", json!({"task_id": ""}), false),
        ("task_output", json!({"wait": true}), false),
        ("task_list", json!({}), true),
        ("task_list", json!({"all": true}), false),
        ("task_kill", json!({"task_id": "bash-1", "reason": "x"}), true),
        ("task_kill", json!({"task_id": 1}), false),
        ("task_kill", json!([]), false),
    ];
    for (tool, offered, schema) in tools() {
        let name = offered.name;
        for (_, args, taken) in calls.iter().filter(|(of, ..)| *of == name) {
            assert_eq!(schema.is_valid(args), *taken, "the schema of {name}: {args}");
            assert_eq!(tool.check(args).is_ok(), *taken, "{name}: {args}");
        }
    }
    let background = json!({"command": "true", "run_in_background": true});
    let several = json!({"task_ids": ["bash-1", "bash-2"], "until": "all", "wait": true});
    for (args, of) in [(background, "bash"), (several, "task_output")] {
        let taken: Vec<bool> = tools()
            .iter()
            .filter(|(_, offered, _)| offered.name == of)
            .map(|(tool, _, schema)| {
                assert_eq!(schema.is_valid(&args), tool.check(&args).is_ok());
                schema.is_valid(&args)
            })
            .collect();
        assert!(taken.contains(&true) && taken.contains(&false), "{of}: {taken:?}");
    }
}

/// A value that an argument might have, mostly near what is taken.
fn any_value() -> impl Strategy<Value = Value> {
    let one = prop_oneof![
        3 => Just(Value::Null),
        2 => any::<bool>().prop_map(Value::from),
        1 => prop::sample::select(vec![0.0, -0.0, 1.0, 0.5, -1.0, 2_147_483_647.0, 2_147_483_648.0])
            .prop_map(Value::from),
        1 => any::<f64>().prop_map(Value::from),
        1 => any::<i64>().prop_map(Value::from),
        1 => prop::sample::select(vec!["", " ", "\n\t", "x", "bash-1", "any", "all", "../x", "é"])
            .prop_map(Value::from),
        1 => Just(json!({})),
    ];
    prop_oneof![
        4 => one.clone(),
        1 => prop::collection::vec(one, 0..40).prop_map(Value::from),
        1 => prop::collection::vec("[a-z]{0,3}", 0..36).prop_map(Value::from),
    ]
}

/// Some of the arguments of a call that could be, and some others on top.
fn any_args() -> impl Strategy<Value = Value> {
    let whole = [
        json!({
            "command": "true", "description": "x", "timeout_ms": 5, "workdir": "/",
            "run_in_background": true,
        }),
        json!({"description": "x", "prompt": "y", "run_in_background": true}),
        json!({"task_id": "bash-1", "wait": true, "timeout_ms": 5}),
        json!({"task_ids": ["bash-1", "x"], "until": "all", "wait": true, "timeout_ms": 5}),
        json!({"task_id": "bash-1", "reason": "x"}),
        json!({}),
    ];
    let keys: Vec<String> = whole
        .iter()
        .flat_map(|call| call.as_object().unwrap().keys().cloned())
        .chain(["x".to_owned()])
        .collect();
    let some = (prop::sample::select(whole.to_vec()), any::<u8>()).prop_map(|(call, kept)| {
        let Value::Object(call) = call else { unreachable!("each is an object") };
        let kept = call.into_iter().zip(0..).filter(|(_, place)| kept >> place & 3 != 0);
        kept.map(|(arg, _)| arg).collect::<Map<_, _>>()
    });
    let others = prop::collection::vec((prop::sample::select(keys), any_value()), 0..3);
    let object = (some, others).prop_map(|(mut args, others)| {
        args.extend(others);
        Value::Object(args)
    });
    prop_oneof![12 => object, 1 => any_value()]
}

/// The two things that a tool takes and does not offer: null for an argument that is not
/// there, and a `timeout_ms` of which no use is made, whatever its size.
fn as_offered(args: &Value, description: &ToolDescription) -> Value {
    let Value::Object(args) = args else { return args.clone() };
    let mut args = args.clone();
    args.retain(|key, value| {
        !value.is_null() || description.input_schema["properties"].get(key).is_none()
    });
    let waits = args.get("wait") == Some(&json!(true));
    if description.name == "task_output"
        && !waits
        && args.get("timeout_ms").is_some_and(Value::is_number)
    {
        args.remove("timeout_ms");
    }
    Value::Object(args)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6_000))]
    // contract: M1, M3, P2
    #[test]
    fn what_the_schema_takes_the_tool_takes_and_the_other_way_round(args in any_args()) {
        thread_local!(static TOOLS: Vec<(Box<dyn Tool>, ToolDescription, Validator)> = tools());
        TOOLS.with(|tools| {
            for (tool, offered, schema) in tools {
                let taken = tool.check(&args);
                if schema.is_valid(&args) {
                    prop_assert!(taken.is_ok(), "{}: {:?}", offered.name, taken);
                }
                let as_offered = schema.is_valid(&as_offered(&args, offered));
                prop_assert_eq!(taken.is_ok(), as_offered, "{}: {:?}", offered.name, taken);
            }
            Ok(())
        })?;
    }
}
