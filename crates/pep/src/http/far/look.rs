//! Looking through a page as it passes.

use http::HeaderMap;
use url::Url;

use crate::http::coding::Unpacker;
use crate::http::discover::Embedded;
use crate::http::html::Reading;

/// What a page embeds, as far as it has passed.
pub(super) struct Look {
    unpacker: Unpacker,
    reading: Reading,
    /// So much of it is looked through yet.
    left_bytes: usize,
}

impl Look {
    /// At the page at `base` with these fields, of which at most `most_bytes` are looked through, unpacked. `None` if the server has packed it
    /// in a way that is not known here.
    pub(super) fn new(base: &Url, fields: &HeaderMap, most_bytes: usize) -> Option<Look> {
        let (unpacker, reading) = (Unpacker::of(fields)?, Reading::new(base));
        Some(Look { unpacker, reading, left_bytes: most_bytes })
    }

    /// What is found, now that `piece` has come.
    pub(super) fn piece(&mut self, piece: &[u8]) -> Vec<Embedded> {
        if self.left_bytes == 0 {
            return Vec::new();
        }
        let plain = self.unpacker.piece(piece, self.left_bytes);
        self.left_bytes -= plain.len();
        self.reading.piece(&plain)
    }

    /// What is found at the end.
    pub(super) fn end(self) -> Vec<Embedded> {
        self.reading.end()
    }
}
