//! The sender of one direction: numbers datagrams and sums them up.

use units::Time;

use super::{FLUSH, Frame, Sum};

/// The datagrams to one address.
#[derive(Debug, Default)]
pub(super) struct Encoder {
    group: u32,
    count: u8,
    sum: Sum,
    last: Option<Time>,
}

impl Encoder {
    /// Writes `data` as the next datagram of its group into `out`. It counts when it is [noted](Encoder::note) as sent.
    pub(super) fn frame(&self, data: &[u8], out: &mut Vec<u8>) {
        Frame::Datagram { group: self.group, index: self.count, data }.write(out);
    }

    /// Notes that `data` was sent. Returns true if the group now has `every` datagrams, so that its parity is due.
    pub(super) fn note(&mut self, now: Time, data: &[u8], every: u8) -> bool {
        self.sum.add(data);
        self.count += 1;
        self.last = Some(now);
        self.count >= every
    }

    /// The time at which an incomplete group gets its parity; none if the group is empty.
    pub(super) fn deadline(&self) -> Option<Time> {
        self.last.map(|last| last + FLUSH)
    }

    /// Ends the group: writes its parity into `out`. An empty group has none.
    pub(super) fn end(&mut self, out: &mut Vec<u8>) {
        if self.count == 0 {
            return;
        }
        let (group, count, lengths) = (self.group, self.count, self.sum.lengths);
        Frame::Parity { group, count, lengths, sum: &self.sum.bytes }.write(out);
        self.group = group.wrapping_add(1);
        (self.count, self.last) = (0, None);
        self.sum.clear();
    }
}
