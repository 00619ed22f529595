//! The segments exchanged by two endpoints, and their payload.
//!
//! Simplifications, each invisible to the other end: sequence numbers have 64 bits, start at 0 and never wrap (so PAWS is not
//! needed); the window is given in bytes, already scaled; timestamps are instants of virtual time rather than 32-bit ticks.
//! [`Segment::wire_bytes`] is the size of the segment with real headers.

use std::fmt;
use std::ops::Range;

use bytes::{Buf, Bytes};
use units::Time;

use crate::Ecn;

/// IPv4 without options.
const IP_HEADER: u32 = 20;
/// TCP without options.
const TCP_HEADER: u32 = 20;
/// Timestamps (RFC 7323) with two bytes of padding.
pub(crate) const TIMESTAMPS_BYTES: u32 = 12;

/// The control bits, with their values on the wire.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Flags(u8);

impl Flags {
    /// None.
    pub const NONE: Flags = Flags(0);
    /// No more data from the sender.
    pub const FIN: Flags = Flags(1);
    /// Synchronise sequence numbers.
    pub const SYN: Flags = Flags(2);
    /// Reset the connection.
    pub const RST: Flags = Flags(4);
    /// The end of the data written so far by the application.
    pub const PSH: Flags = Flags(8);
    /// The acknowledgement number is valid.
    pub const ACK: Flags = Flags(16);
    /// Urgent data. Never sent by an endpoint of this crate.
    pub const URG: Flags = Flags(32);
    /// ECN echo (RFC 3168).
    pub const ECE: Flags = Flags(64);
    /// Congestion window reduced (RFC 3168).
    pub const CWR: Flags = Flags(128);

    /// The control bits as in the header (RFC 9293 section 3.1).
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// The flags of the header's control bits.
    pub const fn from_bits(bits: u8) -> Flags {
        Flags(bits)
    }

    /// True if all of `other` are set.
    pub const fn contains(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }

    /// These and `other`.
    #[must_use]
    pub const fn with(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
}

impl fmt::Debug for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = [
            (Flags::SYN, 'S'),
            (Flags::FIN, 'F'),
            (Flags::RST, 'R'),
            (Flags::PSH, 'P'),
            (Flags::ACK, '.'),
            (Flags::ECE, 'E'),
            (Flags::CWR, 'W'),
        ];
        for (_, name) in names.into_iter().filter(|(flag, _)| self.contains(*flag)) {
            write!(f, "{name}")?;
        }
        Ok(())
    }
}

/// Options of a SYN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SynOptions {
    /// Maximum segment size: payload plus options.
    pub mss: u32,
    /// Window scaling (RFC 7323): granularity of the advertised window is 2^this bytes.
    pub window_scale: u8,
    /// Selective acknowledgements may be sent (RFC 2018).
    pub sack: bool,
}

/// Timestamps (RFC 7323 section 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timestamps {
    /// Time at which this segment was sent.
    pub value: Time,
    /// The echoed value of the peer.
    pub echo: Time,
}

/// Up to four ranges of out-of-order data that arrived (RFC 2018), a duplicate first (RFC 2883).
///
/// Few segments have any, and all segments are moved often, so an empty list is small.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct SackBlocks {
    blocks: Option<Box<[(u64, u64); 4]>>,
    len: u8,
}

impl SackBlocks {
    /// None.
    pub const NONE: SackBlocks = SackBlocks { blocks: None, len: 0 };

    /// Appends a block; returns false if there is no room for it.
    pub fn push(&mut self, block: Range<u64>) -> bool {
        let blocks = self.blocks.get_or_insert_default();
        let Some(slot) = blocks.get_mut(usize::from(self.len)) else { return false };
        *slot = (block.start, block.end);
        self.len += 1;
        true
    }

    /// Number of blocks.
    pub fn len(&self) -> usize {
        usize::from(self.len)
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The blocks in the order of the option.
    pub fn iter(&self) -> impl Iterator<Item = Range<u64>> + '_ {
        let blocks = self.blocks.as_deref().into_iter().flatten();
        blocks.take(self.len()).map(|(start, end)| *start..*end)
    }
}

impl fmt::Debug for SackBlocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// A TCP segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// The first byte's number. SYN and FIN count as one each.
    pub seq: u64,
    /// The next number expected from the peer, if [`Flags::ACK`] is set.
    pub ack: u64,
    /// Control bits.
    pub flags: Flags,
    /// Receive window of the segment's sender, in bytes from `ack`.
    pub window_bytes: u64,
    /// Data.
    pub payload: Payload,
    /// Selective acknowledgements.
    pub sack: SackBlocks,
    /// Timestamps, if both ends use them.
    pub timestamps: Option<Timestamps>,
    /// Present on a SYN.
    pub syn: Option<SynOptions>,
    /// The ECN field of the IP header.
    pub ecn: Ecn,
}

impl Segment {
    /// The sequence number after the last that this segment occupies.
    pub fn end(&self) -> u64 {
        let controls = u64::from(self.is(Flags::SYN)) + u64::from(self.is(Flags::FIN));
        self.seq + self.payload.len() as u64 + controls
    }

    /// True if a flag is set.
    pub fn is(&self, flag: Flags) -> bool {
        self.flags.contains(flag)
    }

    /// The size of the IPv4 packet, options and their padding included.
    pub fn wire_bytes(&self) -> u32 {
        IP_HEADER + TCP_HEADER + self.option_bytes() + self.payload.len() as u32
    }

    fn option_bytes(&self) -> u32 {
        let timestamps = if self.timestamps.is_some() { TIMESTAMPS_BYTES } else { 0 };
        let syn = match self.syn {
            // MSS 4, window scale 3 + 1; "SACK permitted" fills the padding of timestamps, else takes 2 + 2.
            Some(options) if options.sack && self.timestamps.is_none() => 12,
            Some(_) => 8,
            None => 0,
        };
        let sack = if self.sack.is_empty() { 0 } else { sack_bytes(self.sack.len()) };
        timestamps + syn + sack
    }
}

/// The size of an option with `blocks` blocks: kind, length, two bytes of padding.
pub(crate) fn sack_bytes(blocks: usize) -> u32 {
    4 + 8 * blocks as u32
}

/// The reply to a segment that belongs to no connection (RFC 9293 section 3.10.7.1); none to a reset.
pub fn reset_for(segment: &Segment) -> Option<Segment> {
    if segment.is(Flags::RST) {
        return None;
    }
    let (seq, ack, flags) = if segment.is(Flags::ACK) {
        (segment.ack, 0, Flags::RST)
    } else {
        (0, segment.end(), Flags::RST.with(Flags::ACK))
    };
    Some(Segment {
        seq,
        ack,
        flags,
        window_bytes: 0,
        payload: Payload::new(),
        sack: SackBlocks::NONE,
        timestamps: None,
        syn: None,
        ecn: Ecn::NotEct,
    })
}

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
    use bytes::Bytes;

    use super::*;

    fn segment(flags: Flags) -> Segment {
        Segment {
            seq: 100,
            ack: 7,
            flags,
            window_bytes: 0,
            payload: Payload::new(),
            sack: SackBlocks::NONE,
            timestamps: Some(Timestamps { value: Time::ZERO, echo: Time::ZERO }),
            syn: None,
            ecn: Ecn::NotEct,
        }
    }

    #[test]
    fn sizes_on_the_wire_are_those_of_linux() {
        let syn = SynOptions { mss: 1460, window_scale: 7, sack: true };
        assert_eq!(Segment { syn: Some(syn), ..segment(Flags::SYN) }.wire_bytes(), 60);
        assert_eq!(
            Segment { syn: Some(syn), timestamps: None, ..segment(Flags::SYN) }.wire_bytes(),
            52
        );
        assert_eq!(segment(Flags::ACK).wire_bytes(), 52);
        let data = Segment { payload: Bytes::from(vec![0; 1448]).into(), ..segment(Flags::ACK) };
        assert_eq!(data.wire_bytes(), 1500);
        let mut ack = segment(Flags::ACK);
        assert!(ack.sack.push(1..2));
        assert_eq!(ack.wire_bytes(), 64);
        assert!(ack.sack.push(3..4));
        assert_eq!(ack.wire_bytes(), 72);
    }

    #[test]
    fn a_reset_answers_what_it_refuses() {
        let data = Segment { payload: Bytes::from_static(b"ab").into(), ..segment(Flags::ACK) };
        let reset = reset_for(&data).expect("data is answered");
        assert_eq!((reset.seq, reset.flags), (7, Flags::RST));
        let reset = reset_for(&segment(Flags::SYN)).expect("a SYN is answered");
        assert_eq!((reset.ack, reset.flags), (101, Flags::RST.with(Flags::ACK)));
        assert_eq!(reset_for(&segment(Flags::RST)), None);
    }

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
