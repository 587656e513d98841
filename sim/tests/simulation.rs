//! The simulation as a test: seeds, byte vectors that shrink, traces, the search.

use longrun_sim::{
    Coverage, Depth, Label, Property, Source, Trace,
    campaign::{Plan, RUNS_THAT_SEE_ALL, campaign},
    exhaustive::{Search, WORLDS, search},
    explain, phases, replay, run, shrink,
};
use proptest::prelude::*;

fn must_hold(source: &mut Source) -> Coverage {
    let report = run(source, Depth::Full);
    if let Some(failure) = report.failure {
        let (trace, failure) = shrink(&report.trace).unwrap_or((report.trace, failure));
        panic!("{failure}\n\n{}", trace.print());
    }
    report.coverage
}

// contract: X3, S9, S10, L1, L3, L4, A2, A4, R1, R3, K2, K3, K5, W1, W3, W4, W5, W6, W7
// contract: C1, C2, C3, C4, O1, O2, O3, O4, O5, O6, O7, O8, T1, N1, N2, N3, N5, N7, N8
#[test]
fn every_property_holds_in_hundreds_of_runs_with_every_check_after_every_event() {
    for seed in 0..400 {
        must_hold(&mut Source::from_seed(seed));
    }
}

// contract: X3, U1, U2, O1, O2, T1, K2, N1, N2
#[test]
fn what_is_told_of_a_producer_that_starts_in_two_steps_is_what_each_scenario_says() {
    for scenario in phases::SCENARIOS {
        let played = phases::play(scenario).unwrap_or_else(|failure| panic!("{failure}"));
        assert_eq!(played.told(), scenario.told, "{}", scenario.name);
    }
}

#[test]
fn a_campaign_sees_everything_that_it_says_happens_sometimes() {
    let plan = Plan {
        from: 0,
        count: Some(RUNS_THAT_SEE_ALL),
        time: None,
        jobs: 2,
        shard: (0, 1),
        depth: Depth::Sampled,
    };
    let tally = campaign(&plan, &|_| ());
    assert!(tally.failure.is_none(), "{:?}", tally.failure);
    assert_eq!(tally.runs, RUNS_THAT_SEE_ALL);
    assert_eq!(tally.never_seen(), []);
}

#[test]
fn shards_of_a_campaign_run_each_seed_once() {
    let plan = |part| Plan {
        from: 7,
        count: Some(30),
        time: None,
        jobs: 1,
        shard: (part, 4),
        depth: Depth::Sampled,
    };
    let runs: Vec<u64> = (0..4).map(|part| campaign(&plan(part), &|_| ()).runs).collect();
    assert_eq!(runs, [8, 8, 7, 7]);
}

// contract: X2
#[test]
fn the_same_seed_gives_the_same_trace_and_the_trace_replays_without_the_seed() {
    for seed in 0..50 {
        let first = run(&mut Source::from_seed(seed), Depth::Sampled).trace;
        let second = run(&mut Source::from_seed(seed), Depth::Full).trace;
        assert_eq!(first.print(), second.print(), "seed {seed}");
        let replayed = replay(&first, Depth::Full).expect("a fit trace");
        assert_eq!(replayed.failure, None, "seed {seed}");
    }
}

#[test]
fn a_trace_reads_back_as_it_was_written() {
    for seed in 0..50 {
        let trace = run(&mut Source::from_seed(seed), Depth::Sampled).trace;
        assert_eq!(Trace::parse(&trace.print()).expect("a trace"), trace);
    }
}

#[test]
fn what_is_not_a_trace_is_turned_down_with_the_line_and_the_reason() {
    let parse = |text: &str| Trace::parse(text).expect_err("not a trace").to_string();
    assert!(parse("").starts_with("a trace begins with"));
    assert!(parse("{}").starts_with("line 1 is not the header of a trace"));
    let header = "{\"longrun_trace\":1,\"config\":{}}";
    assert!(Trace::parse(header).is_ok());
    assert!(parse(&format!("{header}\n\n{{\"now\":1}}")).starts_with("line 3 is not an event"));
    assert!(parse(&header.replace(":1", ":2")).contains("has format 2"));
    let zero = header.replace("{}", "{\"max_active_per_owner\":0}");
    assert!(parse(&zero).contains("max_active_per_owner"));
}

#[test]
fn a_trace_that_does_not_fail_has_nothing_to_shrink() {
    let trace = run(&mut Source::from_seed(3), Depth::Sampled).trace;
    assert_eq!(shrink(&trace), None);
}

#[test]
fn a_drawn_trace_has_a_lane_for_each_owner_task_and_wait_and_a_row_for_each_event() {
    for seed in 0..20 {
        let trace = run(&mut Source::from_seed(seed), Depth::Sampled).trace;
        let chart = explain::chart(&trace).expect("a fit trace");
        assert_eq!(chart.rows.len(), trace.events.len());
        let text = explain::text(&chart);
        assert!(chart.lanes.iter().all(|lane| text.contains(&lane.name)), "{text}");
        assert!(text.ends_with("✓ nothing failed\n"), "{text}");
        let mermaid = explain::mermaid(&chart);
        let messages = mermaid.lines().filter(|line| line.contains("W->>L")).count();
        assert_eq!(messages, chart.rows.len());
        let svg = explain::svg(&chart);
        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
        assert_eq!(svg.matches("r=\"5\"").count(), chart.rows.len());
    }
}

// contract: X3, N1, W6, K5, O2, S8
#[test]
fn every_order_of_every_event_of_the_small_worlds_holds() {
    for world in WORLDS {
        let plan = Search { depth: 6, jobs: 2, max_states: 100_000 };
        let found = search(world, &plan, &|_, _, _| ());
        assert!(found.failure.is_none(), "{}: {:?}", world.name, found.failure);
        assert!(found.states > 50, "{}: {found:?}", world.name);
    }
}

#[test]
fn a_small_world_is_searched_to_its_end() {
    let world = WORLDS.iter().find(|world| world.name == "tellers").expect("that world");
    let plan = Search { depth: 100, jobs: 2, max_states: 1_000_000 };
    let found = search(world, &plan, &|_, _, _| ());
    assert!(found.complete && found.failure.is_none(), "{found:?}");
    assert!(found.states > 1_000, "{found:?}");
}

#[test]
fn every_property_has_a_clause_a_text_and_a_name_of_its_own() {
    let mut names: Vec<String> = Property::ALL.iter().map(|p| p.name()).collect();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), Property::ALL.len());
    assert!(Property::ALL.iter().all(|p| !p.clauses().is_empty() && !p.text().is_empty()));
    assert!(Property::ALL.iter().any(|p| p.label() == Label::Eventually));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    // contract: X3
    #[test]
    fn every_property_holds_whatever_the_bytes_say(
        bytes in proptest::collection::vec(any::<u8>(), 0..1500),
    ) {
        let report = run(&mut Source::from_bytes(&bytes), Depth::Full);
        prop_assert!(report.failure.is_none(), "{}", report.failure.expect("a failure"));
    }
}
