//! What looking and guarding cost, told with `--nocapture`; nothing is asserted of times.

use super::session::Census;
use super::*;

/// The shortest of several runs.
fn shortest(mut run: impl FnMut()) -> Duration {
    let timed = || {
        let began = Instant::now();
        run();
        began.elapsed()
    };
    std::iter::repeat_with(timed).take(30).min().unwrap()
}

// contract: B6
#[tokio::test]
async fn a_look_costs_by_the_number_of_processes() {
    let process = start("for i in {1..200}; do sleep 1000 & done; echo up; wait");
    line(&process).await;
    let kin = *process.shared.custody.kin();
    let plain = Census::take(None).unwrap();
    assert_eq!(plain.members_of(kin.session).len(), 201);
    let count = plain.len();
    let unmarked = shortest(|| drop(Census::take(None)));
    let younger = shortest(|| drop(Census::take(Some(kin.started))));
    let all = shortest(|| drop(Census::take(Some(0))));
    let shared = shortest(|| drop(process.live_members_lately()));
    println!("{count} processes: a look {unmarked:?}, at marks of the younger {younger:?},");
    println!("at marks of all {all:?}, a count that is shared {shared:?}");
    process.terminate();
    soon(process.done()).await;
}

// contract: T3
#[test]
fn a_start_costs_one_guardian_if_nothing_else_runs() {
    if std::env::var_os("LONGRUN_TEST_HOST").is_none() {
        let name = "a_start_costs_one_guardian_if_nothing_else_runs";
        return again(&["LONGRUN_TEST_HOST=/"], &[name]);
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let _context = runtime.enter();
    let guarding = shortest(|| drop(Charge::take(&Handle::current(), Duration::ZERO)));
    let kept = Charge::take(&Handle::current(), Duration::ZERO);
    let one_more = shortest(|| drop(Charge::take(&Handle::current(), Duration::ZERO)));
    drop(kept);
    assert_eq!(children(), Vec::<String>::new());
    println!("a guardian started and ended {guarding:?}, one more process guarded {one_more:?}");
}
