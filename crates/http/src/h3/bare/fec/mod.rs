//! Forward error correction under QUIC: after every few datagrams to one address one more, their parity, from which the other end restores one that
//! was lost.
//!
//! ```text
//! datagram:  0 0 index(6) | group(32) | a datagram of QUIC
//! parity:    1 0 count(6) | group(32) | XOR of their lengths(16) | XOR of the datagrams, the shorter ones filled up with zeros
//! ```
//!
//! A group has at most [`MOST`] datagrams, numbered from 0; `count` is how many it has. Numbers are big-endian; groups are numbered on from 0 in each
//! direction, around the end. The second bit is set in every packet of QUIC (RFC 9000 section 17), so that neither is taken for the other.
//!
//! It lies outside QUIC's encryption and proves nothing: what is restored wrongly, or by who wants to, fails QUIC's authentication as a forged
//! packet does. Parity is not congestion-controlled: it adds a share of what QUIC sends.

mod decoder;
mod encoder;
mod socket;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

pub(super) use self::socket::FecSocket;

/// The largest group: an index has six bits, and so has a count.
pub const MOST: u8 = 63;

/// A group that has waited so long for another datagram gets its parity: two packets' time at 1 Mbit/s and a little.
const FLUSH: Duration = Duration::from_millis(30);

/// The kind with its number, and the group.
const HEAD_BYTES: usize = 5;
/// What parity is larger by than the longest datagram of its group.
pub(super) const OVERHEAD_BYTES: usize = HEAD_BYTES + 2;

const PARITY: u8 = 0b1000_0000;
const KIND: u8 = 0b1100_0000;

/// Parity for every so many datagrams.
#[derive(Clone, Debug)]
pub struct Fec {
    /// So many, 1 to [`MOST`].
    pub every: u8,
    /// What it has done.
    pub counts: Arc<Counts>,
}

/// What was done at one end.
#[derive(Debug, Default)]
pub struct Counts {
    parity_sent: AtomicU64,
    restored: AtomicU64,
}

impl Counts {
    /// How many datagrams of parity were sent.
    pub fn parity_sent(&self) -> u64 {
        self.parity_sent.load(Ordering::Relaxed)
    }

    /// How many datagrams were restored.
    pub fn restored(&self) -> u64 {
        self.restored.load(Ordering::Relaxed)
    }
}

/// What goes over the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Frame<'a> {
    Datagram { group: u32, index: u8, data: &'a [u8] },
    Parity { group: u32, count: u8, lengths: u16, sum: &'a [u8] },
}

impl<'a> Frame<'a> {
    /// Reads what came; nothing if it is something else.
    fn parse(bytes: &'a [u8]) -> Option<Frame<'a>> {
        let (head, rest) = bytes.split_first_chunk::<HEAD_BYTES>()?;
        let [first, group @ ..] = *head;
        let (group, number) = (u32::from_be_bytes(group), first & !KIND);
        match first & KIND {
            0 if number < MOST && !rest.is_empty() => {
                Some(Frame::Datagram { group, index: number, data: rest })
            }
            PARITY if number > 0 => {
                let (lengths, sum) = rest.split_first_chunk::<2>()?;
                let lengths = u16::from_be_bytes(*lengths);
                Some(Frame::Parity { group, count: number, lengths, sum })
            }
            _ => None,
        }
    }

    /// Writes it behind what is in `out`.
    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Frame::Datagram { group, index, data } => {
                out.push(*index);
                out.extend_from_slice(&group.to_be_bytes());
                out.extend_from_slice(data);
            }
            Frame::Parity { group, count, lengths, sum } => {
                out.push(PARITY | count);
                out.extend_from_slice(&group.to_be_bytes());
                out.extend_from_slice(&lengths.to_be_bytes());
                out.extend_from_slice(sum);
            }
        }
    }
}

/// The sum of a group's datagrams, or of some of them.
#[derive(Clone, Debug, Default)]
struct Sum {
    lengths: u16,
    bytes: Vec<u8>,
}

impl Sum {
    /// Adds a datagram, or takes it out.
    fn add(&mut self, data: &[u8]) {
        // No datagram of UDP is longer.
        self.add_sum(data.len() as u16, data);
    }

    fn add_sum(&mut self, lengths: u16, bytes: &[u8]) {
        self.lengths ^= lengths;
        if self.bytes.len() < bytes.len() {
            self.bytes.resize(bytes.len(), 0);
        }
        self.bytes.iter_mut().zip(bytes).for_each(|(sum, byte)| *sum ^= byte);
    }

    /// The only datagram that is in it, if that can be.
    fn single(&self) -> Option<&[u8]> {
        self.bytes.get(..self.lengths.into()).filter(|data| !data.is_empty())
    }

    fn clear(&mut self) {
        self.lengths = 0;
        self.bytes.clear();
    }
}

#[cfg(test)]
mod tests;
