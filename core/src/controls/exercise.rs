//! Every property of the texts, on any bytes: what the fuzzer and the replay of its corpus
//! call.

use alloc::{string::String, vec::Vec};

use super::{
    Arg, AskedTasks, ControlsConfig, LIST_CAP_BYTES, MAX_LINE_CHARS, MAX_TASK_IDS,
    capped_output_text, capped_text, fit_text, kill_finished_text, list_text, notice_text,
    notices_text, one_line, parse_kill, parse_list, parse_output, status_line, unknown_task_text,
};
use crate::{Status, TaskId, TaskSnapshot};

/// Bytes, taken from the front.
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn byte(&mut self) -> u8 {
        let Some((&first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        first
    }

    fn text(&mut self) -> String {
        let length = usize::from(self.byte()).min(self.0.len());
        let (text, rest) = self.0.split_at(length);
        self.0 = rest;
        String::from_utf8_lossy(text).into_owned()
    }

    fn optional_text(&mut self) -> Option<String> {
        (self.byte() % 2 == 1).then(|| self.text())
    }

    fn task(&mut self, number: u64) -> TaskSnapshot {
        let status = Status::ALL[usize::from(self.byte()) % Status::ALL.len()];
        let limit = self.byte();
        TaskSnapshot {
            id: TaskId::mint("bash", number),
            kind: self.text().into(),
            label: self.text().into(),
            output_limit_bytes: (limit > 0).then(|| u64::from(limit)),
            owner_session: None,
            status,
            detail: self.optional_text().map(Into::into),
            started_at_ms: 0,
            finished_at_ms: status.is_terminal().then_some(1),
            reported: false,
            stop: None,
        }
    }
}

/// Checks each property of the texts on what these bytes spell.
///
/// # Panics
///
/// If one does not hold.
pub fn exercise(bytes: &[u8]) {
    let mut bytes = Bytes(bytes);
    let tasks: Vec<TaskSnapshot> =
        (1..=1 + u64::from(bytes.byte() % 4)).map(|number| bytes.task(number)).collect();
    let body = bytes.text();
    for task in &tasks {
        check_texts(task, &body);
    }
    let cap = usize::from(bytes.byte());
    check_list(&tasks, cap);
    check_notices(&tasks, cap);
    check_lines(&body);
    check_args(&mut bytes);
}

fn within(text: &str, task: &TaskSnapshot) -> bool {
    task.output_limit_bytes.is_none_or(|limit| text.len() as u64 <= limit)
}

fn check_texts(task: &TaskSnapshot, body: &str) {
    let output = capped_output_text(body, task);
    let status = status_line(task.status, task.detail.as_deref());
    assert!(within(&output, task), "a read over its cap: {output:?}");
    let shown = output.rsplit('\n').next().unwrap_or("");
    assert!(status.ends_with(shown), "the last line is not the status line: {output:?}");
    let room = task.output_limit_bytes.is_none_or(|limit| status.len() as u64 <= limit);
    assert!(!room || shown == status, "the status line was cut without need: {output:?}");

    let notice = notice_text(task);
    assert!(within(&notice, task), "a notice over its cap: {notice:?}");
    assert!(!notice.contains('\n'), "a notice of several lines: {notice:?}");
    for text in [capped_text(body, task), capped_text(&kill_finished_text(task), task)] {
        assert!(within(&text, task), "a text over its cap: {text:?}");
    }
    if let Some(limit) = task.output_limit_bytes {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        assert!(fit_text(body, limit).len() <= limit);
        assert!(body.len() > limit || fit_text(body, limit) == body, "cut without need");
    }
}

fn check_list(tasks: &[TaskSnapshot], cap: usize) {
    assert!(list_text(tasks, cap).len() <= cap, "a list over its cap");
    let rows = list_text(tasks, LIST_CAP_BYTES);
    assert_eq!(rows.lines().count(), tasks.len(), "a label made a row: {rows:?}");
    for (row, task) in rows.lines().zip(tasks) {
        assert!(row.starts_with(task.id.as_str()), "a row of another task: {row:?}");
    }
}

fn check_notices(tasks: &[TaskSnapshot], cap: usize) {
    assert!(notices_text(tasks, cap).len() <= cap, "notices over their cap");
    let whole = notices_text(tasks, LIST_CAP_BYTES);
    assert!(whole.lines().count() <= tasks.len(), "a label made a line: {whole:?}");
    for task in tasks.iter().filter(|_| tasks.len() > 1) {
        let ends = |rest: &str| rest.starts_with([',', ' ']);
        let mut places = whole.match_indices(task.id.as_str());
        let named = places.any(|(at, id)| ends(&whole[at + id.len()..]));
        assert!(named, "{} is not named: {whole:?}", task.id);
    }
}

fn check_lines(text: &str) {
    let line = one_line(text);
    assert!(!line.chars().any(char::is_control), "a control character: {line:?}");
    assert!(line.chars().count() <= MAX_LINE_CHARS, "too long: {line:?}");
    let unknown = unknown_task_text(text);
    assert!(!unknown.chars().any(char::is_control) && unknown.len() < 1024, "{unknown:?}");
    if let Ok(id) = TaskId::parse(text) {
        assert_eq!(id.as_str(), text);
        assert!(id.number() >= 1 && !id.kind().is_empty());
    }
}

fn check_args(bytes: &mut Bytes<'_>) {
    let named: Vec<(String, u8, String)> =
        (0..bytes.byte() % 5).map(|_| (bytes.key(), bytes.byte(), bytes.text())).collect();
    let args = || named.iter().map(|(key, kind, text)| (key.as_str(), arg(*kind, text)));
    let config = ControlsConfig::default();
    let outputs = [config, config.with_task_ids()].map(|config| parse_output(args(), &config));
    for parsed in outputs.iter().flatten() {
        let most = u128::from(config.max_wait_timeout_ms());
        assert!(parsed.wait.is_none_or(|wait| (1..=most).contains(&wait.as_millis())));
        let AskedTasks::Several { ids, .. } = &parsed.tasks else { continue };
        assert!((1..=1 + MAX_TASK_IDS).contains(&ids.len()));
    }
    let outputs = outputs.into_iter().filter_map(Result::err);
    let others = [parse_list(args()).err(), parse_kill(args()).err()].into_iter().flatten();
    for error in outputs.chain(others) {
        let text = alloc::format!("{error}");
        assert!(!text.chars().any(char::is_control) && text.len() < 4096, "{text:?}");
    }
}

impl Bytes<'_> {
    /// A key that means something, or any.
    fn key(&mut self) -> String {
        match self.byte() % 7 {
            0 => "task_id".into(),
            1 => "wait".into(),
            2 => "timeout_ms".into(),
            3 => "reason".into(),
            4 => "task_ids".into(),
            5 => "until".into(),
            _ => self.text(),
        }
    }
}

fn arg(kind: u8, text: &str) -> Arg<'_> {
    match kind % 6 {
        0 => Arg::Null,
        1 => Arg::Bool(true),
        2 => Arg::Bool(false),
        3 => Arg::Number(text.parse().unwrap_or(f64::from(kind))),
        4 => Arg::Text(text),
        _ => Arg::List(text.split(' ').map(Arg::Text).collect()),
    }
}
