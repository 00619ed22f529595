//! A visit's waterfall, drawn in characters: a line per object, a column per slice of time.

use std::fmt::Write;

use anstyle::{AnsiColor, Color, Style};
use record::{CriticalPath, ObjectRecord, VisitRecord};

use super::units::span;

/// The drawing of a phase. The characters tell phases apart without colour.
struct PhaseStyle {
    mark: char,
    name: &'static str,
    color: AnsiColor,
}

const PHASES: [PhaseStyle; 7] = [
    PhaseStyle { mark: '.', name: "blocked", color: AnsiColor::BrightBlack },
    PhaseStyle { mark: 'd', name: "dns", color: AnsiColor::Blue },
    PhaseStyle { mark: 'c', name: "connect", color: AnsiColor::Yellow },
    PhaseStyle { mark: 't', name: "tls", color: AnsiColor::Magenta },
    PhaseStyle { mark: '-', name: "wait", color: AnsiColor::Cyan },
    PhaseStyle { mark: '#', name: "receive", color: AnsiColor::Green },
    PhaseStyle { mark: 'x', name: "failed", color: AnsiColor::Red },
];

/// Columns for the object's name.
const NAME: usize = 28;
/// Columns for its size and end, behind the bars.
const TAIL: usize = 20;

/// Draws `visit` in `width` columns, at most `rows` objects, with the load event's column and the objects on the critical path marked.
pub fn draw(
    visit: &VisitRecord,
    critical: Option<&CriticalPath>,
    width: usize,
    rows: usize,
) -> String {
    let bars = width.saturating_sub(NAME + TAIL).clamp(20, 120);
    let scale = TimeScale::of(visit, bars);
    let mut text = String::new();
    let hidden = visit.objects.len().saturating_sub(rows);
    let is_critical = |object: &ObjectRecord| {
        critical.is_some_and(|path| path.steps.iter().any(|step| step.object == object.object))
    };
    for object in visit.objects.iter().take(rows) {
        let mark = if is_critical(object) { '*' } else { ' ' };
        let (name, bar, tail) = (name(object), scale.bar(object), tail(object, &scale));
        let _ = writeln!(text, "{name}{mark}{bar} {tail}");
    }
    if hidden > 0 {
        let _ = writeln!(text, "{:NAME$} ... {hidden} more objects (--waterfall draws all)", "");
    }
    if let Some(plt) = visit.plt_ns() {
        let column = scale.column(visit.started_at_ns + plt).min(bars);
        let _ = writeln!(text, "{:NAME$} {}^ load {}", "", " ".repeat(column), span(plt));
    }
    let legend: Vec<String> =
        PHASES.iter().map(|p| format!("{} {}", paint(p, &p.mark.to_string()), p.name)).collect();
    let critical = if critical.is_some() { "* critical path" } else { "" };
    let _ = write!(text, "{critical:>NAME$} {}", legend.join("  "));
    text
}

fn paint(phase: &PhaseStyle, text: &str) -> String {
    let style = Style::new().fg_color(Some(Color::Ansi(phase.color)));
    format!("{style}{text}{style:#}")
}

/// The object's name, as short as in a waterfall.
pub fn short_name(object: &ObjectRecord) -> String {
    name(object).trim_end().to_owned()
}

/// The end of the path, which tells objects apart better than the beginning.
fn name(object: &ObjectRecord) -> String {
    let path = object.url.split_once("://").map_or(object.url.as_str(), |(_, rest)| rest);
    let path: Vec<char> = path.chars().collect();
    let text: String = match path.len() {
        len if len <= NAME => path.iter().collect(),
        len => std::iter::once('~').chain(path[len - NAME + 1..].iter().copied()).collect(),
    };
    format!("{text:NAME$}")
}

fn tail(object: &ObjectRecord, scale: &TimeScale) -> String {
    match &object.error {
        Some(error) => error.clone(),
        None => format!(
            "{:>8} {:>8}",
            super::units::bytes(object.body_bytes as f64),
            span((object.discovered_at_ns + object.phases.total_ns()).saturating_sub(scale.start))
        ),
    }
}

struct TimeScale {
    start: u64,
    per_column: f64,
    columns: usize,
}

impl TimeScale {
    fn of(visit: &VisitRecord, columns: usize) -> TimeScale {
        let end = |o: &ObjectRecord| o.discovered_at_ns + o.phases.total_ns();
        let last = visit.objects.iter().map(end).max().unwrap_or(0);
        let last = last.max(visit.started_at_ns + visit.plt_ns().unwrap_or(0));
        let total = last.saturating_sub(visit.started_at_ns).max(1);
        TimeScale { start: visit.started_at_ns, per_column: total as f64 / columns as f64, columns }
    }

    fn column(&self, at_ns: u64) -> usize {
        (at_ns.saturating_sub(self.start) as f64 / self.per_column) as usize
    }

    fn bar(&self, object: &ObjectRecord) -> String {
        let p = &object.phases;
        let setup = [p.blocked_ns, p.dns_ns, p.connect_ns, p.tls_ns];
        let spans = setup.into_iter().chain([p.send_ns + p.wait_ns, p.receive_ns]);
        let mut cells = vec![None; self.columns];
        let mut at = object.discovered_at_ns;
        let first = self.column(at).min(self.columns - 1);
        for (phase, span) in spans.enumerate().filter(|(_, span)| *span > 0) {
            let (from, to) = (self.column(at), self.column(at + span));
            at += span;
            for cell in cells.iter_mut().take(to + 1).skip(from) {
                *cell = Some(phase);
            }
        }
        if object.error.is_some() {
            cells[first] = Some(PHASES.len() - 1);
        } else if cells.iter().all(Option::is_none) {
            cells[first] = Some(PHASES.len() - 2);
        }
        cells.chunk_by(|a, b| a == b).map(|run| self.paint(run)).collect()
    }

    fn paint(&self, run: &[Option<usize>]) -> String {
        match run[0] {
            None => " ".repeat(run.len()),
            Some(phase) => {
                let phase = &PHASES[phase];
                paint(phase, &phase.mark.to_string().repeat(run.len()))
            }
        }
    }
}
