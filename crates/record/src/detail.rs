//! Details of events: human-readable text that reports parse again.

use std::fmt;

/// The detail of a [retransmission](crate::EventKind::Retransmit).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SentAgain<'a> {
    /// `client` or `server`.
    pub sender: &'a str,
    /// The reason, in words.
    pub cause: &'a str,
    /// True if the original turned out to have arrived, or would have.
    pub needless: bool,
}

/// The detail of a [change of a radio's state](crate::EventKind::Radio).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RadioChange<'a> {
    /// The new state, in the words of its standard.
    pub state: &'a str,
    /// The trigger: `a timer`, `a packet of 40 bytes up`.
    pub cause: &'a str,
}

const NEEDLESS: &str = ", needless";
const BY: &str = ", by ";

impl<'a> SentAgain<'a> {
    /// Parses a detail; `None` if it has another form.
    pub fn read(detail: &'a str) -> Option<SentAgain<'a>> {
        let (told, needless) = match detail.strip_suffix(NEEDLESS) {
            Some(told) => (told, true),
            None => (detail, false),
        };
        let (sender, cause) = told.split_once(", ")?;
        Some(SentAgain { sender, cause, needless })
    }
}

impl fmt::Display for SentAgain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SentAgain { sender, cause, needless } = self;
        write!(f, "{sender}, {cause}{}", if *needless { NEEDLESS } else { "" })
    }
}

impl<'a> RadioChange<'a> {
    /// Parses a detail; `None` if it has another form.
    pub fn read(detail: &'a str) -> Option<RadioChange<'a>> {
        let (state, cause) = detail.split_once(BY)?;
        Some(RadioChange { state, cause })
    }
}

impl fmt::Display for RadioChange<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{BY}{}", self.state, self.cause)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        for needless in [false, true] {
            let sent = SentAgain { sender: "server", cause: "tail loss probe", needless };
            assert_eq!(SentAgain::read(&sent.to_string()), Some(sent));
        }
        let change = RadioChange { state: "FACH to DCH", cause: "a packet of 1452 bytes down" };
        assert_eq!(change.to_string(), "FACH to DCH, by a packet of 1452 bytes down");
        assert_eq!(RadioChange::read(&change.to_string()), Some(change));
    }

    #[test]
    fn anything_else_is_refused() {
        assert_eq!(SentAgain::read("1500 bytes"), None);
        assert_eq!(RadioChange::read("1500 bytes, down"), None);
    }
}
