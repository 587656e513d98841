//! The command `longrun`: a demonstration, and the runtime over JSON lines.

mod demo;
mod serve;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use tracing_appender::non_blocking::NonBlockingBuilder;
use tracing_subscriber::EnvFilter;

use crate::process;

/// How many lines of the log wait to be written at most.
const LOG_LINES: usize = 1024;

/// Background tasks for AI agent harnesses.
#[derive(Parser)]
#[command(name = "longrun", version, about)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Show a scripted agent session on real commands, in a temporary folder.
    Demo,
    /// Drive the runtime with JSON lines on standard input and output.
    Serve(Box<serve::Options>),
}

/// Runs the command with the arguments of this process.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("warn"));
    // A log that nobody reads is no reason to stop, nor one that nobody can write: where its
    // pipe is full, lines are left out.
    let (log, _until_the_end) =
        NonBlockingBuilder::default().buffered_lines_limit(LOG_LINES).finish(std::io::stderr());
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(log)
        .log_internal_errors(false)
        .init();
    // One thread: between a read and its reply nothing else can come, so that replies are
    // written in the order in which the reads were served.
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("longrun: no runtime could be started: {error}");
            return ExitCode::FAILURE;
        }
    };
    let result = runtime.block_on(async {
        // The first process of a container is the parent of all that lose theirs.
        let _reaper = process::inherits_orphans().then(process::reap_orphans).transpose()?;
        match cli.command {
            Command::Demo => demo::run().await,
            Command::Serve(options) => serve::run(*options).await,
        }
    });
    // What blocks a thread still, a read of standard input, is not waited for.
    runtime.shutdown_background();
    result.unwrap_or_else(|error| {
        eprintln!("longrun: {error}");
        ExitCode::FAILURE
    })
}

/// What ends a command early.
type Failure = Box<dyn std::error::Error + Send + Sync>;
