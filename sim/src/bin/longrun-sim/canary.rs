//! The subcommand `canary`.

use clap::Args;

use crate::{Outcome, seeds::Seeds};

#[derive(Args)]
pub(crate) struct CanaryRun {
    /// Which seeded bug; without it, all of them.
    name: Option<String>,
    /// Within which seeds it has to be found.
    #[arg(long, value_name = "SEEDS", default_value = "0..2000")]
    seeds: Seeds,
}

#[cfg(not(feature = "canary"))]
impl CanaryRun {
    pub(crate) fn run(&self) -> Outcome {
        let (name, seeds) = (self.name.as_deref().unwrap_or("no bug"), self.seeds);
        Err(format!(
            "{name} can be seeded in this build, nor looked for in {} seeds: build it with \
             `--features canary`",
            seeds.count
        ))
    }
}

#[cfg(feature = "canary")]
impl CanaryRun {
    pub(crate) fn run(&self) -> Outcome {
        use longrun_sim::canary::{Canary, hunt};

        let chosen = Canary::ALL.iter().copied();
        let chosen: Vec<Canary> =
            chosen.filter(|c| self.name.as_ref().is_none_or(|name| c.name() == name)).collect();
        if chosen.is_empty() {
            let names: Vec<&str> = Canary::ALL.iter().map(|canary| canary.name()).collect();
            return Err(format!("there is no such canary: choose one of {}", names.join(", ")));
        }
        let mut missed = 0;
        for canary in chosen {
            let (name, text) = (canary.name(), canary.text());
            let Some(found) = hunt(canary, self.seeds.from, self.seeds.count) else {
                missed += 1;
                anstream::println!("NOT FOUND  {name}: {text}");
                anstream::println!("           in {} seeds", self.seeds.count);
                continue;
            };
            anstream::println!("found      {name}: {text}");
            anstream::println!(
                "           after {} seeds, by {} [{}], shrunk from {} events to {}",
                found.seeds,
                found.failure.property.name(),
                found.failure.property.clauses(),
                found.events,
                found.trace.events.len()
            );
        }
        Ok(u8::from(missed > 0))
    }
}
