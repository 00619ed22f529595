//! Bytes that have passed on a connection, and on each of its request streams.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;

use ::h3::quic::StreamId;
use quic::ByteCounts;

use crate::h3::frames::{Meter, Passed};

/// Ready when the peer stops a stream, or the connection is lost.
pub(in crate::h3) type Stop = Pin<Box<dyn Future<Output = ()>>>;

/// Bytes that have passed on one connection, as seen by this end.
pub(in crate::h3) struct Tally {
    /// Bytes on all streams.
    counts: Rc<ByteCounts>,
    /// Size limit of the frames that h3 buffers whole.
    most_gathered_bytes: u64,
    /// Bytes of requests and responses, both ways.
    progress: u64,
    /// Open request streams.
    open: BTreeMap<u64, [Meter; 2]>,
    /// Ranks of streams that have sent nothing yet.
    ranks: BTreeMap<u64, i32>,
    /// Stop futures of request streams that are not awaited yet.
    stops: BTreeMap<u64, Stop>,
}

/// The direction of a stream's meter.
#[derive(Clone, Copy)]
pub(super) enum Way {
    Sent,
    Received,
}

impl Tally {
    /// A new tally of a connection whose peer's heads may have this many bytes. h3 itself buffers an incomplete frame of
    /// any announced size; encoded heads are no larger than decoded ones (RFC 9204 section 4.5: literals, static indices).
    pub(in crate::h3) fn shared(most_gathered_bytes: u64) -> SharedTally {
        Rc::new(RefCell::new(Tally {
            counts: Rc::default(),
            most_gathered_bytes,
            progress: 0,
            open: BTreeMap::new(),
            ranks: BTreeMap::new(),
            stops: BTreeMap::new(),
        }))
    }

    /// Bytes on all streams, requests' and others.
    pub(in crate::h3) fn counts(&self) -> &Rc<ByteCounts> {
        &self.counts
    }

    /// Bytes of requests and responses that have passed, both ways.
    pub(in crate::h3) fn progress(&self) -> u64 {
        self.progress
    }

    /// Returns true if a stream's frames are within the limit.
    pub(super) fn takes(&self, meter: &Meter) -> bool {
        meter.gathered_bytes() <= self.most_gathered_bytes
    }

    /// Bytes that this end has sent on a request's stream.
    pub(in crate::h3) fn sent(&self, stream: StreamId) -> Passed {
        self.passed(stream, Way::Sent)
    }

    /// Bytes that this end has received on a request's stream.
    pub(in crate::h3) fn received(&self, stream: StreamId) -> Passed {
        self.passed(stream, Way::Received)
    }

    /// Returns true if the data received on a request's stream repeats pseudo-header fields, or has them after fields.
    pub(in crate::h3) fn is_malformed(&self, stream: StreamId) -> bool {
        let meters = self.open.get(&stream.into_inner());
        meters.is_some_and(|meters| meters[Way::Received as usize].is_malformed())
    }

    /// Sets the rank of `stream`: its data goes before that of lower ranks; the default is 0.
    pub(in crate::h3) fn rank(&mut self, stream: StreamId, rank: i32) {
        self.ranks.insert(stream.into_inner(), rank);
    }

    /// Notes that a request's stream is open.
    pub(super) fn open(shared: &SharedTally, stream: u64) -> Rc<Watch> {
        shared.borrow_mut().open.insert(stream, Default::default());
        Rc::new(Watch { tally: Rc::clone(shared), stream })
    }

    /// Stores the future that is ready when the peer stops `stream`.
    pub(super) fn note_stop(&mut self, stream: u64, stop: Stop) {
        self.stops.insert(stream, stop);
    }

    /// The future that is ready when the peer stops the request stream `stream`; once.
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

    /// Counts the bytes of a stream; returns false if they exceed the limit.
    pub(super) fn feed(&mut self, stream: u64, way: Way, bytes: &[u8]) -> bool {
        match way {
            Way::Sent => self.counts.add_sent(bytes.len()),
            Way::Received => self.counts.add_received(bytes.len()),
        }
        let Some(meters) = self.open.get_mut(&stream) else { return true };
        self.progress += bytes.len() as u64;
        let meter = &mut meters[way as usize];
        meter.feed(bytes);
        matches!(way, Way::Sent) || meter.gathered_bytes() <= self.most_gathered_bytes
    }
}

/// A tally shared by all streams of a connection.
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
