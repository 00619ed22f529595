//! Scanner of a page as it passes.

use http::HeaderMap;
use url::Url;

use crate::http::coding::Unpacker;
use crate::http::discover::Embedded;
use crate::http::html::Reading;

/// Discovery of embedded objects in a page as it passes.
pub(super) struct Look {
    unpacker: Unpacker,
    reading: Reading,
    /// Bytes still to be scanned.
    left_bytes: usize,
}

impl Look {
    /// Scanner of the page at `base` with these fields, limited to `most_bytes`, unpacked. `None` if the server's compression is unknown here.
    pub(super) fn new(base: &Url, fields: &HeaderMap, most_bytes: usize) -> Option<Look> {
        let (unpacker, reading) = (Unpacker::of(fields)?, Reading::new(base));
        Some(Look { unpacker, reading, left_bytes: most_bytes })
    }

    /// The objects found with `piece`.
    pub(super) fn piece(&mut self, piece: &[u8]) -> Vec<Embedded> {
        if self.left_bytes == 0 {
            return Vec::new();
        }
        let plain = self.unpacker.piece(piece, self.left_bytes);
        self.left_bytes -= plain.len();
        self.reading.piece(&plain)
    }

    /// The objects found at the end.
    pub(super) fn end(self) -> Vec<Embedded> {
        self.reading.end()
    }
}
