//! How the demonstration is shown: coloured on a terminal, plain in a pipe.

use std::{
    io::Write,
    time::{Duration, Instant},
};

use anstyle::{AnsiColor, Style};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::Value;

use crate::tools::ToolReply;

const TITLE: Style = AnsiColor::Cyan.on_default().bold();
const DIM: Style = Style::new().dimmed();
const AGENT: Style = AnsiColor::Blue.on_default().bold();
const TOOL: Style = AnsiColor::Green.on_default().bold();
const REFUSED: Style = AnsiColor::Yellow.on_default().bold();
const NEWS: Style = AnsiColor::Magenta.on_default().bold();

/// Where the demonstration is printed.
pub(super) struct Stage {
    began: Instant,
    scenes: usize,
}

impl Stage {
    pub(super) fn open() -> Self {
        Self { began: Instant::now(), scenes: 0 }
    }

    pub(super) fn title(&self, text: &str) {
        print(&format!("{TITLE}{text}{TITLE:#}"));
    }

    /// A new scene: what it is about.
    pub(super) fn scene(&mut self, text: &str) {
        self.scenes += 1;
        let (number, at) = (self.scenes, self.began.elapsed().as_secs_f64());
        print(&format!("\n{TITLE}{number:>2}. {text}{TITLE:#} {DIM}at {at:.1} s{DIM:#}"));
    }

    /// A call as the agent makes it.
    pub(super) fn call(&self, who: &str, tool: &str, args: &Value) {
        self.line(AGENT, who, &format!("{tool} {args}"));
    }

    /// What the agent reads.
    pub(super) fn reply(&self, reply: &ToolReply) {
        let style = if reply.is_error { REFUSED } else { TOOL };
        let who = if reply.is_error { "refused" } else { "tool" };
        for (number, line) in reply.text().lines().enumerate() {
            self.line(style, if number == 0 { who } else { "" }, line);
        }
    }

    /// Something that comes unasked.
    pub(super) fn news(&self, text: &str) {
        self.line(NEWS, "notice", text);
    }

    /// What a watcher of the machine sees.
    pub(super) fn fact(&self, text: &str) {
        self.line(DIM, "machine", text);
    }

    fn line(&self, style: Style, who: &str, text: &str) {
        print(&format!("    {style}{who:>8}{style:#}  {text}"));
    }

    /// Something turns while a future runs, on a terminal only.
    pub(super) async fn meanwhile<T>(&self, what: &str, future: impl Future<Output = T>) -> T {
        let spinner = ProgressBar::new_spinner();
        let template = ProgressStyle::with_template("    {spinner:>8}  {msg} {elapsed}");
        spinner.set_style(template.unwrap_or_else(|_| ProgressStyle::default_spinner()));
        spinner.set_message(what.to_owned());
        spinner.enable_steady_tick(Duration::from_millis(80));
        let result = future.await;
        spinner.finish_and_clear();
        result
    }

    pub(super) fn close(&self) {
        print(&format!(
            "\n{DIM}the session took {:.1} s{DIM:#}",
            self.began.elapsed().as_secs_f64()
        ));
    }
}

/// Colours are taken out where nobody would see them. A reader who has gone is no
/// reason to stop in the middle: the work is still to be ended.
fn print(line: &str) {
    let _ = writeln!(anstream::stdout(), "{line}");
}
