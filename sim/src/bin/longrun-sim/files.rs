//! The subcommands that work on one trace: `trace`, `replay`, `shrink`, `explain`.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use longrun_sim::{Depth, Source, Trace, explain, replay, run, shrink};

use crate::{Outcome, again, run::write, seeds::Seeds};

#[derive(Args)]
pub(crate) struct Write {
    /// The seed: a number, or a commit hash.
    seed: Seeds,
}

#[derive(Args)]
pub(crate) struct Replay {
    /// The traces.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
}

#[derive(Args)]
pub(crate) struct Shrink {
    /// The trace.
    file: PathBuf,
    /// Where the smaller one goes; by default beside the trace, with `.min` in its name.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Args)]
pub(crate) struct Explain {
    /// The trace.
    file: PathBuf,
    /// How to draw it.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    /// Aligned text.
    Text,
    /// A Mermaid sequence diagram.
    Mermaid,
    /// A picture for a browser.
    Svg,
}

/// Reads a trace; of one that ends in the middle of a line, all before that.
fn load(file: &Path) -> Result<Trace, String> {
    let bytes =
        std::fs::read(file).map_err(|error| format!("cannot read {}: {error}", file.display()))?;
    let (trace, torn) =
        Trace::recover(&bytes).map_err(|error| format!("{}: {error}", file.display()))?;
    if let Some(line) = torn {
        let file = file.display();
        anstream::eprintln!("{file}: it ends in the middle of line {line}, which is left out");
    }
    Ok(trace)
}

impl Write {
    pub(crate) fn run(&self) -> Outcome {
        let report = run(&mut Source::from_seed(self.seed.from), Depth::Sampled);
        anstream::print!("{}", report.trace.print());
        Ok(report.failure.map_or(0, |failure| failure.kind.exit_code()))
    }
}

impl Replay {
    pub(crate) fn run(&self) -> Outcome {
        // All are read before the first is run: a wrong name is no reason to wait.
        let traces: Result<Vec<Trace>, String> = self.files.iter().map(|file| load(file)).collect();
        let mut code = 0;
        for (file, trace) in self.files.iter().zip(traces?) {
            let report = replay(&trace, Depth::Full).map_err(|error| error.to_string())?;
            let events = trace.events.len();
            let Some(failure) = report.failure else {
                anstream::println!("{}: {events} events, and nothing failed", file.display());
                continue;
            };
            anstream::println!("{}: {failure}\n", file.display());
            let line = again::command(&format!("replay {}", again::file(file)));
            anstream::println!("reproduce: {line}");
            // The first failure decides.
            if code == 0 {
                code = failure.kind.exit_code();
            }
        }
        Ok(code)
    }
}

impl Shrink {
    pub(crate) fn run(&self) -> Outcome {
        let trace = load(&self.file)?;
        let Some((small, failure)) = shrink(&trace) else {
            anstream::println!("{} events, and nothing failed", trace.events.len());
            return Ok(0);
        };
        let output = self.output.clone();
        let output = output.unwrap_or_else(|| self.file.with_extension("min.jsonl"));
        write(&output, &small.print())?;
        let (before, after) = (trace.events.len(), small.events.len());
        anstream::println!("{failure}\n");
        anstream::println!("from {before} events to {after}: {}", output.display());
        let line = again::command(&format!("replay {}", again::file(&output)));
        anstream::println!("reproduce: {line}");
        Ok(failure.kind.exit_code())
    }
}

impl Explain {
    pub(crate) fn run(&self) -> Outcome {
        let chart = explain::chart(&load(&self.file)?).map_err(|error| error.to_string())?;
        let drawn = match self.format {
            Format::Text => explain::text(&chart),
            Format::Mermaid => explain::mermaid(&chart),
            Format::Svg => explain::svg(&chart),
        };
        anstream::print!("{drawn}");
        Ok(0)
    }
}
