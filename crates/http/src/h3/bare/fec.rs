//! Forward error correction under QUIC: after every few datagrams to one address a parity datagram, from which the peer
//! restores a single lost one.
//!
//! ```text
//! datagram:  0 0 index(6) | group(32) | a datagram of QUIC
//! parity:    1 0 count(6) | group(32) | XOR of their lengths(16) | XOR of the datagrams, the shorter ones filled up with zeros
//! ```
//!
//! A group has at most [`MOST`] datagrams, numbered from 0; `count` is their number. Numbers are big-endian; each
//! direction numbers its groups from 0, wrapping around. The second bit is set in every packet of QUIC (RFC 9000
//! section 17), which distinguishes the two.
//!
//! It is outside QUIC's encryption and authenticates nothing: a datagram that is restored wrongly, even by an attacker, fails
//! QUIC's authentication as a forged packet does. Parity is not congestion-controlled: it adds a share to QUIC's packets.

mod decoder;
mod encoder;
mod socket;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

pub(super) use self::socket::FecSocket;

/// The largest group: an index has six bits, and so has a count.
pub const MOST: u8 = 63;

/// Time after which a group that waits for another datagram gets its parity: two packets at 1 Mbit/s and a little.
const FLUSH: Duration = Duration::from_millis(30);

/// The kind with its index or count, and the group.
const HEAD_BYTES: usize = 5;
/// Excess of parity over the longest datagram of its group.
pub(super) const OVERHEAD_BYTES: usize = HEAD_BYTES + 2;

const PARITY: u8 = 0b1000_0000;
const KIND: u8 = 0b1100_0000;

/// The settings of parity.
#[derive(Clone, Debug)]
pub struct Fec {
    /// Datagrams per parity, 1 to [`MOST`].
    pub every: u8,
    /// Its counters.
    pub counts: Arc<Counts>,
}

/// Counters of one end.
#[derive(Debug, Default)]
pub struct Counts {
    parity_sent: AtomicU64,
    restored: AtomicU64,
}

impl Counts {
    /// Number of parity datagrams sent.
    pub fn parity_sent(&self) -> u64 {
        self.parity_sent.load(Ordering::Relaxed)
    }

    /// Number of datagrams restored.
    pub fn restored(&self) -> u64 {
        self.restored.load(Ordering::Relaxed)
    }
}

/// A frame on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Frame<'a> {
    Datagram { group: u32, index: u8, data: &'a [u8] },
    Parity { group: u32, count: u8, lengths: u16, sum: &'a [u8] },
}

impl<'a> Frame<'a> {
    /// Parses received bytes; `None` if they are not a frame.
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

    /// Appends it to `out`.
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
    /// Adds a datagram, or removes it.
    fn add(&mut self, data: &[u8]) {
        // UDP datagrams are never longer.
        self.add_sum(data.len() as u16, data);
    }

    fn add_sum(&mut self, lengths: u16, bytes: &[u8]) {
        self.lengths ^= lengths;
        if self.bytes.len() < bytes.len() {
            self.bytes.resize(bytes.len(), 0);
        }
        self.bytes.iter_mut().zip(bytes).for_each(|(sum, byte)| *sum ^= byte);
    }

    /// The only datagram in it, if the sum can be a single one.
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
