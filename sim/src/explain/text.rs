//! The chart for a terminal.
//!
//! ```text
//!                 service
//!                 │ ann
//!                 │ │ bash-1
//!    1   0.000 ms ● │         attach a controller to the root → controller#0.0
//! ```

use std::fmt::Write;

use super::{Chart, Row};

/// Draws a chart in aligned text, without colour.
#[must_use]
pub fn text(chart: &Chart) -> String {
    let mut drawn = String::new();
    if !chart.limits.is_empty() {
        let _ = writeln!(drawn, "limits: {}\n", chart.limits.join(", "));
    }
    let indent = " ".repeat(20);
    for (lane, entry) in chart.lanes.iter().enumerate() {
        let _ = writeln!(drawn, "{indent}{}{}", "│ ".repeat(lane), entry.name);
    }
    for (index, row) in chart.rows.iter().enumerate() {
        draw_row(&mut drawn, chart, index, row);
    }
    match &chart.failure {
        Some(failure) => {
            let _ = writeln!(drawn, "\n✗ {failure}");
        }
        None => drawn.push_str("\n✓ nothing failed\n"),
    }
    drawn
}

fn draw_row(drawn: &mut String, chart: &Chart, index: usize, row: &Row) {
    let mark = if row.offending { '✗' } else { ' ' };
    let ms = row.now.at.0 / 1_000_000;
    let part = row.now.at.0 / 1_000 % 1_000;
    let lanes = lanes(chart, index, row.lane, if row.offending { '✗' } else { '●' });
    let _ = writeln!(drawn, "{mark}{:>4} {ms:>6}.{part:03} ms {lanes} {}", row.step, row.text);
    for effect in &row.effects {
        let lanes = self::lanes(chart, index, effect.lane, '◆');
        let _ = writeln!(drawn, "{mark}{:18} {lanes}   ↳ {}", "", effect.text);
    }
}

/// The lanes at one row, with a sign in one of them.
fn lanes(chart: &Chart, index: usize, marked: usize, sign: char) -> String {
    let mut drawn = String::new();
    for (lane, entry) in chart.lanes.iter().enumerate() {
        let alive = entry.from <= index && entry.until.is_none_or(|until| until >= index);
        drawn.push(match (lane == marked, alive) {
            (true, _) => sign,
            (false, true) => '│',
            (false, false) => ' ',
        });
        drawn.push(' ');
    }
    drawn
}
