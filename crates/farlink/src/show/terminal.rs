//! The terminal's width, where the output goes to one.

use textwrap::Options;

/// The terminal's columns, if there is one.
pub fn width() -> Option<usize> {
    terminal_size::terminal_size_of(std::io::stdout()).map(|(width, _)| width.0.into())
}

/// A long line in the terminal's width, its continuation indented; as it is where it goes to a file.
pub fn wrapped(text: &str) -> String {
    match width() {
        Some(width) => textwrap::fill(text, Options::new(width).subsequent_indent("  ")),
        None => text.to_owned(),
    }
}
