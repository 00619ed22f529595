//! Incremental search for the end of a head that looks at each byte once.
//!
//! `httparse` starts over with every piece, so a slow sender could cost quadratic time; it is therefore given whole heads only.

use super::{Error, Limits};

/// Progress of the scan. Positions are relative to the head's first byte.
#[derive(Debug, Default)]
pub(super) struct HeadScan {
    line_start: usize,
    scanned: usize,
}

impl HeadScan {
    /// The length of the head at the start of `buffer`, including the empty line, once it is complete.
    pub(super) fn end(&mut self, buffer: &[u8], limits: &Limits) -> Result<Option<usize>, Error> {
        let window = &buffer[..buffer.len().min(limits.head_bytes)];
        while let Some(offset) = memchr::memchr(b'\n', &window[self.scanned..]) {
            let feed = self.scanned + offset;
            if feed == self.line_start || window[feed - 1] != b'\r' {
                return Err(Error::BareLf);
            }
            let empty = feed == self.line_start + 1;
            self.scanned = feed + 1;
            self.line_start = self.scanned;
            if empty {
                let end = self.scanned;
                *self = HeadScan::default();
                return Ok(Some(end));
            }
        }
        self.scanned = window.len();
        if buffer.len() >= limits.head_bytes { Err(Error::TooLarge) } else { Ok(None) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { head_bytes: 32, fields: 8 };

    #[test]
    fn finds_the_empty_line_in_pieces() {
        let head = b"GET / HTTP/1.1\r\nA: b\r\n\r\nrest";
        let mut scan = HeadScan::default();
        for end in 0..24 {
            assert_eq!(scan.end(&head[..end], &LIMITS), Ok(None), "{end}");
        }
        assert_eq!(scan.end(head, &LIMITS), Ok(Some(24)));
    }

    #[test]
    fn refuses_bare_feeds_and_long_heads() {
        for bad in [&b"\n"[..], b"GET /\n", b"GET /\r\n\n", b"a\r\nb\n\r\n"] {
            assert_eq!(HeadScan::default().end(bad, &LIMITS), Err(Error::BareLf));
        }
        assert_eq!(HeadScan::default().end(&[b'a'; 32], &LIMITS), Err(Error::TooLarge));
        assert_eq!(HeadScan::default().end(&[b'a'; 31], &LIMITS), Ok(None));
    }
}
