//! The subcommand `campaign`.

use std::{
    io::IsTerminal,
    path::{Path, PathBuf},
    sync::Mutex,
    time::{Duration, Instant},
};

use clap::{Args, ValueEnum};
use indicatif::{ProgressBar, ProgressStyle};
use longrun_sim::{
    Depth, Failure, Kind, Pairs, Property, Report,
    campaign::{Plan, Tally, campaign},
    shrink,
};

use crate::{
    Outcome, again, report,
    seeds::{self, Seeds},
};

/// How often a line of progress is written where there is no terminal.
const LINE_EVERY: Duration = Duration::from_secs(10);

#[derive(Args)]
pub(crate) struct Campaign {
    /// Which seeds: A..B, one number, or a commit hash. With --time: where to begin.
    #[arg(long, value_name = "SEEDS")]
    seeds: Option<Seeds>,
    /// For how long: 30s, 10m, 2h.
    #[arg(long, value_parser = seeds::span)]
    time: Option<Duration>,
    /// On how many threads; by default one for each processor.
    #[arg(long)]
    jobs: Option<usize>,
    /// Which part of the seeds, for several machines: 2/8 is the second of eight.
    #[arg(long, value_parser = seeds::shard, value_name = "PART")]
    shard: Option<(u64, u64)>,
    /// How much is checked after every event.
    #[arg(long, value_enum, default_value_t = Checks::Sampled)]
    checks: Checks,
    /// Write a JUnit report there.
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Write a JSON report there.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Where the trace of a failure goes.
    #[arg(long, value_name = "DIR", default_value = "longrun-sim-failures")]
    out: PathBuf,
    /// Leave the trace of a failure as it was found.
    #[arg(long)]
    no_shrink: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Checks {
    /// Everything.
    Full,
    /// The model and every invariant; what is refused and what lists show now and then.
    Sampled,
}

impl Campaign {
    pub(crate) fn run(&self) -> Outcome {
        let seeds = self.seeds.unwrap_or(Seeds { from: 0, count: 10_000 });
        let plan = Plan {
            from: seeds.from,
            count: self.time.is_none().then_some(seeds.count),
            time: self.time,
            jobs: self.jobs.unwrap_or_else(|| {
                std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
            }),
            shard: self.shard.unwrap_or((0, 1)),
            depth: match self.checks {
                Checks::Full => Depth::Full,
                Checks::Sampled => Depth::Sampled,
            },
        };
        let tally = with_progress(&plan);
        anstream::println!("{}", report::table(&tally));
        let end = self.end(&tally);
        let written = self.write_reports(&tally, &end);
        match (end.code, written) {
            // What a campaign found is never hidden behind a file that cannot be written.
            (0, Err(what)) => Err(what),
            (code, Err(what)) => {
                anstream::eprintln!("error: {what}");
                Ok(code)
            }
            (code, Ok(())) => Ok(code),
        }
    }

    /// Says what failed, if anything, and how to see it again, and saves its trace.
    fn end(&self, tally: &Tally) -> End {
        if let Some((seed, report)) = &tally.failure
            && let Some(failure) = &report.failure
        {
            let again = self.again(&seed.to_string());
            let saved = self.save(*seed, report, failure);
            anstream::println!("reproduce:    {again}");
            return End { code: failure.kind.exit_code(), again: Some(again), saved };
        }
        let missing = tally.never_seen();
        if missing.is_empty() {
            return End::default();
        }
        for property in &missing {
            anstream::println!("never seen: {} [{}]", property.text(), property.clauses());
        }
        let (from, until) = (tally.seeds.start, tally.seeds.end);
        let part = self.shard.map(|(part, parts)| format!(" --shard {}/{parts}", part + 1));
        let again = self.again(&format!("{from}..{until}{}", part.unwrap_or_default()));
        anstream::println!("reproduce:    {again}");
        End { code: Kind::Property.exit_code(), again: Some(again), saved: None }
    }

    fn again(&self, seeds: &str) -> String {
        let checks = if matches!(self.checks, Checks::Full) { " --checks full" } else { "" };
        again::command(&format!("campaign --seeds {seeds}{checks}"))
    }

    /// Saves the trace of a failure, as small as it gets.
    fn save(&self, seed: u64, report: &Report, failure: &Failure) -> Option<PathBuf> {
        let small = if self.no_shrink { None } else { shrink(&report.trace) };
        let (trace, failure) = small.unwrap_or_else(|| (report.trace.clone(), failure.clone()));
        anstream::println!("{failure}\n");
        let file = self.out.join(format!("seed-{seed}.jsonl"));
        let made = std::fs::create_dir_all(&self.out)
            .map_err(|error| format!("cannot make {}: {error}", self.out.display()));
        if let Err(what) = made.and_then(|()| write(&file, &trace.print())) {
            anstream::eprintln!("the trace is not saved: {what}");
            return None;
        }
        let (before, after) = (report.trace.events.len(), trace.events.len());
        let shown = again::file(&file);
        anstream::println!("saved:        {shown}, {after} of {before} events");
        anstream::println!("see it:       {}", again::command(&format!("explain {shown}")));
        anstream::println!("run it again: {}", again::command(&format!("replay {shown}")));
        Some(file)
    }

    fn write_reports(&self, tally: &Tally, end: &End) -> Result<(), String> {
        if let Some(file) = &self.junit {
            write(file, &report::junit(tally, end))?;
        }
        if let Some(file) = &self.json {
            write(file, &report::json(tally, end))?;
        }
        Ok(())
    }
}

/// What a campaign ended with.
#[derive(Default)]
pub(crate) struct End {
    /// The exit code.
    code: u8,
    /// The line that reproduces what failed.
    pub(crate) again: Option<String>,
    /// Where the trace of it is.
    pub(crate) saved: Option<PathBuf>,
}

/// Writes a file.
pub(crate) fn write(file: &Path, text: &str) -> Result<(), String> {
    std::fs::write(file, text).map_err(|error| format!("cannot write {}: {error}", file.display()))
}

fn with_progress(plan: &Plan) -> Tally {
    if std::io::stderr().is_terminal() {
        let bar = progress_bar(plan);
        let tally = campaign(plan, &|tally: &Tally| {
            let at = plan.time.map_or(tally.runs, |_| tally.elapsed.as_secs());
            bar.set_position(at);
            bar.set_message(line(tally));
        });
        bar.finish_and_clear();
        return tally;
    }
    let latest = Mutex::new(Instant::now());
    campaign(plan, &|tally: &Tally| {
        let Ok(mut latest) = latest.lock() else { return };
        if latest.elapsed() >= LINE_EVERY {
            *latest = Instant::now();
            eprintln!("{}", line(tally));
        }
    })
}

fn progress_bar(plan: &Plan) -> ProgressBar {
    let length = plan.time.map_or(plan.count.unwrap_or(0) / plan.shard.1, |time| time.as_secs());
    let bar = ProgressBar::new(length);
    if let Ok(style) = ProgressStyle::with_template("{bar:30} {percent:>3}% {eta:>4} {msg}") {
        bar.set_style(style);
    }
    bar
}

fn line(tally: &Tally) -> String {
    let sometimes = report::sometimes();
    let seen = sometimes.iter().filter(|p: &&Property| tally.coverage.seen.contains(**p)).count();
    format!(
        "{} runs, {} events/s, seen {seen}/{}, phase × event {}/{}",
        tally.runs,
        tally.rate(),
        sometimes.len(),
        tally.coverage.pairs.count(),
        Pairs::possible()
    )
}
