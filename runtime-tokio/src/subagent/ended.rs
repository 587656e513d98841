//! From how a child ended to what its task says.

use longrun_core::{End, Outcome};

use super::{Finish, Stop, transcript::readable};

/// How a child ended, once nothing of it was left.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ended {
    /// How its task ends.
    pub end: End,
    /// What there is to say of that.
    pub detail: Option<String>,
    /// The answer of a child that completed, otherwise what there is of one, fit for a model.
    pub text: String,
}

impl Ended {
    /// The outcome of its task.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        Outcome {
            end: self.end,
            detail: self.detail.as_deref().map(Into::into),
            output: Some(self.text.as_str().into()),
        }
    }

    /// A child that never ran, and whether somebody had asked it to stop.
    pub(super) fn in_startup(finish: &Finish, asked: bool) -> Self {
        let (end, mut detail) = if asked {
            (End::Killed, "aborted during its startup".to_owned())
        } else {
            (End::Failed, format!("could not be started: {}", finish.stop))
        };
        if let Some(note) = &finish.note {
            detail = format!("{detail}, {note}");
        }
        Self { end, detail: Some(detail), text: readable(&finish.text, finish.dropped_bytes) }
    }

    /// A child that ran, whether it was asked to stop before its result was there, and why
    /// its disposal failed, if it did.
    pub(super) fn after_run(finish: &Finish, asked: bool, disposal: Result<(), String>) -> Self {
        let text = readable(&finish.text, finish.dropped_bytes);
        let (end, mut detail) = judge(&finish.stop, asked);
        if let Some(note) = &finish.note {
            detail = Some(detail.map_or(note.clone(), |detail| format!("{detail}, {note}")));
        }
        if end == End::Completed && text.is_empty() {
            detail.get_or_insert_with(|| "no output".to_owned());
        }
        let Err(failure) = disposal else { return Self { end, detail, text } };
        let before = detail.unwrap_or_else(|| "completed".to_owned());
        let detail = Some(format!("{before}; its disposal failed: {failure}"));
        Self { end: End::Failed, detail, text }
    }
}

fn judge(stop: &Stop, asked: bool) -> (End, Option<String>) {
    match (stop, asked) {
        (Stop::Completed, false) => (End::Completed, None),
        (Stop::Aborted, true) => (End::Killed, Some("aborted".to_owned())),
        (Stop::Aborted, false) => (End::Killed, Some("aborted by itself".to_owned())),
        // It was asked to stop, and that came first.
        (stop, true) => (End::Killed, Some(format!("aborted, then: {stop}"))),
        (stop, false) => (End::Failed, Some(stop.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(stop: Stop, asked: bool, disposal: Result<(), String>) -> (End, String) {
        let ended = Ended::after_run(&Finish::new(stop, "so far"), asked, disposal);
        assert_eq!(ended.text, "so far");
        let outcome = ended.outcome();
        assert_eq!(outcome.output.as_deref(), Some("so far"));
        assert_eq!((outcome.end, outcome.detail.as_deref()), (ended.end, ended.detail.as_deref()));
        (ended.end, ended.detail.unwrap_or_default())
    }

    // contract: U2, L2
    #[test]
    fn every_stop_has_its_outcome_with_its_reason_and_what_was_said() {
        use End::{Completed, Failed, Killed};
        let failed = || Stop::Failed("exit code: 3".to_owned());
        let cases = [
            (Stop::Completed, false, Completed, ""),
            (Stop::Completed, true, Killed, "aborted, then: completed"),
            (Stop::Aborted, true, Killed, "aborted"),
            (Stop::Aborted, false, Killed, "aborted by itself"),
            (Stop::MaxTokens, false, Failed, "max tokens"),
            (Stop::MaxTurns, false, Failed, "max turns"),
            (Stop::Refused, false, Failed, "refusal"),
            (Stop::Other("asleep".to_owned()), false, Failed, "asleep"),
            (failed(), false, Failed, "exit code: 3"),
            (failed(), true, Killed, "aborted, then: exit code: 3"),
        ];
        for (stop, asked, end, detail) in cases {
            assert_eq!(told(stop.clone(), asked, Ok(())), (end, detail.to_owned()));
            let (end, both) = told(stop, asked, Err("it bit".to_owned()));
            let before = if detail.is_empty() { "completed" } else { detail };
            assert_eq!((end, both), (Failed, format!("{before}; its disposal failed: it bit")));
        }
    }

    // contract: U2, M13
    #[test]
    fn a_startup_that_failed_and_an_answer_that_is_empty_are_told_apart() {
        let refused = Ended::in_startup(&Finish::failed("no such agent"), false);
        assert_eq!(refused.end, End::Failed);
        assert_eq!(refused.detail.as_deref(), Some("could not be started: no such agent"));
        assert_eq!(Ended::in_startup(&Finish::failed("gone"), true).end, End::Killed);
        let empty = Ended::after_run(&Finish::from(String::new()), false, Ok(()));
        assert_eq!((empty.end, empty.detail.as_deref()), (End::Completed, Some("no output")));
    }
}
