//! The subcommand `speed`.

use std::{
    hint::black_box,
    time::{Duration, Instant},
};

use clap::Args;
use longrun_core::Registry;
use longrun_sim::{Depth, Source, Trace, run};

use crate::{Outcome, seeds::Seeds};

/// The core is so fast that one pass over the traces says little.
const PASSES: usize = 10;

#[derive(Args)]
pub(crate) struct Speed {
    /// With which seeds.
    #[arg(long, value_name = "SEEDS", default_value = "0..4000")]
    seeds: Seeds,
}

impl Speed {
    pub(crate) fn run(&self) -> Outcome {
        let (traces, sampled) = self.generate(Depth::Sampled);
        let events: usize = traces.iter().map(|trace| trace.events.len()).sum();
        let began = Instant::now();
        for trace in (0..PASSES).flat_map(|_| &traces) {
            replay_alone(trace);
        }
        line("the core alone, on recorded traces", events * PASSES, began.elapsed());
        line("generator, model and every invariant", events, sampled);
        let (_, full) = self.generate(Depth::Full);
        line("the same, with every list and refusal", events, full);
        Ok(0)
    }

    fn generate(&self, depth: Depth) -> (Vec<Trace>, Duration) {
        let began = Instant::now();
        let seeds = self.seeds.from..self.seeds.from + self.seeds.count;
        let traces = seeds.map(|seed| run(&mut Source::from_seed(seed), depth).trace);
        let traces = traces.collect();
        (traces, began.elapsed())
    }
}

fn replay_alone(trace: &Trace) {
    let Ok(mut registry) = Registry::new(trace.config) else { return };
    let mut commands = Vec::new();
    for (now, event) in &trace.events {
        commands.clear();
        // What it says does not matter here, only how long it takes.
        let _ = black_box(registry.handle(*now, event.clone(), &mut commands));
    }
}

fn line(what: &str, events: usize, took: Duration) {
    let rate = events as f64 / took.as_secs_f64() / 1e6;
    anstream::println!("{what:<40}{rate:>8.2} million events/s on one thread");
}
