//! A flood that nobody reads, on a runtime with one thread: what it costs, and how soon it
//! can be ended. Then how long a disposal takes of many that do not want to end.
//!
//! `LONGRUN_FLOOD_MIB` is how much comes, 3,072 by default. Exits with 1 if what is
//! promised does not hold.

use std::{
    io::Read,
    process::{Command, ExitCode, Stdio},
    time::{Duration, Instant},
};

use longrun_tokio::{
    Builder, Config, Guard, NoticePolicy, OwnerScope, TaskId, TaskService, TaskSpec, Waited,
    bash::{BashConfig, BashExecutor, BashRequest},
};

type Failure = Box<dyn std::error::Error>;

/// As large as the one that the runtime reads with.
const BUFFER_BYTES: usize = 64 * 1024;

/// How often each measurement is made; the best counts, since the machine has other work.
const ROUNDS: u32 = 3;

/// What the memory may grow by, beyond what is kept of each stream.
const CONSTANT_KIB: u64 = 4 * 1024;

/// How many commands ignore SIGTERM, and for how long that helps them.
const STUBBORN: usize = 100;
const GRACE: Duration = Duration::from_secs(1);

const PATIENCE: Duration = Duration::from_secs(600);

fn main() -> Result<ExitCode, Failure> {
    // `cargo test` builds it and runs it with another argument: there it has nothing to do.
    if !std::env::args().any(|arg| arg == "--bench") {
        return Ok(ExitCode::SUCCESS);
    }
    let mib: u64 = match std::env::var("LONGRUN_FLOOD_MIB") {
        Ok(number) => number.parse().map_err(|_| "LONGRUN_FLOOD_MIB: expected a number of MiB")?,
        Err(_) => 3 * 1024,
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(flood(mib))
}

async fn flood(mib: u64) -> Result<ExitCode, Failure> {
    let harness = Harness::new()?;
    harness.end_of("echo warm").await?;
    let before = peak_kib()?;
    let mut kept = true;
    for redirect in ["", " >&2"] {
        let command = format!("head -c {mib}M /dev/zero{redirect}");
        kept &= throughput(&harness, &command, redirect, mib).await?;
    }
    kept &= beside(&harness, mib).await?;
    kept &= kill(&harness).await?;
    let (grown, caps) = (peak_kib()?.saturating_sub(before), 4 * harness.memory_bytes / 1024);
    kept &= said(
        grown <= caps + CONSTANT_KIB,
        &format!(
            "memory: {grown} KiB more at the peak (promised: {caps} KiB of output kept, \
             and {CONSTANT_KIB})"
        ),
    );
    kept &= stubborn(&harness).await?;
    Ok(if kept { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Ours, and a bare loop that reads the same with the same buffer and throws it away.
async fn throughput(
    harness: &Harness,
    command: &str,
    redirect: &str,
    mib: u64,
) -> Result<bool, Failure> {
    let (mut ours, mut bare) = (Duration::MAX, Duration::MAX);
    for _ in 0..ROUNDS {
        bare = bare.min(bare_loop(command, !redirect.is_empty(), mib)?);
        ours = ours.min(harness.end_of(command).await?);
    }
    let ratio = bare.as_secs_f64() / ours.as_secs_f64();
    let speed = |time: Duration| mib as f64 / time.as_secs_f64();
    Ok(said(
        ratio >= 0.8,
        &format!(
            "{mib} MiB of {}: {:.0} MiB/s, a bare loop {:.0} MiB/s, ratio {ratio:.2} \
             (promised: 0.80)",
            if redirect.is_empty() { "stdout" } else { "stderr" },
            speed(ours),
            speed(bare)
        ),
    ))
}

fn bare_loop(command: &str, stderr: bool, mib: u64) -> Result<Duration, Failure> {
    let began = Instant::now();
    let mut child = Command::new("bash")
        .args(["-c", command])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let (out, err) = (child.stdout.take(), child.stderr.take());
    let (mut buffer, mut total) = (vec![0; BUFFER_BYTES], 0);
    let mut read_all = |mut pipe: Box<dyn Read>| -> Result<(), Failure> {
        loop {
            match pipe.read(&mut buffer)? {
                0 => return Ok(()),
                length => total += length as u64,
            }
        }
    };
    if stderr {
        read_all(Box::new(err.ok_or("no pipe")?))?;
    } else {
        read_all(Box::new(out.ok_or("no pipe")?))?;
    }
    child.wait()?;
    if total != mib * 1024 * 1024 {
        return Err(format!("{total} bytes came of {mib} MiB").into());
    }
    Ok(began.elapsed())
}

/// What a command beside the flood notices of it.
async fn beside(harness: &Harness, mib: u64) -> Result<bool, Failure> {
    const PAUSE: Duration = Duration::from_millis(100);
    let command = format!("sleep {}; echo ok", PAUSE.as_secs_f64());
    let alone = harness.end_of(&command).await?;
    let flood = harness.start(&format!("head -c {mib}M /dev/zero; exec cat /dev/zero >&2"))?;
    let (mut worst, mut late) = (Duration::ZERO, Duration::ZERO);
    for _ in 0..10 {
        worst = worst.max(harness.end_of(&command).await?);
        let began = Instant::now();
        tokio::time::sleep(PAUSE).await;
        late = late.max(began.elapsed().saturating_sub(PAUSE));
    }
    harness.kill(&flood).await?;
    Ok(said(
        worst < alone + Duration::from_millis(500),
        &format!(
            "beside it: a command of {PAUSE:?} took {:.0} ms at worst, {:.0} ms alone; a timer \
             was {:.1} ms late at worst",
            worst.as_secs_f64() * 1e3,
            alone.as_secs_f64() * 1e3,
            late.as_secs_f64() * 1e3
        ),
    ))
}

/// From the kill of an endless flood to the end of its task.
async fn kill(harness: &Harness) -> Result<bool, Failure> {
    let mut worst = Duration::ZERO;
    for command in ["yes", "yes >&2", "exec cat /dev/zero", "while :; do echo again; done"] {
        let flood = harness.start(command)?;
        tokio::time::sleep(Duration::from_millis(300)).await;
        worst = worst.max(harness.kill(&flood).await?);
    }
    Ok(said(
        worst < Duration::from_millis(500),
        &format!(
            "kill: {:.1} ms at worst until all was over (promised: 500)",
            worst.as_secs_f64() * 1e3
        ),
    ))
}

/// How many graces it takes to end the owner of many commands that ignore SIGTERM.
async fn stubborn(harness: &Harness) -> Result<bool, Failure> {
    let mut ready = Vec::new();
    for _ in 0..STUBBORN {
        ready.push(harness.start("trap '' TERM; echo ready; while :; do sleep 60; done")?);
    }
    for id in &ready {
        while harness.service.read(id, &harness.agent.caller())?.text.is_empty() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
    let began = Instant::now();
    let orphans = harness.agent.dispose().await?;
    let graces = began.elapsed().as_secs_f64() / GRACE.as_secs_f64();
    Ok(said(
        orphans.is_empty() && graces < 2.0,
        &format!("disposal: {STUBBORN} that ignore SIGTERM in {graces:.2} graces (promised: 2.00)"),
    ))
}

fn said(holds: bool, text: &str) -> bool {
    println!("{} {text}", if holds { "ok  " } else { "NOT " });
    holds
}

/// What this process has used at most.
fn peak_kib() -> Result<u64, Failure> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).ok_or("no VmHWM")?;
    Ok(line.trim().trim_end_matches(" kB").parse()?)
}

struct Harness {
    service: TaskService,
    agent: OwnerScope,
    bash: BashExecutor,
    memory_bytes: u64,
    _controls: Guard,
}

impl Harness {
    fn new() -> Result<Self, Failure> {
        let limits = Config { max_active_per_owner: STUBBORN + 20, ..Config::default() };
        let service = Builder::new().config(limits).build()?;
        let controls = service.mount_controls(NoticePolicy::default())?;
        let agent = service.owner("session").open()?;
        let config = BashConfig { grace: GRACE, ..BashConfig::new("/") };
        let memory_bytes = config.memory_bytes as u64;
        let bash = BashExecutor::new(config)?;
        Ok(Self { service, agent, bash, memory_bytes, _controls: controls })
    }

    fn start(&self, command: &str) -> Result<TaskId, Failure> {
        let spec = self.bash.resolve(BashRequest::new(command))?;
        let task = TaskSpec::new("bash", command);
        Ok(self.agent.start(task, || self.bash.start(spec).map(|process| process.hooks()))?)
    }

    async fn wait(&self, id: &TaskId) -> Result<(), Failure> {
        match self.service.wait(id, &self.agent.caller(), PATIENCE).await? {
            Waited::Ended(_) => Ok(()),
            other => Err(format!("{id} did not end: {other:?}").into()),
        }
    }

    /// How long a command takes whose output nobody reads.
    async fn end_of(&self, command: &str) -> Result<Duration, Failure> {
        let began = Instant::now();
        self.wait(&self.start(command)?).await?;
        Ok(began.elapsed())
    }

    /// How long it takes to end it.
    async fn kill(&self, id: &TaskId) -> Result<Duration, Failure> {
        let began = Instant::now();
        self.service.kill(id, &self.agent.caller(), None)?;
        self.wait(id).await?;
        Ok(began.elapsed())
    }
}
