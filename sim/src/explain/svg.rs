//! The chart as a picture that a browser shows.

use std::fmt::Write;

use super::{Chart, LaneKind, Row};

const LANE_WIDTH: usize = 76;
const LINE_HEIGHT: usize = 22;
const TOP: usize = 64;
const LEFT: usize = 130;

/// Draws a chart as SVG.
#[must_use]
pub fn svg(chart: &Chart) -> String {
    let lines: usize = chart.rows.iter().map(|row| 1 + row.effects.len()).sum();
    let text_at = LEFT + chart.lanes.len() * LANE_WIDTH;
    let longest = chart.rows.iter().flat_map(|row| {
        row.effects
            .iter()
            .map(|effect| effect.text.chars().count() + 4)
            .chain([row.text.chars().count()])
    });
    let failure = chart.failure.as_ref().map(ToString::to_string).unwrap_or_default();
    let failure_width = failure.lines().map(|line| line.chars().count() * 8 + 40).max();
    let width = text_at + longest.max().unwrap_or(0) * 8 + 40;
    let width = width.max(failure_width.unwrap_or(0));
    let height = TOP + (lines + failure.lines().count() + 3) * LINE_HEIGHT;
    let mut drawn = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
         height=\"{height}\" font-family=\"ui-monospace, monospace\" font-size=\"13\">\n\
         <defs><marker id=\"tip\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"8\" \
         markerHeight=\"8\" orient=\"auto\"><path d=\"M0 0 L8 4 L0 8 z\" fill=\"#667\"/></marker></defs>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
    );
    if !chart.limits.is_empty() {
        let limits = escaped(&chart.limits.join(", "));
        let _ = writeln!(drawn, "<text x=\"12\" y=\"16\" fill=\"#888\">limits: {limits}</text>");
    }
    let tops = row_tops(chart);
    for (row, top) in chart.rows.iter().zip(&tops).filter(|(row, _)| row.offending) {
        let height = (1 + row.effects.len()) * LINE_HEIGHT;
        let _ = writeln!(
            drawn,
            "<rect x=\"0\" y=\"{top}\" width=\"{width}\" height=\"{height}\" fill=\"#fdd\"/>"
        );
    }
    draw_lanes(&mut drawn, chart, &tops, TOP + lines * LINE_HEIGHT);
    for (row, top) in chart.rows.iter().zip(&tops) {
        draw_row(&mut drawn, row, *top, text_at);
    }
    let mut y = TOP + (lines + 1) * LINE_HEIGHT;
    for line in failure.lines() {
        let _ = writeln!(
            drawn,
            "<text x=\"20\" y=\"{y}\" fill=\"#b00\" font-weight=\"bold\">{}</text>",
            escaped(line)
        );
        y += LINE_HEIGHT;
    }
    drawn.push_str("</svg>\n");
    drawn
}

fn row_tops(chart: &Chart) -> Vec<usize> {
    let mut top = TOP;
    let tops = chart.rows.iter().map(|row| {
        let this = top;
        top += (1 + row.effects.len()) * LINE_HEIGHT;
        this
    });
    tops.collect()
}

const fn middle(lane: usize) -> usize {
    LEFT + lane * LANE_WIDTH + LANE_WIDTH / 2
}

const fn colour(kind: LaneKind) -> &'static str {
    match kind {
        LaneKind::Service => "#445",
        LaneKind::Owner => "#06c",
        LaneKind::Task => "#080",
        LaneKind::Wait => "#a60",
    }
}

fn draw_lanes(drawn: &mut String, chart: &Chart, tops: &[usize], bottom: usize) {
    for (lane, entry) in chart.lanes.iter().enumerate() {
        let (x, colour) = (middle(lane), colour(entry.kind));
        let from = tops.get(entry.from).copied().unwrap_or(TOP);
        let until = entry.until.and_then(|until| tops.get(until + 1).copied()).unwrap_or(bottom);
        let _ = writeln!(
            drawn,
            "<text x=\"{x}\" y=\"36\" text-anchor=\"middle\" fill=\"{colour}\" \
             font-weight=\"bold\">{}</text>\n\
             <line x1=\"{x}\" y1=\"44\" x2=\"{x}\" y2=\"{bottom}\" stroke=\"#ddd\" \
             stroke-dasharray=\"2 4\"/>\n\
             <line x1=\"{x}\" y1=\"{from}\" x2=\"{x}\" y2=\"{until}\" stroke=\"{colour}\" \
             stroke-width=\"2\"/>",
            escaped(&entry.name)
        );
    }
}

fn draw_row(drawn: &mut String, row: &Row, top: usize, text_at: usize) {
    let (x, y) = (middle(row.lane), top + LINE_HEIGHT / 2);
    let (mark, fill) = if row.offending { ("✗ ", "#b00") } else { ("", "#222") };
    let (ms, micros) = (row.now.at.0 / 1_000_000, row.now.at.0 / 1_000 % 1_000);
    let baseline = y + 5;
    let _ = writeln!(
        drawn,
        "<text x=\"12\" y=\"{baseline}\" fill=\"{fill}\">{mark}{}</text>\n\
         <text x=\"{}\" y=\"{baseline}\" text-anchor=\"end\" fill=\"#888\">{ms}.{micros:03} ms</text>\n\
         <circle cx=\"{x}\" cy=\"{y}\" r=\"5\" fill=\"{fill}\"/>\n\
         <text x=\"{text_at}\" y=\"{baseline}\" fill=\"{fill}\">{}</text>",
        row.step,
        LEFT - 4,
        escaped(&row.text)
    );
    for (line, effect) in row.effects.iter().enumerate() {
        let y = top + (line + 1) * LINE_HEIGHT + LINE_HEIGHT / 2;
        let to = middle(effect.lane);
        let _ = match effect.lane == row.lane {
            true => writeln!(drawn, "<circle cx=\"{to}\" cy=\"{y}\" r=\"3\" fill=\"#667\"/>"),
            false => writeln!(
                drawn,
                "<line x1=\"{x}\" y1=\"{y}\" x2=\"{to}\" y2=\"{y}\" stroke=\"#667\" \
                 marker-end=\"url(#tip)\"/>"
            ),
        };
        let _ = writeln!(
            drawn,
            "<text x=\"{}\" y=\"{}\" fill=\"#556\">↳ {}</text>",
            text_at + 20,
            y + 5,
            escaped(&effect.text)
        );
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
