//! The receiver of one direction: sums up datagrams, and restores the only missing one of a group.

use std::collections::VecDeque;

use super::{Frame, Sum};

/// Number of groups kept. A packet of an older one has been overtaken by some hundred others.
const GROUPS: usize = 8;

/// The datagrams from one address.
#[derive(Debug, Default)]
pub(super) struct Decoder {
    groups: VecDeque<Group>,
}

/// A group, as far as received.
#[derive(Debug)]
struct Group {
    number: u32,
    /// Bitmap of the datagrams received.
    came: u64,
    /// Number of datagrams, known once the parity has come.
    count: Option<u8>,
    sum: Sum,
    /// Nothing is missing, or nothing can be restored.
    is_done: bool,
}

/// The result of decoding a frame.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Decoded<'a> {
    /// The datagram in it.
    pub(super) carried: Option<&'a [u8]>,
    /// The datagram restored by it.
    pub(super) restored: Option<Vec<u8>>,
}

impl Decoder {
    /// Decodes received bytes; invalid frames are dropped.
    pub(super) fn take<'a>(&mut self, bytes: &'a [u8]) -> Decoded<'a> {
        match Frame::parse(bytes) {
            None => Decoded::default(),
            Some(Frame::Datagram { group, index, data }) => {
                let restored = self.group(group).datagram(index, data);
                Decoded { carried: Some(data), restored }
            }
            Some(Frame::Parity { group, count, lengths, sum }) => {
                let restored = self.group(group).parity(count, lengths, sum);
                Decoded { carried: None, restored }
            }
        }
    }

    /// The group of this number; a new one evicts the oldest.
    fn group(&mut self, number: u32) -> &mut Group {
        let found = self.groups.iter().rposition(|group| group.number == number);
        let at = found.unwrap_or_else(|| {
            if self.groups.len() == GROUPS {
                self.groups.pop_front();
            }
            let sum = Sum::default();
            self.groups.push_back(Group { number, came: 0, count: None, sum, is_done: false });
            self.groups.len() - 1
        });
        &mut self.groups[at]
    }
}

impl Group {
    fn datagram(&mut self, index: u8, data: &[u8]) -> Option<Vec<u8>> {
        let bit = 1 << index;
        if self.is_done || self.came & bit != 0 {
            return None;
        }
        self.came |= bit;
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
        let came = self.came.count_ones();
        if came + 1 < count {
            return None;
        }
        self.is_done = true;
        let restored = self.sum.single().filter(|_| came + 1 == count).map(<[u8]>::to_vec);
        self.sum = Sum::default();
        restored
    }
}
