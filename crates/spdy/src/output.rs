//! Output queue: small pieces copied, bodies shared.

use std::collections::VecDeque;
use std::io::IoSlice;

use bytes::{Buf, Bytes, BytesMut};

/// A queue of bytes for the transport. Frame heads and control frames are in one growing buffer, the payload of
/// DATA frames is shared with its owner: a DATA frame allocates nothing once the queue has grown to its size.
#[derive(Debug, Default)]
pub struct Output {
    small: BytesMut,
    pieces: VecDeque<OutputPiece>,
    remaining: usize,
    passed: u64,
}

#[derive(Debug)]
enum OutputPiece {
    /// Number of bytes in the buffer of small pieces.
    Small(usize),
    Body(Bytes),
}

impl Output {
    /// Number of queued bytes.
    pub fn len(&self) -> usize {
        self.remaining
    }

    /// Returns true if the queue is empty.
    pub fn is_empty(&self) -> bool {
        self.remaining == 0
    }

    /// Fills `slices` with the first pieces, at most `most` bytes of them, for a vectored write; returns the number
    /// of pieces.
    pub fn slices<'a>(&'a self, most: usize, slices: &mut [IoSlice<'a>]) -> usize {
        let (mut small, mut left, mut filled) = (&self.small[..], most, 0);
        for (slot, piece) in slices.iter_mut().zip(&self.pieces) {
            if left == 0 {
                break;
            }
            let piece = match piece {
                OutputPiece::Small(bytes) => {
                    let (piece, rest) = small.split_at(*bytes);
                    small = rest;
                    piece
                }
                OutputPiece::Body(body) => body,
            };
            let taken = piece.len().min(left);
            *slot = IoSlice::new(&piece[..taken]);
            left -= taken;
            filled += 1;
        }
        filled
    }

    /// All queued bytes, in one buffer.
    pub fn to_vec(&self) -> Vec<u8> {
        let mut slices = vec![IoSlice::new(&[]); self.pieces.len()];
        self.slices(usize::MAX, &mut slices);
        slices.iter().flat_map(|slice| slice.iter().copied()).collect()
    }

    /// Total bytes ever queued: the position of the end.
    pub fn queued(&self) -> u64 {
        self.passed + self.remaining as u64
    }

    /// Total bytes ever taken: the position of the beginning.
    pub fn passed(&self) -> u64 {
        self.passed
    }

    /// Queues the bytes that `write` appends.
    pub(crate) fn write(&mut self, write: impl FnOnce(&mut BytesMut)) {
        let before = self.small.len();
        write(&mut self.small);
        let bytes = self.small.len() - before;
        self.remaining += bytes;
        match self.pieces.back_mut() {
            Some(OutputPiece::Small(last)) => *last += bytes,
            _ => self.pieces.push_back(OutputPiece::Small(bytes)),
        }
    }

    /// Queues a piece of a body.
    pub(crate) fn share(&mut self, body: Bytes) {
        self.remaining += body.len();
        self.pieces.push_back(OutputPiece::Body(body));
    }

    /// Removes the first `bytes`, which the transport has taken.
    ///
    /// # Panics
    /// If fewer are queued: the transport cannot have taken bytes that it was not given.
    pub(crate) fn advance(&mut self, bytes: usize) {
        assert!(bytes <= self.remaining, "the transport took more than there was");
        self.remaining -= bytes;
        self.passed += bytes as u64;
        let mut left = bytes;
        while left > 0 {
            let front = self.pieces.front_mut().expect("what remains lies in pieces");
            let (taken, is_done) = match front {
                OutputPiece::Small(size) => {
                    let taken = left.min(*size);
                    *size -= taken;
                    self.small.advance(taken);
                    (taken, *size == 0)
                }
                OutputPiece::Body(body) => {
                    let taken = left.min(body.len());
                    body.advance(taken);
                    (taken, body.is_empty())
                }
            };
            left -= taken;
            if is_done {
                self.pieces.pop_front();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn all_bytes_come_out_in_order(
            pieces in prop::collection::vec((any::<bool>(), prop::collection::vec(any::<u8>(), 1..50)), 1..20),
            steps in prop::collection::vec(1usize..70, 1..40),
            most in 1usize..80,
        ) {
            let mut output = Output::default();
            let mut expected = Vec::new();
            for (shared, bytes) in &pieces {
                expected.extend_from_slice(bytes);
                if *shared {
                    output.share(Bytes::copy_from_slice(bytes));
                } else {
                    output.write(|small| small.extend_from_slice(bytes));
                }
            }
            prop_assert_eq!(output.len(), expected.len());
            let mut seen = Vec::new();
            for step in steps.into_iter().cycle() {
                let mut slices = [IoSlice::new(&[]); 3];
                let filled = output.slices(most, &mut slices);
                let given: Vec<u8> =
                    slices[..filled].iter().flat_map(|slice| slice.to_vec()).collect();
                prop_assert!(!given.is_empty() && given.len() <= most);
                let taken = step.min(given.len());
                seen.extend_from_slice(&given[..taken]);
                output.advance(taken);
                if output.is_empty() {
                    break;
                }
            }
            prop_assert_eq!(seen, expected);
            prop_assert_eq!(output.passed(), output.queued());
        }
    }
}
