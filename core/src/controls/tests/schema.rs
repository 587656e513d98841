use alloc::string::ToString;

use crate::controls::{Card, ControlsConfig, tool_specs};

// contract: M1, M3
#[test]
fn the_tools_are_offered_with_these_words_and_schemas() {
    for tool in tool_specs(&ControlsConfig::default()) {
        let text = alloc::format!("{}\n\n{}", tool.description, tool.input_schema);
        insta::assert_snapshot!(tool.name, text);
    }
}

// contract: W8
#[test]
fn several_tasks_at_once_are_offered_only_where_that_is_set() {
    let config = ControlsConfig::default();
    assert!(!config.offers_task_ids() && config.with_task_ids().offers_task_ids());
    let [output, _, _] = tool_specs(&config.with_task_ids());
    let text = alloc::format!("{}\n\n{}", output.description, output.input_schema);
    insta::assert_snapshot!("task_output_of_several", text);
}

// contract: M3
#[test]
fn the_schema_names_the_configured_default_and_cap() {
    let [output, _, _] = tool_specs(&ControlsConfig::new(7, 99).unwrap());
    assert!(output.input_schema.contains("Default: 7; longer than 99 counts as 99."));
}

// contract: M7
#[test]
fn output_and_list_look_and_kill_acts() {
    let cards = tool_specs(&ControlsConfig::default()).map(|tool| tool.card);
    assert_eq!(cards, [Card::Read, Card::Read, Card::Execute]);
}

// contract: M3
#[test]
fn a_default_wait_is_30_seconds_and_10_minutes_at_most() {
    assert_eq!(ControlsConfig::new(30_000, 600_000), Ok(ControlsConfig::default()));
}

// contract: M3, W2
#[test]
fn times_that_no_wait_can_have_are_refused() {
    let refused = |wait, max| ControlsConfig::new(wait, max).unwrap_err().to_string();
    assert_eq!(refused(0, 9), "`wait_timeout_ms` must be from 1 to 2147483647 milliseconds, not 0");
    assert_eq!(
        refused(1, 2_147_483_648),
        "`max_wait_timeout_ms` must be from 1 to 2147483647 milliseconds, not 2147483648"
    );
    assert_eq!(
        refused(10, 9),
        "`wait_timeout_ms` (10) must not be above `max_wait_timeout_ms` (9)"
    );
    assert!(ControlsConfig::new(2_147_483_647, 2_147_483_647).is_ok());
}
