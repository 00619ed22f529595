//! What has passed on a connection, and on each of its requests' streams.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use ::h3::quic::StreamId;

use crate::h3::frames::{Meter, Passed};

/// What has passed on one connection, as this end sees it.
#[derive(Debug, Default)]
pub(in crate::h3) struct Tally {
    /// Bytes handed to QUIC, on all streams.
    pub(in crate::h3) sent_bytes: u64,
    /// Bytes that QUIC handed up, in order.
    pub(in crate::h3) received_bytes: u64,
    /// Requests' streams that are open.
    open: BTreeMap<u64, [Meter; 2]>,
    /// Ranks of streams that have sent nothing yet.
    ranks: BTreeMap<u64, i32>,
}

/// Which of a stream's meters.
#[derive(Clone, Copy)]
pub(super) enum Way {
    Sent,
    Received,
}

impl Tally {
    /// What this end has sent on a request's stream.
    pub(in crate::h3) fn sent(&self, stream: StreamId) -> Passed {
        self.passed(stream, Way::Sent)
    }

    /// What this end has received on a request's stream.
    pub(in crate::h3) fn received(&self, stream: StreamId) -> Passed {
        self.passed(stream, Way::Received)
    }

    /// What is sent on `stream` from now on goes before what has a lower rank; the usual is 0.
    pub(in crate::h3) fn rank(&mut self, stream: StreamId, rank: i32) {
        self.ranks.insert(stream.into_inner(), rank);
    }

    /// A request's stream is open.
    pub(super) fn open(shared: &SharedTally, stream: u64) -> Rc<Watch> {
        shared.borrow_mut().open.insert(stream, Default::default());
        Rc::new(Watch { tally: Rc::clone(shared), stream })
    }

    /// The rank of a stream that has sent nothing yet, if it has one.
    pub(super) fn take_rank(&mut self, stream: u64) -> Option<i32> {
        self.ranks.remove(&stream)
    }

    fn passed(&self, stream: StreamId, way: Way) -> Passed {
        let meters = self.open.get(&stream.into_inner());
        meters.map_or_else(Passed::default, |meters| meters[way as usize].passed())
    }

    pub(super) fn feed(&mut self, stream: u64, way: Way, bytes: &[u8]) {
        match way {
            Way::Sent => self.sent_bytes += bytes.len() as u64,
            Way::Received => self.received_bytes += bytes.len() as u64,
        }
        if let Some(meters) = self.open.get_mut(&stream) {
            meters[way as usize].feed(bytes);
        }
    }
}

/// A tally that all streams of a connection write to.
pub(in crate::h3) type SharedTally = Rc<RefCell<Tally>>;

/// Keeps a stream's meters as long as one of its directions is open.
pub(super) struct Watch {
    tally: SharedTally,
    stream: u64,
}

impl Drop for Watch {
    fn drop(&mut self) {
        let mut tally = self.tally.borrow_mut();
        tally.open.remove(&self.stream);
        tally.ranks.remove(&self.stream);
    }
}
