//! Errors in a script or in the component under test, shown beside the line.

use std::ops::Range;
use std::path::PathBuf;
use std::{fmt, io};

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use thiserror::Error;

/// Cause of a script's failure.
#[derive(Debug, Error)]
pub enum ScriptError {
    /// The file cannot be read.
    #[error("failed to read the script {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Cause of the error.
        source: io::Error,
    },
    /// The text is not a script.
    #[error("{0}")]
    Syntax(ScriptReport),
    /// The output does not match the script.
    #[error("{0}")]
    Unmet(ScriptReport),
}

/// A message beside the line that it is about. `Display` draws both, without colours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptReport {
    /// The error, in one line.
    pub message: String,
    /// The line, from 1.
    pub line: usize,
    /// The column, in characters from 1.
    pub column: usize,
    drawing: String,
}

impl fmt::Display for ScriptReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.drawing)
    }
}

/// An error at a position, before it is drawn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ScriptProblem {
    message: String,
    /// Bytes of the text.
    span: Range<usize>,
    /// Label under the position.
    label: String,
    /// Help, or the preceding events.
    notes: Vec<ProblemNote>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum ProblemNote {
    Help(String),
    Before(String),
}

impl ScriptProblem {
    pub(crate) fn new(span: Range<usize>, message: impl Into<String>) -> ScriptProblem {
        ScriptProblem { message: message.into(), span, label: String::new(), notes: Vec::new() }
    }

    #[must_use]
    pub(crate) fn label(mut self, label: impl Into<String>) -> ScriptProblem {
        self.label = label.into();
        self
    }

    #[must_use]
    pub(crate) fn help(mut self, help: impl Into<String>) -> ScriptProblem {
        self.notes.push(ProblemNote::Help(help.into()));
        self
    }

    /// Adds the events before the problem, a line each.
    #[must_use]
    pub(crate) fn before(mut self, events: &[String]) -> ScriptProblem {
        if !events.is_empty() {
            self.notes.push(ProblemNote::Before(events.join("\n")));
        }
        self
    }

    /// Draws the problem beside `text`; `name` is the name of the text.
    pub(crate) fn report(self, name: &str, text: &str) -> ScriptReport {
        let start = self.span.start.min(text.len());
        let before = &text[..start];
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        ScriptReport {
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
                ProblemNote::Help(help) => Level::HELP.message(help),
                ProblemNote::Before(events) => Level::NOTE.message(format!("before it:\n{events}")),
            });
        }
        Renderer::plain().render(&[group]).to_string()
    }
}

/// `did you mean ...?` if one of `known` is close enough to have been meant, otherwise all of them.
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

/// Zero unless one may have been meant for the other. Jaro-Winkler forgives a changed ending; two transposed letters
/// in a short word need the edit distance.
fn likeness(word: &str, candidate: &str) -> f64 {
    let beginnings = strsim::jaro_winkler(word, candidate);
    let edits = strsim::normalized_damerau_levenshtein(word, candidate);
    if beginnings >= 0.75 || edits >= 0.6 { beginnings.max(edits) } else { 0.0 }
}
