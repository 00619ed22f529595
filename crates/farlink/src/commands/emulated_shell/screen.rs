//! The user's screen: all rows but the last for the shell inside, the last for a line about the links.
//!
//! Source: ECMA-48 and the DEC VT510 manual: DECSTBM restricts scrolling to a region, DECSC and DECRC save and
//! restore the cursor. Not handled: programs that reset the region themselves may overwrite the line until it is
//! redrawn.

use std::io::{self, Write};

/// With fewer rows there is no room for the line.
const LEAST_ROWS: u16 = 3;

/// A screen with a line at its bottom. Dropped, it is the user's again in full.
pub struct Screen<W: Write> {
    out: W,
    rows: u16,
    columns: u16,
    line: String,
    /// True if the line on the screen is not this one.
    stale: bool,
    within: ParserState,
}

/// Parser state of the output so far; the line is not drawn into an unfinished sequence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum ParserState {
    /// Nothing.
    #[default]
    Text,
    /// A multi-byte character, with this many bytes still to come.
    Character(u8),
    /// An escape sequence, after ESC.
    Escape,
    /// A control sequence, after CSI.
    Control,
    /// A string (OSC, DCS and the like), up to BEL or ST.
    String,
    /// A string, after an ESC that may begin ST.
    StringEscape,
}

impl<W: Write> Screen<W> {
    /// Reserves the last row.
    pub fn new(out: W, rows: u16, columns: u16) -> io::Result<Screen<W>> {
        let mut screen = Screen {
            out,
            rows,
            columns,
            line: String::new(),
            stale: true,
            within: ParserState::default(),
        };
        if screen.has_line() {
            // A new line scrolls the last row's content away; the region's own command moves the cursor.
            write!(screen.out, "\n\x1b7\x1b[1;{}r\x1b8\x1b[1A", screen.inner_rows())?;
        }
        screen.refresh()?;
        Ok(screen)
    }

    /// Rows for the shell inside.
    pub fn inner_rows(&self) -> u16 {
        if self.has_line() { self.rows - 1 } else { self.rows }
    }

    /// Handles a new terminal size.
    pub fn resize(&mut self, rows: u16, columns: u16) -> io::Result<()> {
        (self.rows, self.columns, self.stale) = (rows, columns, true);
        self.refresh()
    }

    /// Passes on output of programs inside.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.write_all(bytes)?;
        self.within = bytes.iter().fold(self.within, |within, byte| within.after(*byte));
        self.refresh()
    }

    /// Shows another line.
    pub fn show(&mut self, line: &str) -> io::Result<()> {
        line.clone_into(&mut self.line);
        self.stale = true;
        self.refresh()
    }

    fn has_line(&self) -> bool {
        self.rows >= LEAST_ROWS
    }

    /// Draws the line, if it is stale and no sequence is cut in two by it.
    fn refresh(&mut self) -> io::Result<()> {
        if self.stale && self.within == ParserState::Text && self.has_line() {
            let text: String = self.line.chars().take(usize::from(self.columns)).collect();
            let (region, row) = (self.inner_rows(), self.rows);
            write!(self.out, "\x1b7\x1b[1;{region}r\x1b[{row};1H\x1b[2K\x1b[7m{text}\x1b[0m\x1b8")?;
            self.stale = false;
        }
        self.out.flush()
    }
}

impl<W: Write> Drop for Screen<W> {
    fn drop(&mut self) {
        if self.has_line() {
            // A terminal that is gone needs no cleaning.
            let _ = write!(self.out, "\x1b7\x1b[r\x1b[{};1H\x1b[2K\x1b8", self.rows);
            let _ = self.out.flush();
        }
    }
}

impl ParserState {
    /// ECMA-48 section 5.4 (control sequences) and 5.6 (control strings), RFC 3629 section 3 (characters).
    fn after(self, byte: u8) -> ParserState {
        const ESC: u8 = 0x1b;
        const BEL: u8 = 0x07;
        match (self, byte) {
            (ParserState::String, ESC) => ParserState::StringEscape,
            (ParserState::String, BEL) => ParserState::Text,
            (ParserState::String, _) => ParserState::String,
            (ParserState::StringEscape, b'\\') => ParserState::Text,
            (ParserState::StringEscape, _) => ParserState::String,
            (_, ESC) => ParserState::Escape,
            (ParserState::Escape, b'[') => ParserState::Control,
            (ParserState::Escape, b']' | b'P' | b'X' | b'^' | b'_') => ParserState::String,
            // Intermediate bytes, as in the choice of a character set.
            (ParserState::Escape, 0x20..=0x2f) => ParserState::Escape,
            (ParserState::Escape, _) => ParserState::Text,
            (ParserState::Control, 0x40..=0x7e) => ParserState::Text,
            (ParserState::Control, _) => ParserState::Control,
            (ParserState::Character(left), 0x80..=0xbf) if left > 1 => {
                ParserState::Character(left - 1)
            }
            (_, 0xc0..=0xdf) => ParserState::Character(1),
            (_, 0xe0..=0xef) => ParserState::Character(2),
            (_, 0xf0..=0xf7) => ParserState::Character(3),
            _ => ParserState::Text,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn within(text: &[u8]) -> ParserState {
        text.iter().fold(ParserState::default(), |within, byte| within.after(*byte))
    }

    #[test]
    fn sequences_end_where_terminals_say() {
        for whole in
            ["a", "\x1b[1;31m", "\x1b]0;title\x07", "\x1b]0;title\x1b\\", "\x1b(B", "\x1b7", "é€😀"]
        {
            assert_eq!(within(whole.as_bytes()), ParserState::Text, "{whole:?}");
            for cut in 1..whole.len() {
                let parts = &whole.as_bytes()[..cut];
                let cut_at_a_character = whole.is_char_boundary(cut) && !whole.contains('\x1b');
                assert_eq!(within(parts) == ParserState::Text, cut_at_a_character, "{parts:?}");
            }
        }
    }

    fn shown(screen: &Screen<Vec<u8>>) -> String {
        String::from_utf8_lossy(&screen.out).into_owned()
    }

    #[test]
    fn the_line_waits_for_the_end_of_a_sequence() {
        let mut screen = Screen::new(Vec::new(), 24, 10).unwrap();
        assert_eq!(screen.inner_rows(), 23);
        screen.write(b"\x1b[3").unwrap();
        screen.show("0123456789ABC").unwrap();
        assert!(!shown(&screen).contains("0123"));
        screen.write(b"1m").unwrap();
        let text = shown(&screen);
        let drawn = "\x1b7\x1b[1;23r\x1b[24;1H\x1b[2K\x1b[7m0123456789\x1b[0m\x1b8";
        assert!(text.ends_with(&format!("\x1b[31m{drawn}")), "{text:?}");
    }

    #[test]
    fn a_tiny_terminal_is_left_alone() {
        let mut screen = Screen::new(Vec::new(), 2, 80).unwrap();
        screen.show("line").unwrap();
        assert_eq!((screen.inner_rows(), shown(&screen).as_str()), (2, ""));
    }
}
