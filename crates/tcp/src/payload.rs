//! The bytes of one segment: a short chain of shared slices, never copied on the way.

use bytes::{Buf, Bytes};

/// A segment's data. Almost always one slice; more if a segment spans several writes.
#[derive(Clone, Debug, Default)]
pub struct Payload {
    first: Bytes,
    rest: Vec<Bytes>,
    len: usize,
}

impl Payload {
    /// No data.
    pub fn new() -> Payload {
        Payload::default()
    }

    /// Number of bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Appends a slice.
    pub fn push(&mut self, slice: Bytes) {
        if slice.is_empty() {
            return;
        }
        self.len += slice.len();
        if self.first.is_empty() {
            self.first = slice;
        } else {
            self.rest.push(slice);
        }
    }

    /// The slices in order.
    pub fn slices(&self) -> impl Iterator<Item = &Bytes> {
        std::iter::once(&self.first).chain(&self.rest).filter(|slice| !slice.is_empty())
    }

    /// The part of this payload from `start`, `len` bytes long.
    ///
    /// # Panics
    /// If it reaches past the end.
    pub(crate) fn slice(&self, start: usize, len: usize) -> Payload {
        assert!(start + len <= self.len, "a slice must lie within its payload");
        let mut part = Payload::new();
        let (mut skip, mut left) = (start, len);
        for slice in self.slices() {
            if skip >= slice.len() {
                skip -= slice.len();
                continue;
            }
            let take = left.min(slice.len() - skip);
            part.push(slice.slice(skip..skip + take));
            (skip, left) = (0, left - take);
            if left == 0 {
                break;
            }
        }
        part
    }
}

impl From<Bytes> for Payload {
    fn from(slice: Bytes) -> Payload {
        Payload { len: slice.len(), first: slice, rest: Vec::new() }
    }
}

impl IntoIterator for Payload {
    type Item = Bytes;
    type IntoIter = std::iter::Chain<std::iter::Once<Bytes>, std::vec::IntoIter<Bytes>>;

    fn into_iter(self) -> Self::IntoIter {
        std::iter::once(self.first).chain(self.rest)
    }
}

/// Equal if the bytes are equal, however they are sliced.
impl PartialEq for Payload {
    fn eq(&self, other: &Payload) -> bool {
        self.len == other.len
            && self.slices().flat_map(|s| s.iter()).eq(other.slices().flat_map(|s| s.iter()))
    }
}

impl Eq for Payload {}

/// Copies from the front of `queue` into `buf` and drops the bytes copied; returns their number.
pub(crate) fn copy_out(queue: &mut std::collections::VecDeque<Bytes>, buf: &mut [u8]) -> usize {
    let mut copied = 0;
    while copied < buf.len()
        && let Some(front) = queue.front_mut()
    {
        let take = front.len().min(buf.len() - copied);
        buf[copied..copied + take].copy_from_slice(&front[..take]);
        copied += take;
        if take == front.len() {
            queue.pop_front();
        } else {
            front.advance(take);
        }
    }
    copied
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_across_pieces() {
        let mut payload = Payload::from(Bytes::from_static(b"abc"));
        payload.push(Bytes::from_static(b"defg"));
        payload.push(Bytes::new());
        payload.push(Bytes::from_static(b"h"));
        assert_eq!(payload.len(), 8);
        assert_eq!(payload.slice(2, 5), Payload::from(Bytes::from_static(b"cdefg")));
        assert_eq!(payload.slice(7, 1), Payload::from(Bytes::from_static(b"h")));
        assert!(payload.slice(8, 0).is_empty());
    }
}
