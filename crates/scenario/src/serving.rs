//! Servers' sending of responses: order and framing.

use serde::{Deserialize, Serialize};

use crate::choice;

choice! {
    /// Scheduler of responses that share a connection.
    pub enum Scheduler, "scheduler" {
        /// One after the other, in the order of their responses.
        Fifo = "fifo",
        /// A piece of each, in turn.
        RoundRobin = "round-robin",
        /// The most urgent of eight levels first, equal ones in turn: SPDY's three bits, RFC 9218's urgency.
        Strict = "strict",
        /// By RFC 7540's tree of dependencies and weights.
        Tree = "tree",
        /// By RFC 9218: by urgency, and round-robin or not as `i` says.
        Rfc9218 = "rfc9218",
    }
    not_yet {}
}

choice! {
    /// Objects of a document's own host that are pushed with it (HTTP/2, SPDY). farlink's client accepts them then.
    pub enum Push, "push" {
        /// None; the client refuses what is pushed.
        None = "none",
        /// Style sheets.
        Css = "css",
        /// Render-blocking objects: style sheets, and scripts that are requested ahead of images.
        Blocking = "blocking",
        /// All.
        All = "all",
    }
    not_yet {}
}

/// Settings of the servers' end of a connection; unset ones are as in the protocol's server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Serving {
    /// Scheduler of responses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduler: Option<Scheduler>,
    /// The largest payload of one DATA frame, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frame_bytes: Option<u32>,
    /// Limit of unsent data in TCP's send buffer (`TCP_NOTSENT_LOWAT`).
    #[serde(rename = "unsent", default, skip_serializing_if = "Option::is_none")]
    pub notsent_lowat: Option<NotsentLowat>,
    /// Objects that are pushed; `None` is nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub push: Option<Push>,
}

/// Limit of unsent data in TCP's send buffer, where it can no longer be reordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NotsentLowat {
    /// A number of bytes.
    Bytes(u32),
    /// The whole send buffer: Linux's default.
    Unlimited,
}

impl Serving {
    /// Allowed limits of a DATA frame: at most the size that every peer accepts (RFC 9113 section 4.2).
    pub const FRAME_BYTES: std::ops::RangeInclusive<u32> = 256..=16_384;

    /// Allowed limits of unsent data.
    pub const NOTSENT_BYTES: std::ops::RangeInclusive<u32> = 1_024..=(1 << 30);

    /// True if nothing is set.
    pub fn is_usual(&self) -> bool {
        *self == Serving::default()
    }

    /// Parses a frame size: `4KB`.
    ///
    /// # Errors
    /// One sentence.
    pub fn parse_frame(text: &str) -> Result<u32, String> {
        size(text, &Serving::FRAME_BYTES)
    }
}

impl NotsentLowat {
    /// Parses `16KB`, or `unlimited`.
    ///
    /// # Errors
    /// One sentence.
    pub fn parse(text: &str) -> Result<NotsentLowat, String> {
        match text.trim() {
            "unlimited" => Ok(NotsentLowat::Unlimited),
            text => match size(text, &Serving::NOTSENT_BYTES) {
                Ok(bytes) => Ok(NotsentLowat::Bytes(bytes)),
                Err(error) => Err(format!("{error}, or `unlimited`")),
            },
        }
    }
}

impl std::fmt::Display for NotsentLowat {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            NotsentLowat::Bytes(bytes) => write!(f, "{bytes} B"),
            NotsentLowat::Unlimited => f.write_str("unlimited"),
        }
    }
}

fn size(text: &str, range: &std::ops::RangeInclusive<u32>) -> Result<u32, String> {
    let bytes = units::parse::size_bytes(text).map_err(|error| error.to_string())?;
    u32::try_from(bytes).ok().filter(|bytes| range.contains(bytes)).ok_or_else(|| {
        format!("`{text}` is not from {} to {} bytes: write 4KB", range.start(), range.end())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_and_checked() {
        assert_eq!(Serving::parse_frame("4KiB"), Ok(4_096));
        assert!(Serving::parse_frame("1MB").unwrap_err().contains("256 to 16384"));
        assert_eq!(NotsentLowat::parse("unlimited"), Ok(NotsentLowat::Unlimited));
        assert_eq!(NotsentLowat::parse("128KB"), Ok(NotsentLowat::Bytes(128_000)));
        assert!(NotsentLowat::parse("0").unwrap_err().ends_with("or `unlimited`"));
    }
}
