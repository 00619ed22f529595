//! What is wrong with a script or with what it tests, shown beside the line.

use std::fmt;
use std::io;
use std::ops::Range;
use std::path::PathBuf;

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use thiserror::Error;

/// Why a script failed.
#[derive(Debug, Error)]
pub enum Failure {
    /// The file cannot be read.
    #[error("failed to read the script {}: {source}", path.display())]
    Unreadable {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The text is not a script.
    #[error("{0}")]
    Syntax(Report),
    /// What came out is not what the script says.
    #[error("{0}")]
    Unmet(Report),
}

/// A message beside the line it is about. `Display` draws both, without colours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// What is wrong, in one line.
    pub message: String,
    /// The line, from 1.
    pub line: usize,
    /// The column, in characters from 1.
    pub column: usize,
    drawing: String,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.drawing)
    }
}

/// Something wrong at a place, before it is drawn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Problem {
    message: String,
    /// Bytes of the text.
    span: Range<usize>,
    /// Stands under the place.
    label: String,
    /// What to do, or what happened before.
    notes: Vec<Note>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Note {
    Help(String),
    Before(String),
}

impl Problem {
    pub(crate) fn new(span: Range<usize>, message: impl Into<String>) -> Problem {
        Problem { message: message.into(), span, label: String::new(), notes: Vec::new() }
    }

    #[must_use]
    pub(crate) fn label(mut self, label: impl Into<String>) -> Problem {
        self.label = label.into();
        self
    }

    #[must_use]
    pub(crate) fn help(mut self, help: impl Into<String>) -> Problem {
        self.notes.push(Note::Help(help.into()));
        self
    }

    /// What led there, a line each.
    #[must_use]
    pub(crate) fn before(mut self, events: &[String]) -> Problem {
        if !events.is_empty() {
            self.notes.push(Note::Before(events.join("\n")));
        }
        self
    }

    /// Draws the problem beside the text that `name` holds.
    pub(crate) fn report(self, name: &str, text: &str) -> Report {
        let start = self.span.start.min(text.len());
        let before = &text[..start];
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        Report {
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            drawing: self.draw(name, text),
            message: self.message,
        }
    }

    fn draw(&self, name: &str, text: &str) -> String {
        let end = self.span.end.min(text.len());
        let mark = AnnotationKind::Primary.span(self.span.start.min(end)..end);
        let mark = if self.label.is_empty() { mark } else { mark.label(&self.label) };
        let snippet = Snippet::source(text).path(name).annotation(mark);
        let mut group: Group<'_> = Level::ERROR.primary_title(&self.message).element(snippet);
        for note in &self.notes {
            group = group.element(match note {
                Note::Help(help) => Level::HELP.message(help),
                Note::Before(events) => Level::NOTE.message(format!("before it:\n{events}")),
            });
        }
        Renderer::plain().render(&[group]).to_string()
    }
}

/// `did you mean ...?` if one of `known` is near enough to have been meant, else all of them.
pub(crate) fn suggestion<'a>(
    word: &str,
    known: impl IntoIterator<Item = &'a str> + Clone,
) -> String {
    let nearest = known
        .clone()
        .into_iter()
        .map(|candidate| (likeness(word, candidate), candidate))
        .filter(|(likeness, _)| *likeness > 0.0)
        .max_by(|a, b| a.0.total_cmp(&b.0));
    match nearest {
        Some((_, candidate)) => format!("did you mean `{candidate}`?"),
        None => {
            let known: Vec<_> = known.into_iter().collect();
            format!("there are: {}", known.join(", "))
        }
    }
}

/// Zero unless one may have been meant for the other. Jaro-Winkler forgives a changed ending; two letters that changed
/// places in a short word want the edit distance.
fn likeness(word: &str, candidate: &str) -> f64 {
    let beginnings = strsim::jaro_winkler(word, candidate);
    let edits = strsim::normalized_damerau_levenshtein(word, candidate);
    if beginnings >= 0.75 || edits >= 0.6 { beginnings.max(edits) } else { 0.0 }
}
