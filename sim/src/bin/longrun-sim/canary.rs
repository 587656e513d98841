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

/// Puts the seeded bug of that name into the core.
#[cfg(feature = "canary")]
pub(crate) fn put(name: Option<&str>) -> Result<(), String> {
    let Some(name) = name else { return Ok(()) };
    longrun_sim::canary::put(Some(find(name)?));
    Ok(())
}

#[cfg(feature = "canary")]
fn find(name: &str) -> Result<longrun_sim::canary::Canary, String> {
    use longrun_sim::canary::Canary;

    Canary::ALL.iter().find(|canary| canary.name() == name).copied().ok_or_else(|| {
        let names: Vec<&str> = Canary::ALL.iter().map(|canary| canary.name()).collect();
        format!("there is no canary `{name}`: choose one of {}", names.join(", "))
    })
}

#[cfg(feature = "canary")]
impl CanaryRun {
    pub(crate) fn run(&self) -> Outcome {
        use crate::again;
        use longrun_sim::canary::{Canary, hunt};

        let chosen = match &self.name {
            Some(name) => vec![find(name)?],
            None => Canary::ALL.to_vec(),
        };
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
            let seed = self.seeds.from.wrapping_add(found.seeds - 1);
            let line = again::command(&format!("campaign --seeds {seed} --with-canary {name}"));
            anstream::println!("           reproduce: {line}");
        }
        Ok(u8::from(missed > 0))
    }
}
