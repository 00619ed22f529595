//! Reads one line, character by character, and tracks positions.

use std::ops::Range;

use crate::problem::ScriptProblem;

/// A position in one line of a script, its comment cut off.
#[derive(Debug, Clone)]
pub(crate) struct Cursor<'a> {
    line: &'a str,
    /// Offset of the line in the text.
    base: usize,
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(line: &'a str, base: usize) -> Cursor<'a> {
        Cursor { line: line.trim_end(), base, at: 0 }
    }

    fn rest(&self) -> &'a str {
        &self.line[self.at..]
    }

    pub(crate) fn skip_spaces(&mut self) {
        self.at = self.line.len() - self.rest().trim_start().len();
    }

    pub(crate) fn is_at_end(&mut self) -> bool {
        self.skip_spaces();
        self.rest().is_empty()
    }

    /// The next non-space character.
    pub(crate) fn peek(&mut self) -> Option<char> {
        self.skip_spaces();
        self.rest().chars().next()
    }

    /// True if the very next character is `wanted`, spaces included.
    pub(crate) fn next_is(&self, wanted: char) -> bool {
        self.rest().starts_with(wanted)
    }

    /// Skips `token` if it is next.
    pub(crate) fn eat(&mut self, token: &str) -> bool {
        self.skip_spaces();
        let found = self.rest().starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    /// Skips `word` if it is the next whole word.
    pub(crate) fn eat_word(&mut self, word: &str) -> bool {
        let mut ahead = self.clone();
        let found = ahead.word() == word;
        if found {
            *self = ahead;
        }
        found
    }

    /// The longest run of characters for which `wanted` holds; may be empty.
    pub(crate) fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> &'a str {
        self.skip_spaces();
        let rest = self.rest();
        let len = rest.find(|c| !wanted(c)).unwrap_or(rest.len());
        self.at += len;
        &rest[..len]
    }

    /// Letters, digits, `_` and `-`; may be empty.
    pub(crate) fn word(&mut self) -> &'a str {
        self.take_while(|c| c.is_alphanumeric() || c == '_' || c == '-')
    }

    /// Everything up to the end of the line.
    pub(crate) fn remainder(&mut self) -> &'a str {
        self.skip_spaces();
        let rest = self.rest();
        self.at = self.line.len();
        rest
    }

    /// A whole number; `what` names it in the error message.
    pub(crate) fn number(&mut self, what: &str) -> Result<u64, ScriptProblem> {
        let from = self.mark();
        let digits = self.take_while(|c| c.is_ascii_digit());
        if digits.is_empty() {
            return Err(self.unexpected(&format!("{what}, a whole number")));
        }
        let too_big =
            || ScriptProblem::new(self.since(from), format!("{what} is too big: {digits}"));
        digits.parse().map_err(|_| too_big())
    }

    /// Position of the next non-space character.
    pub(crate) fn mark(&mut self) -> usize {
        self.skip_spaces();
        self.at
    }

    /// The span from a mark to here.
    pub(crate) fn since(&self, mark: usize) -> Range<usize> {
        self.base + mark..self.base + self.at
    }

    /// The whole line.
    pub(crate) fn span(&self) -> Range<usize> {
        let indent = self.line.len() - self.line.trim_start().len();
        self.base + indent..self.base + self.line.len()
    }

    /// Error: the next token is not `expected`.
    pub(crate) fn unexpected(&mut self, expected: &str) -> ScriptProblem {
        let from = self.mark();
        let found = self.clone().take_while(|c| !c.is_whitespace() && c != ',').to_owned();
        let message = match found.as_str() {
            "" => format!("the line ends before {expected}"),
            _ => format!("expected {expected}, found `{found}`"),
        };
        let span = self.base + from..self.base + from + found.len();
        ScriptProblem::new(span, message).label("here")
    }

    /// Fails unless the line ends here.
    pub(crate) fn finish(&mut self) -> Result<(), ScriptProblem> {
        if self.is_at_end() { Ok(()) } else { Err(self.unexpected("the end of the line")) }
    }
}
