//! TCP's options (RFC 9293 section 3.1) in the layout of Linux (`tcp_options_write`): on a SYN the maximum segment
//! size, "SACK permitted" in the padding of the timestamps, if present, the window scale; later the timestamps,
//! then the blocks. Each is padded in front to four bytes.
//!
//! Reading is as lenient as the kernel (`tcp_parse_options`): unknown options and those of a wrong length are skipped,
//! and parsing stops at an invalid length.

use std::ops::Range;

/// Kinds (IANA, "TCP Option Kind Numbers").
mod kind {
    pub(super) const END: u8 = 0;
    pub(super) const NO_OPERATION: u8 = 1;
    pub(super) const MAXIMUM_SEGMENT_SIZE: u8 = 2;
    pub(super) const WINDOW_SCALE: u8 = 3;
    pub(super) const SACK_PERMITTED: u8 = 4;
    pub(super) const SACK: u8 = 5;
    pub(super) const TIMESTAMPS: u8 = 8;
}

/// Maximum number of blocks (RFC 2018 section 3).
pub(crate) const MOST_BLOCKS: usize = 4;

/// The options of one segment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TcpOptions {
    /// Maximum segment size (RFC 9293 section 3.7.1).
    pub maximum_segment_size: Option<u16>,
    /// Window scaling (RFC 7323 section 2).
    pub window_scale: Option<u8>,
    /// Selective acknowledgements may be sent (RFC 2018 section 2).
    pub sack_permitted: bool,
    /// Timestamps: the sender's value, and the peer's that it echoes (RFC 7323 section 3).
    pub timestamps: Option<(u32, u32)>,
    /// Selective acknowledgements (RFC 2018 section 3); four at most.
    pub sack: Vec<Range<u32>>,
}

impl TcpOptions {
    /// Encodes the options, padded to a multiple of four bytes.
    pub(crate) fn encode(&self) -> Vec<u8> {
        use kind::NO_OPERATION as NOP;

        let mut bytes = Vec::with_capacity(40);
        if let Some(mss) = self.maximum_segment_size {
            bytes.extend([kind::MAXIMUM_SEGMENT_SIZE, 4]);
            bytes.extend(mss.to_be_bytes());
        }
        match (self.sack_permitted, self.timestamps.is_some()) {
            (true, true) => bytes.extend([kind::SACK_PERMITTED, 2]),
            (true, false) => bytes.extend([NOP, NOP, kind::SACK_PERMITTED, 2]),
            (false, true) => bytes.extend([NOP, NOP]),
            (false, false) => {}
        }
        if let Some((value, echo)) = self.timestamps {
            bytes.extend([kind::TIMESTAMPS, 10]);
            bytes.extend(value.to_be_bytes());
            bytes.extend(echo.to_be_bytes());
        }
        if let Some(scale) = self.window_scale {
            bytes.extend([NOP, kind::WINDOW_SCALE, 3, scale]);
        }
        if !self.sack.is_empty() {
            let len = u8::try_from(2 + 8 * self.sack.len()).unwrap_or(u8::MAX);
            bytes.extend([NOP, NOP, kind::SACK, len]);
            for block in &self.sack {
                bytes.extend(block.start.to_be_bytes());
                bytes.extend(block.end.to_be_bytes());
            }
        }
        bytes
    }

    /// Parses the options in `bytes`.
    pub(crate) fn parse(mut bytes: &[u8]) -> TcpOptions {
        let mut options = TcpOptions::default();
        loop {
            match *bytes {
                [] | [kind::END, ..] | [_] => return options,
                [kind::NO_OPERATION, ref rest @ ..] => bytes = rest,
                [kind, len, ref rest @ ..] => {
                    let Some(len) = usize::from(len).checked_sub(2) else { return options };
                    let Some((value, rest)) = rest.split_at_checked(len) else { return options };
                    options.take(kind, value);
                    bytes = rest;
                }
            }
        }
    }

    fn take(&mut self, kind: u8, value: &[u8]) {
        match (kind, value) {
            (kind::MAXIMUM_SEGMENT_SIZE, &[a, b]) => {
                self.maximum_segment_size = Some(u16::from_be_bytes([a, b]));
            }
            (kind::WINDOW_SCALE, &[scale]) => self.window_scale = Some(scale),
            (kind::SACK_PERMITTED, []) => self.sack_permitted = true,
            (kind::TIMESTAMPS, value) if value.len() == 8 => {
                self.timestamps = Some((word(&value[..4]), word(&value[4..])));
            }
            (kind::SACK, value) if value.len() % 8 == 0 && value.len() <= 8 * MOST_BLOCKS => {
                let blocks = value.chunks_exact(8);
                self.sack = blocks.map(|block| word(&block[..4])..word(&block[4..])).collect();
            }
            _ => {}
        }
    }
}

/// A 32-bit number from four bytes.
fn word(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0, |word, byte| word << 8 | u32::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_syn_looks_like_linux_s() {
        let options = TcpOptions {
            maximum_segment_size: Some(1460),
            window_scale: Some(7),
            sack_permitted: true,
            timestamps: Some((1, 0)),
            sack: Vec::new(),
        };
        let bytes = [2, 4, 5, 180, 4, 2, 8, 10, 0, 0, 0, 1, 0, 0, 0, 0, 1, 3, 3, 7];
        assert_eq!(options.encode(), bytes);
        assert_eq!(TcpOptions::parse(&bytes), options);
    }

    #[test]
    fn what_is_unknown_or_wrong_is_skipped() {
        // Multipath TCP, a window scale of the wrong length, then a maximum segment size.
        let bytes = [30, 4, 0, 0, 3, 4, 7, 7, 2, 4, 5, 180];
        let expected = TcpOptions { maximum_segment_size: Some(1460), ..TcpOptions::default() };
        assert_eq!(TcpOptions::parse(&bytes), expected);
        // A length of zero ends parsing; so does one past the end.
        assert_eq!(TcpOptions::parse(&[2, 0, 2, 4, 5, 180]), TcpOptions::default());
        assert_eq!(TcpOptions::parse(&[2, 9, 5, 180]), TcpOptions::default());
    }
}
