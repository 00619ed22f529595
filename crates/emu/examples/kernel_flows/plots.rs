//! Congestion windows over time, the kernel's beside the simulated: one SVG per congestion control, one row per link.

use std::fmt::Write as _;
use std::path::Path;

use farlink_emu::flow::FlowTrace;

/// The flows over one link.
pub struct Row {
    pub name: String,
    /// Distinguishing property of the link.
    pub what: &'static str,
    pub kernel: Vec<FlowTrace>,
    pub simulated: Vec<FlowTrace>,
}

const WIDTH: f64 = 430.0;
const HEIGHT: f64 = 92.0;
const LEFT: f64 = 46.0;
const GAP: f64 = 30.0;
const ABOVE: f64 = 30.0;
const ROW: f64 = HEIGHT + 42.0;
const HEAD: f64 = 40.0;

/// Maximum number of window changes in a curve: more than the pixels it has.
const POINTS: usize = 500;
/// Maximum number of curves in a panel: more cannot be told apart.
const CURVES: usize = 5;

/// Writes `cwnd-NAME.svg`.
pub fn write(directory: &Path, congestion: &str, rows: &[Row]) -> Result<(), String> {
    let path = directory.join(format!("cwnd-{congestion}.svg"));
    std::fs::create_dir_all(directory)
        .and_then(|()| std::fs::write(&path, svg(congestion, rows)))
        .map_err(|error| format!("failed to write {}: {error}", path.display()))
}

fn svg(congestion: &str, rows: &[Row]) -> String {
    let (width, height) = (LEFT + 2.0 * WIDTH + GAP + 14.0, HEAD + ROW * rows.len() as f64);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
         font-family=\"system-ui, sans-serif\" font-size=\"11\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
         <text x=\"{LEFT}\" y=\"20\" font-size=\"14\" font-weight=\"bold\">The running kernel: {congestion}</text>\n\
         <text x=\"{}\" y=\"20\" font-size=\"14\" font-weight=\"bold\">farlink, simulated</text>\n",
        LEFT + WIDTH + GAP
    );
    for (index, row) in rows.iter().enumerate() {
        let top = HEAD + ROW * index as f64 + ABOVE - 12.0;
        let axes = Axes::of(row);
        let _ = writeln!(
            svg,
            "<text x=\"{LEFT}\" y=\"{}\"><tspan font-weight=\"bold\">{}</tspan>: {}</text>",
            top - 6.0,
            row.name,
            row.what
        );
        for (column, traces) in [&row.kernel, &row.simulated].into_iter().enumerate() {
            let left = LEFT + column as f64 * (WIDTH + GAP);
            panel(&mut svg, (left, top), &axes, traces, ["#8a3b12", "#12528a"][column]);
        }
    }
    svg + "</svg>\n"
}

/// Properties shared by both panels of a row.
struct Axes {
    seconds: f64,
    segments: f64,
}

impl Axes {
    fn of(row: &Row) -> Axes {
        let acks = || row.kernel.iter().chain(&row.simulated).flat_map(|t| &t.acknowledgements);
        Axes {
            seconds: acks().map(|ack| ack.at.as_secs_f64()).fold(0.1, f64::max),
            segments: acks().map(|ack| f64::from(ack.cwnd)).fold(10.0, f64::max),
        }
    }
}

fn panel(
    svg: &mut String,
    (left, top): (f64, f64),
    axes: &Axes,
    traces: &[FlowTrace],
    colour: &str,
) {
    let bottom = top + HEIGHT;
    let _ = writeln!(
        svg,
        "<rect x=\"{left}\" y=\"{top}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"none\" stroke=\"#bbb\"/>\
         <text x=\"{}\" y=\"{}\" text-anchor=\"end\" fill=\"#555\">{:.0}</text>\
         <text x=\"{}\" y=\"{bottom}\" text-anchor=\"end\" fill=\"#555\">0</text>\
         <text x=\"{}\" y=\"{}\" text-anchor=\"end\" fill=\"#555\">{:.1} s</text>",
        left - 4.0,
        top + 9.0,
        axes.segments,
        left - 4.0,
        left + WIDTH,
        bottom + 13.0,
        axes.seconds,
    );
    let opacity = if traces.len() > 1 { 0.45 } else { 1.0 };
    let shown = &traces[..traces.len().min(CURVES)];
    for trace in shown {
        let points = steps(trace, POINTS / shown.len()).into_iter().map(|(seconds, segments)| {
            let x = left + WIDTH * seconds / axes.seconds;
            let y = bottom - HEIGHT * segments / axes.segments;
            format!("{x:.1},{y:.1}")
        });
        let points: Vec<String> = points.collect();
        let _ = writeln!(
            svg,
            "<polyline fill=\"none\" stroke=\"{colour}\" stroke-opacity=\"{opacity}\" points=\"{}\"/>",
            points.join(" ")
        );
    }
}

/// The window as a staircase, thinned out evenly if it changes more often than can be seen.
fn steps(trace: &FlowTrace, most: usize) -> Vec<(f64, f64)> {
    let changes = trace.acknowledgements.windows(2).filter(|pair| pair[0].cwnd != pair[1].cwnd);
    let changes: Vec<_> = changes.collect();
    let every = changes.len().div_ceil(most).max(1);
    let mut steps = Vec::new();
    let first = trace.acknowledgements.first();
    steps.extend(first.map(|ack| (ack.at.as_secs_f64(), f64::from(ack.cwnd))));
    for pair in changes.into_iter().step_by(every) {
        let at = pair[1].at.as_secs_f64();
        steps.push((at, steps.last().map_or(0.0, |(_, segments)| *segments)));
        steps.push((at, f64::from(pair[1].cwnd)));
    }
    if let Some(last) = trace.acknowledgements.last() {
        let at = last.at.as_secs_f64();
        steps.push((at, steps.last().map_or(0.0, |(_, segments)| *segments)));
        steps.push((at, f64::from(last.cwnd)));
    }
    steps
}
