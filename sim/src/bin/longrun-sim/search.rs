//! The subcommand `exhaustive`.

use clap::Args;
use longrun_sim::{
    exhaustive::{Search, WORLDS, search},
    shrink,
};

use crate::{Outcome, again, run::write};

#[derive(Args)]
pub(crate) struct Exhaustive {
    /// Which world; without it, they are listed.
    #[arg(long)]
    world: Option<String>,
    /// How many events deep.
    #[arg(long, default_value_t = 6)]
    depth: usize,
    /// On how many threads; by default one for each processor.
    #[arg(long)]
    jobs: Option<usize>,
    /// Stop after so many states.
    #[arg(long, default_value_t = 20_000_000)]
    max_states: usize,
}

impl Exhaustive {
    pub(crate) fn run(&self) -> Outcome {
        let Some(name) = &self.world else {
            for world in WORLDS {
                anstream::println!("{:<14} {}", world.name, world.text);
            }
            return Ok(0);
        };
        let world = WORLDS.iter().find(|world| world.name == name).ok_or_else(|| {
            let names: Vec<&str> = WORLDS.iter().map(|world| world.name).collect();
            format!("there is no world `{name}`: choose one of {}", names.join(", "))
        })?;
        let jobs = self.jobs.unwrap_or_else(|| {
            std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
        });
        let plan = Search { depth: self.depth, jobs, max_states: self.max_states };
        let found = search(world, &plan, &|depth, states, transitions| {
            eprintln!("depth {depth}: {states} states, {transitions} transitions");
        });
        for (phase, met, _) in found.pairs.rows().filter(|(_, met, _)| !met.is_empty()) {
            anstream::println!("{phase:<16} {}", met.join(", "));
        }
        let seconds = found.elapsed.as_secs_f64();
        let end = match (found.failure.is_some(), found.complete) {
            (true, _) => "stopped at a failure",
            (false, true) => "the whole world",
            (false, false) => "cut off there",
        };
        anstream::println!(
            "\n{name}: {} states, {} transitions, depth {} ({end}) in {seconds:.1} s",
            found.states,
            found.transitions,
            found.depth
        );
        let Some((trace, failure)) = found.failure else { return Ok(0) };
        let (trace, failure) = shrink(&trace).unwrap_or((trace, failure));
        let file = std::path::PathBuf::from(format!("longrun-sim-{name}.jsonl"));
        write(&file, &trace.print())?;
        let line = again::command(&format!("replay {}", again::file(&file)));
        anstream::println!("{failure}\n\nreproduce: {line}");
        Ok(failure.kind.exit_code())
    }
}
