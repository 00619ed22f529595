//! What has passed on a connection, and on each of its requests' streams.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;

use ::h3::quic::StreamId;

use crate::h3::frames::{Meter, Passed};

/// Ready when the peer wants no more of a stream, or the connection is lost.
pub(in crate::h3) type Stop = Pin<Box<dyn Future<Output = ()>>>;

/// What has passed on one connection, as this end sees it.
pub(in crate::h3) struct Tally {
    /// Bytes handed to QUIC, on all streams.
    pub(in crate::h3) sent_bytes: u64,
    /// Bytes that QUIC handed up, in order.
    pub(in crate::h3) received_bytes: u64,
    /// The largest frame that is taken of those that h3 gathers whole.
    most_gathered_bytes: u64,
    /// Bytes of requests and responses, either way.
    progress: u64,
    /// Requests' streams that are open.
    open: BTreeMap<u64, [Meter; 2]>,
    /// Ranks of streams that have sent nothing yet.
    ranks: BTreeMap<u64, i32>,
    /// Of requests' streams that nobody waits for yet.
    stops: BTreeMap<u64, Stop>,
}

/// Which of a stream's meters.
#[derive(Clone, Copy)]
pub(super) enum Way {
    Sent,
    Received,
}

impl Tally {
    /// Nothing yet, of a connection whose peer's heads may have so many bytes. h3 itself keeps what is incomplete however large it says it will be;
    /// coded they are no larger than in clear (RFC 9204 section 4.5: literals, static indices).
    pub(in crate::h3) fn shared(most_gathered_bytes: u64) -> SharedTally {
        Rc::new(RefCell::new(Tally {
            sent_bytes: 0,
            received_bytes: 0,
            most_gathered_bytes,
            progress: 0,
            open: BTreeMap::new(),
            ranks: BTreeMap::new(),
            stops: BTreeMap::new(),
        }))
    }

    /// How many bytes of requests and responses have passed, either way.
    pub(in crate::h3) fn progress(&self) -> u64 {
        self.progress
    }

    /// Whether a stream's frames are no larger than is taken.
    pub(super) fn takes(&self, meter: &Meter) -> bool {
        meter.gathered_bytes() <= self.most_gathered_bytes
    }

    /// What this end has sent on a request's stream.
    pub(in crate::h3) fn sent(&self, stream: StreamId) -> Passed {
        self.passed(stream, Way::Sent)
    }

    /// What this end has received on a request's stream.
    pub(in crate::h3) fn received(&self, stream: StreamId) -> Passed {
        self.passed(stream, Way::Received)
    }

    /// Whether what has come on a request's stream names parts of the request twice, or behind its fields.
    pub(in crate::h3) fn is_malformed(&self, stream: StreamId) -> bool {
        let meters = self.open.get(&stream.into_inner());
        meters.is_some_and(|meters| meters[Way::Received as usize].is_malformed())
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

    /// When `stream` is wanted no more.
    pub(super) fn note_stop(&mut self, stream: u64, stop: Stop) {
        self.stops.insert(stream, stop);
    }

    /// When `stream`, which somebody asked on, is wanted no more; once.
    pub(in crate::h3) fn take_stop(&mut self, stream: StreamId) -> Option<Stop> {
        self.stops.remove(&stream.into_inner())
    }

    /// The rank of a stream that has sent nothing yet, if it has one.
    pub(super) fn take_rank(&mut self, stream: u64) -> Option<i32> {
        self.ranks.remove(&stream)
    }

    fn passed(&self, stream: StreamId, way: Way) -> Passed {
        let meters = self.open.get(&stream.into_inner());
        meters.map_or_else(Passed::default, |meters| meters[way as usize].passed())
    }

    /// Counts what passes on a stream; false if it is more than is taken.
    pub(super) fn feed(&mut self, stream: u64, way: Way, bytes: &[u8]) -> bool {
        match way {
            Way::Sent => self.sent_bytes += bytes.len() as u64,
            Way::Received => self.received_bytes += bytes.len() as u64,
        }
        let Some(meters) = self.open.get_mut(&stream) else { return true };
        self.progress += bytes.len() as u64;
        let meter = &mut meters[way as usize];
        meter.feed(bytes);
        matches!(way, Way::Sent) || meter.gathered_bytes() <= self.most_gathered_bytes
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
        tally.stops.remove(&self.stream);
    }
}
