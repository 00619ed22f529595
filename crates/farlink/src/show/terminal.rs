//! The terminal's width, if standard output is one.

use textwrap::Options;

/// The terminal's columns, if there is one.
pub fn width() -> Option<usize> {
    terminal_size::terminal_size_of(std::io::stdout()).map(|(width, _)| width.0.into())
}

/// Wraps a long line to the terminal's width, continuations indented; unchanged if the output goes to a file.
pub fn wrapped(text: &str) -> String {
    match width() {
        Some(width) => textwrap::fill(text, Options::new(width).subsequent_indent("  ")),
        None => text.to_owned(),
    }
}
