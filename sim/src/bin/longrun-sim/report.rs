//! What a campaign came to: a table for people, JUnit and JSON for machines.

use std::fmt::Write;

use longrun_sim::{Label, Pairs, Property, campaign::Tally};
use serde_json::json;

use crate::run::End;

/// What has to be seen sometimes.
pub(crate) fn sometimes() -> Vec<Property> {
    let all = Property::ALL.iter().copied();
    all.filter(|property| property.label() == Label::Sometimes).collect()
}

/// How a property stands: `None` if nothing is known against it and it was not to be
/// seen.
fn verdict(tally: &Tally, property: Property) -> &'static str {
    let failure = tally.failure.as_ref().and_then(|(_, report)| report.failure.as_ref());
    let failed = failure.is_some_and(|failure| failure.property == property);
    let seen = tally.coverage.seen.contains(property);
    match property.label() {
        _ if failed => "FAILED",
        Label::Always | Label::Eventually => "held",
        Label::Sometimes if seen => "seen",
        Label::Sometimes => "not seen",
    }
}

/// The summary.
pub(crate) fn table(tally: &Tally) -> String {
    let mut drawn = String::new();
    for property in Property::ALL {
        let (label, verdict) = (property.label().as_str(), verdict(tally, *property));
        let text = property.text();
        let _ = writeln!(drawn, "{label:<11}{verdict:<10}{text}  [{}]", property.clauses());
    }
    let pairs = &tally.coverage.pairs;
    for (phase, _, missed) in pairs.rows().filter(|(_, _, missed)| !missed.is_empty()) {
        let _ = writeln!(drawn, "not met      {phase}: {}", missed.join(", "));
    }
    let _ = write!(
        drawn,
        "\n{} runs, {} events in {:.1} s ({} events/s), phase × event {}/{}",
        tally.runs,
        tally.events,
        tally.elapsed.as_secs_f64(),
        tally.rate(),
        pairs.count(),
        Pairs::possible()
    );
    if let Some(digest) = digest(tally) {
        let _ = write!(drawn, "\ndigest {digest}");
    }
    drawn
}

/// The digest of everything that happened. A campaign that failed has none: where it
/// stopped depends on its threads.
fn digest(tally: &Tally) -> Option<String> {
    tally.failure.is_none().then(|| format!("{:032x}", tally.digest))
}

/// The JUnit report: a test case for each property.
pub(crate) fn junit(tally: &Tally, end: &End) -> String {
    let failure = tally.failure.as_ref().and_then(|(_, report)| report.failure.as_ref());
    let missing = tally.never_seen();
    let again = end.again.as_ref().map(|line| format!("\nreproduce: {line}")).unwrap_or_default();
    let failures = usize::from(failure.is_some()) + missing.len();
    let time = tally.elapsed.as_secs_f64();
    let mut drawn = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <testsuite name=\"longrun-sim\" tests=\"{}\" failures=\"{failures}\" time=\"{time:.3}\">\n",
        Property::ALL.len()
    );
    for property in Property::ALL {
        let class = property.label().as_str();
        let name = escaped(&format!("{} [{}]", property.text(), property.clauses()));
        let _ = write!(drawn, "  <testcase classname=\"{class}\" name=\"{name}\"");
        let why = match failure {
            Some(failure) if failure.property == *property => {
                let saved = end.saved.as_ref().map(|file| format!("\ntrace: {}", file.display()));
                let what = format!("{failure}{}{again}", saved.unwrap_or_default());
                Some((failure.kind.as_str(), what))
            }
            _ if missing.contains(property) => Some(("never seen", again.clone())),
            _ => None,
        };
        let _ = match why {
            None => writeln!(drawn, "/>"),
            Some((kind, text)) => writeln!(
                drawn,
                ">\n    <failure message=\"{kind}\">{}</failure>\n  </testcase>",
                escaped(&text)
            ),
        };
    }
    drawn.push_str("</testsuite>\n");
    drawn
}

fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    text.replace('"', "&quot;")
}

/// The JSON report.
pub(crate) fn json(tally: &Tally, end: &End) -> String {
    let properties: Vec<_> = Property::ALL
        .iter()
        .map(|property| {
            json!({
                "name": property.name(),
                "label": property.label().as_str(),
                "clauses": property.clauses(),
                "text": property.text(),
                "verdict": verdict(tally, *property),
            })
        })
        .collect();
    let failure = tally.failure.as_ref().and_then(|(seed, report)| {
        let failure = report.failure.as_ref()?;
        Some(json!({
            "seed": seed,
            "kind": failure.kind.as_str(),
            "property": failure.property.name(),
            "message": failure.message,
            "step": failure.step,
            "trace": end.saved.as_ref().map(|file| file.display().to_string()),
        }))
    });
    let rows = tally.coverage.pairs.rows();
    let pairs: Vec<_> = rows
        .map(|(phase, met, missed)| json!({"phase": phase, "met": met, "missed": missed}))
        .collect();
    let report = json!({
        "runs": tally.runs,
        "events": tally.events,
        "seconds": tally.elapsed.as_secs_f64(),
        "events_per_second": tally.rate(),
        "digest": digest(tally),
        "properties": properties,
        "pairs": pairs,
        "failure": failure,
        "reproduce": end.again,
    });
    format!("{report:#}\n")
}
