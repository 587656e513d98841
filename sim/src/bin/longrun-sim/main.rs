//! `longrun-sim`: campaigns, replay, shrinking, drawing, exhaustive search.
//!
//! Exit codes: 0 all is well, 1 a property was broken, 2 the command line or a file is
//! not what it should be, 3 the registry panicked, 4 the healed world did not come to
//! rest.

mod again;
mod canary;
mod files;
mod report;
mod run;
mod search;
mod seeds;
mod speed;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Deterministic simulation of longrun's core.
///
/// Exit codes: 0 all is well; 1 a property was broken; 2 the command line or a file is not
/// what it should be; 3 the registry panicked; 4 the healed world did not come to rest.
#[derive(Parser)]
#[command(version, about, max_term_width = 100)]
struct Cli {
    /// Put that seeded bug into the core first.
    #[cfg(feature = "canary")]
    #[arg(long = "with-canary", value_name = "NAME", global = true)]
    canary: Option<String>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run many seeds, until one fails or the time is over.
    Campaign(run::Campaign),
    /// Write the trace of a seed, whether it fails or not.
    Trace(files::Write),
    /// Run traces again, and say what fails.
    Replay(files::Replay),
    /// Make a failing trace small.
    Shrink(files::Shrink),
    /// Draw a trace.
    Explain(files::Explain),
    /// Search a small world: every order of every event.
    Exhaustive(search::Exhaustive),
    /// Put seeded bugs into the core, and see that they are found.
    Canary(canary::CanaryRun),
    /// Measure how fast the core and its proof are here.
    Speed(speed::Speed),
}

/// What a command came to: an exit code, or what is wrong with what it was given.
type Outcome = Result<u8, String>;

/// The command line or a file is not what it should be.
const USAGE: u8 = 2;

fn main() -> ExitCode {
    // A panic of the registry is caught and reported with its trace; the default report
    // would only come in between. With LONGRUN_SIM_PANICS set, it comes too.
    std::panic::set_hook(Box::new(|info| {
        if std::env::var_os("LONGRUN_SIM_PANICS").is_some() {
            eprintln!("{info}\n{}", std::backtrace::Backtrace::force_capture());
        }
    }));
    let cli = Cli::parse();
    #[cfg(feature = "canary")]
    if let Err(what) = canary::put(cli.canary.as_deref()) {
        anstream::eprintln!("error: {what}");
        return ExitCode::from(USAGE);
    }
    let outcome = match cli.command {
        Command::Campaign(campaign) => campaign.run(),
        Command::Trace(write) => write.run(),
        Command::Replay(replay) => replay.run(),
        Command::Shrink(shrink) => shrink.run(),
        Command::Explain(explain) => explain.run(),
        Command::Exhaustive(exhaustive) => exhaustive.run(),
        Command::Canary(canary) => canary.run(),
        Command::Speed(speed) => speed.run(),
    };
    match outcome {
        Ok(code) => ExitCode::from(code),
        Err(what) => {
            anstream::eprintln!("error: {what}");
            ExitCode::from(USAGE)
        }
    }
}
