//! The chart as a Mermaid sequence diagram, for pages that draw those.

use std::fmt::Write;

use super::Chart;

/// Draws a chart as a Mermaid sequence diagram.
#[must_use]
pub fn mermaid(chart: &Chart) -> String {
    let mut drawn = "sequenceDiagram\n    actor W as world\n".to_owned();
    for (lane, entry) in chart.lanes.iter().enumerate() {
        let _ = writeln!(drawn, "    participant L{lane} as {}", escaped(&entry.name));
    }
    if !chart.limits.is_empty() {
        let _ = writeln!(drawn, "    Note over W: limits: {}", escaped(&chart.limits.join(", ")));
    }
    for row in &chart.rows {
        let ms = row.now.at.0 / 1_000_000;
        let (step, lane) = (row.step, row.lane);
        let _ = writeln!(drawn, "    W->>L{lane}: {step}. {} ({ms} ms)", escaped(&row.text));
        for effect in &row.effects {
            let _ = writeln!(drawn, "    L{lane}-->>L{}: {}", effect.lane, escaped(&effect.text));
        }
        if let Some(failure) = chart.failure.as_ref().filter(|_| row.offending) {
            let what = escaped(failure.property.text());
            let _ = writeln!(drawn, "    Note over L{lane}: ✗ broken here: {what}");
        }
    }
    drawn
}

/// Without the characters that end a message.
fn escaped(text: &str) -> String {
    text.replace(';', ",").replace('#', " no. ").replace('\n', " ")
}
