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

mod socket;

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use units::Time;

pub(crate) use self::socket::FecSocket;

/// The largest group: an index has six bits, and so has a count.
pub const MOST: u8 = 63;

/// Time after which a group that waits for another datagram gets its parity: two packets at 1 Mbit/s and a little.
const FLUSH: Duration = Duration::from_millis(30);

/// The kind with its index or count, and the group.
const HEAD_BYTES: usize = 5;
/// Excess of parity over the longest datagram of its group.
pub(crate) const OVERHEAD_BYTES: usize = HEAD_BYTES + 2;

const PARITY: u8 = 0b1000_0000;
const KIND: u8 = 0b1100_0000;

/// The settings of parity.
#[derive(Clone, Debug)]
pub struct Fec {
    /// Datagrams per parity, 1 to [`MOST`].
    pub every: u8,
    /// Its counters.
    pub counts: Arc<FecCounts>,
}

/// Counters of one end.
#[derive(Debug, Default)]
pub struct FecCounts {
    parity_sent: AtomicU64,
    restored: AtomicU64,
}

impl FecCounts {
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
enum FecFrame<'a> {
    Datagram { group: u32, index: u8, data: &'a [u8] },
    Parity { group: u32, count: u8, lengths: u16, sum: &'a [u8] },
}

impl<'a> FecFrame<'a> {
    /// Parses received bytes; `None` if they are not a frame.
    fn parse(bytes: &'a [u8]) -> Option<FecFrame<'a>> {
        let (head, rest) = bytes.split_first_chunk::<HEAD_BYTES>()?;
        let [first, group @ ..] = *head;
        let (group, number) = (u32::from_be_bytes(group), first & !KIND);
        match first & KIND {
            0 if number < MOST && !rest.is_empty() => {
                Some(FecFrame::Datagram { group, index: number, data: rest })
            }
            PARITY if number > 0 => {
                let (lengths, sum) = rest.split_first_chunk::<2>()?;
                let lengths = u16::from_be_bytes(*lengths);
                Some(FecFrame::Parity { group, count: number, lengths, sum })
            }
            _ => None,
        }
    }

    /// Appends it to `out`.
    fn write(&self, out: &mut Vec<u8>) {
        match self {
            FecFrame::Datagram { group, index, data } => {
                out.push(*index);
                out.extend_from_slice(&group.to_be_bytes());
                out.extend_from_slice(data);
            }
            FecFrame::Parity { group, count, lengths, sum } => {
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
struct XorSum {
    lengths: u16,
    bytes: Vec<u8>,
}

impl XorSum {
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

/// The sender of one direction: numbers the datagrams to one address and sums them up.
#[derive(Debug, Default)]
struct FecEncoder {
    group: u32,
    count: u8,
    sum: XorSum,
    last: Option<Time>,
}

impl FecEncoder {
    /// Writes `data` as the next datagram of its group into `out`. It counts when it is [noted](Encoder::note) as sent.
    fn frame(&self, data: &[u8], out: &mut Vec<u8>) {
        FecFrame::Datagram { group: self.group, index: self.count, data }.write(out);
    }

    /// Notes that `data` was sent. Returns true if the group now has `every` datagrams, so that its parity is due.
    fn note(&mut self, now: Time, data: &[u8], every: u8) -> bool {
        self.sum.add(data);
        self.count += 1;
        self.last = Some(now);
        self.count >= every
    }

    /// The time at which an incomplete group gets its parity; none if the group is empty.
    fn deadline(&self) -> Option<Time> {
        self.last.map(|last| last + FLUSH)
    }

    /// Ends the group: writes its parity into `out`. An empty group has none.
    fn end(&mut self, out: &mut Vec<u8>) {
        if self.count == 0 {
            return;
        }
        let (group, count, lengths) = (self.group, self.count, self.sum.lengths);
        FecFrame::Parity { group, count, lengths, sum: &self.sum.bytes }.write(out);
        self.group = group.wrapping_add(1);
        (self.count, self.last) = (0, None);
        self.sum.clear();
    }
}

/// Number of groups kept. A packet of an older one has been overtaken by some hundred others.
const GROUPS: usize = 8;

/// The receiver of one direction: sums up the datagrams from one address, and restores the only missing one of a group.
#[derive(Debug, Default)]
struct FecDecoder {
    groups: VecDeque<FecGroup>,
}

/// A group, as far as received.
#[derive(Debug)]
struct FecGroup {
    number: u32,
    /// Bitmap of the datagrams received.
    received: u64,
    /// Number of datagrams, known once the parity has come.
    count: Option<u8>,
    sum: XorSum,
    /// Nothing is missing, or nothing can be restored.
    is_done: bool,
}

/// The result of decoding a frame.
#[derive(Debug, Default, PartialEq, Eq)]
struct Decoded<'a> {
    /// The datagram in it.
    carried: Option<&'a [u8]>,
    /// The datagram restored by it.
    restored: Option<Vec<u8>>,
}

impl FecDecoder {
    /// Decodes received bytes; invalid frames are dropped.
    fn take<'a>(&mut self, bytes: &'a [u8]) -> Decoded<'a> {
        match FecFrame::parse(bytes) {
            None => Decoded::default(),
            Some(FecFrame::Datagram { group, index, data }) => {
                let restored = self.group(group).datagram(index, data);
                Decoded { carried: Some(data), restored }
            }
            Some(FecFrame::Parity { group, count, lengths, sum }) => {
                let restored = self.group(group).parity(count, lengths, sum);
                Decoded { carried: None, restored }
            }
        }
    }

    /// The group of this number; a new one evicts the oldest.
    fn group(&mut self, number: u32) -> &mut FecGroup {
        let found = self.groups.iter().rposition(|group| group.number == number);
        let at = found.unwrap_or_else(|| {
            if self.groups.len() == GROUPS {
                self.groups.pop_front();
            }
            let sum = XorSum::default();
            self.groups.push_back(FecGroup {
                number,
                received: 0,
                count: None,
                sum,
                is_done: false,
            });
            self.groups.len() - 1
        });
        &mut self.groups[at]
    }
}

impl FecGroup {
    fn datagram(&mut self, index: u8, data: &[u8]) -> Option<Vec<u8>> {
        let bit = 1 << index;
        if self.is_done || self.received & bit != 0 {
            return None;
        }
        self.received |= bit;
        self.sum.add(data);
        self.restore()
    }

    fn parity(&mut self, count: u8, lengths: u16, sum: &[u8]) -> Option<Vec<u8>> {
        if self.is_done || self.count.is_some() {
            return None;
        }
        self.count = Some(count);
        self.sum.add_sum(lengths, sum);
        self.restore()
    }

    /// The rest of the sum once all datagrams but one have been removed.
    fn restore(&mut self) -> Option<Vec<u8>> {
        let count = u32::from(self.count?);
        let received = self.received.count_ones();
        if received + 1 < count {
            return None;
        }
        self.is_done = true;
        let restored = self.sum.single().filter(|_| received + 1 == count).map(<[u8]>::to_vec);
        self.sum = XorSum::default();
        restored
    }
}

#[cfg(test)]
mod tests;
