//! A policy that does one thing, and a tool that counts.

use std::{
    future::pending,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use longrun_tokio::{
    BoxError,
    core::controls::Card,
    tools::{
        BoxFuture, Call, Content, Delivery, Finalizer, Next, Policy, Tool, ToolDescription,
        ToolReply, Undelivered, Verdict,
    },
};
use serde_json::{Value, json};

/// Where the result of a call comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    Tool,
    Denial,
    BeforeFails,
    BeforePanics,
    AbortedBefore,
    AbortedInBefore,
    AroundAnswers,
    AroundReplaces,
    AroundDropsIt,
    AroundFails,
    AroundPanics,
    AfterRedacts,
    AfterReplaces,
    AfterFails,
    AfterPanics,
    AbortedInAfter,
    ManyBlocks,
    NoText,
}

impl Origin {
    pub(super) const ALL: [Self; 18] = [
        Self::Tool,
        Self::Denial,
        Self::BeforeFails,
        Self::BeforePanics,
        Self::AbortedBefore,
        Self::AbortedInBefore,
        Self::AroundAnswers,
        Self::AroundReplaces,
        Self::AroundDropsIt,
        Self::AroundFails,
        Self::AroundPanics,
        Self::AfterRedacts,
        Self::AfterReplaces,
        Self::AfterFails,
        Self::AfterPanics,
        Self::AbortedInAfter,
        Self::ManyBlocks,
        Self::NoText,
    ];

    /// Whether the tool does its work.
    pub(super) fn works(self) -> bool {
        use Origin::{
            AbortedBefore, AbortedInBefore, AroundAnswers, BeforeFails, BeforePanics, Denial,
        };
        let not = [Denial, BeforeFails, BeforePanics, AbortedBefore, AbortedInBefore];
        !not.contains(&self) && self != AroundAnswers
    }

    /// Whether the model gets the tool's own result.
    pub(super) fn delivers(self) -> bool {
        [Self::Tool, Self::AfterRedacts].contains(&self)
    }

    pub(super) fn is_error(self) -> bool {
        use Origin::{AfterRedacts, AfterReplaces, AroundAnswers, AroundReplaces};
        let successes = [Self::Tool, AroundAnswers, AroundReplaces, AfterRedacts, AfterReplaces];
        !successes.contains(&self) && !self.is_structured()
    }

    pub(super) fn is_structured(self) -> bool {
        matches!(self, Self::ManyBlocks | Self::NoText)
    }
}

/// Makes a call end like that, with that text.
pub(super) struct Script(pub(super) Origin, pub(super) String);

impl Script {
    pub(super) fn blocks(&self) -> Vec<Content> {
        let text = || Content::Text(self.1.clone());
        match self.0 {
            Origin::ManyBlocks => vec![text(), text()],
            _ => vec![Content::Other(json!({"type": "image", "data": self.1}))],
        }
    }

    fn answer(&self) -> ToolReply {
        ToolReply::new(self.1.clone(), json!({"by": "policy"}))
    }
}

type Stage<'a, T> = BoxFuture<'a, Result<T, BoxError>>;

impl Policy for Script {
    fn before<'a>(&'a self, _: &'a ToolDescription, call: &'a Call<'a>) -> Stage<'a, Verdict> {
        Box::pin(async {
            match self.0 {
                Origin::Denial => Ok(Verdict::Answer(ToolReply::error(&self.1))),
                Origin::BeforeFails => Err(self.1.clone().into()),
                Origin::BeforePanics => panic!("{}", self.1),
                Origin::AbortedInBefore => {
                    call.abort.cancel();
                    pending().await
                }
                _ => Ok(Verdict::Go),
            }
        })
    }

    fn around<'a>(
        &'a self,
        _: &'a ToolDescription,
        _: &'a Call<'a>,
        next: Next<'a>,
    ) -> Stage<'a, Undelivered> {
        Box::pin(async {
            if self.0 == Origin::AroundAnswers {
                return Ok(self.answer().into());
            }
            let outcome = next.run().await;
            match self.0 {
                Origin::AroundReplaces => Ok(self.answer().into()),
                Origin::AroundDropsIt => Ok(Undelivered::error(&self.1)),
                Origin::AroundFails => Err(self.1.clone().into()),
                Origin::AroundPanics => panic!("{}", self.1),
                _ => Ok(outcome),
            }
        })
    }

    fn after<'a>(
        &'a self,
        _: &'a ToolDescription,
        call: &'a Call<'a>,
        mut outcome: Undelivered,
    ) -> Stage<'a, Undelivered> {
        Box::pin(async {
            match self.0 {
                Origin::AfterRedacts => {
                    let text = format!("{}\n{}", self.1, outcome.reply.text());
                    outcome.reply.content = vec![Content::Text(text)];
                }
                Origin::AfterReplaces => return Ok(self.answer().into()),
                Origin::AfterFails => return Err(self.1.clone().into()),
                Origin::AfterPanics => panic!("{}", self.1),
                Origin::AbortedInAfter => {
                    call.abort.cancel();
                    pending::<()>().await;
                }
                Origin::ManyBlocks | Origin::NoText => {
                    let reply = ToolReply { content: self.blocks(), ..self.answer() };
                    return Ok(reply.into());
                }
                _ => {}
            }
            Ok(outcome)
        })
    }
}

/// What became of the calls of a [`Counting`].
#[derive(Default)]
pub(super) struct Counts {
    pub(super) worked: AtomicUsize,
    pub(super) committed: AtomicUsize,
    pub(super) let_go: AtomicUsize,
    pub(super) finished: AtomicUsize,
}

impl Counts {
    pub(super) fn of(&self) -> [usize; 4] {
        [&self.worked, &self.committed, &self.let_go, &self.finished]
            .map(|count| count.load(Ordering::SeqCst))
    }
}

/// A tool that counts, and panics where its arguments say so.
pub(super) struct Counting(pub(super) Arc<Counts>);

struct LetGo(Arc<Counts>);

impl Drop for LetGo {
    fn drop(&mut self) {
        self.0.let_go.fetch_add(1, Ordering::SeqCst);
    }
}

fn panics_at(args: &Value, stage: &str) {
    assert!(args["panic"] != stage, "at {stage}");
}

impl Tool for Counting {
    fn description(&self) -> ToolDescription {
        ToolDescription {
            name: "count",
            description: "Counts.".to_owned(),
            input_schema: json!({"type": "object"}),
            card: Card::Read,
        }
    }

    fn finalizer(&self, call: &Call<'_>) -> Finalizer {
        panics_at(&call.args, "finalizer");
        let (counts, args) = (Arc::clone(&self.0), call.args.clone());
        Finalizer::new(move |_, _| {
            counts.finished.fetch_add(1, Ordering::SeqCst);
            panics_at(&args, "finish");
        })
    }

    fn check(&self, args: &Value) -> Result<(), String> {
        panics_at(args, "check");
        let wrong = || Err("`wrong`: expected nothing, got something".to_owned());
        if args["wrong"].is_null() { Ok(()) } else { wrong() }
    }

    fn call<'a>(&'a self, call: &'a Call<'a>) -> BoxFuture<'a, Undelivered> {
        Box::pin(async {
            self.0.worked.fetch_add(1, Ordering::SeqCst);
            panics_at(&call.args, "call");
            let (counts, let_go) = (Arc::clone(&self.0), LetGo(Arc::clone(&self.0)));
            if call.args["wait"] == true {
                pending::<()>().await;
            }
            let delivery = Delivery::new(move || {
                counts.committed.fetch_add(1, Ordering::SeqCst);
                drop(let_go);
            });
            Undelivered::new(ToolReply::new("one", json!(1)), delivery)
        })
    }
}
