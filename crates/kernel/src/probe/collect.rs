//! Time series of each connection from the lines of a trace.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use tcp::{CongestionState, Sample, State, Stats, Trigger};
use units::Time;

use super::event::{Event, Segment, What};
use crate::tcp_info::INFINITE_SSTHRESH;
use crate::{Connection, Motion, Motions};

/// Result of a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Traced {
    /// Time series of each connection. The cookie is 0 if no segment reached the connection while it was established.
    pub motions: Motions,
    /// Events that the kernel discarded because they were not read in time: if there are any, the series have gaps.
    pub lost: u64,
}

/// Sorts events, in the trace's order, by connection. Times count from `began`; a full segment has `segment_bytes` bytes.
pub(super) fn collect(events: &[Event], began: Duration, segment_bytes: u32) -> Motions {
    let cookies = cookies(events);
    let mut followed: BTreeMap<Connection, Followed> = BTreeMap::new();
    for event in events {
        let cookie = match &event.what {
            What::Segment(segment) => segment.cookie,
            _ => cookies.get(&key(event)).copied().unwrap_or(0),
        };
        let connection = Connection { local: event.local, peer: event.peer, cookie };
        let at = Time::ZERO + event.at.saturating_sub(began);
        followed.entry(connection).or_default().note(at, &event.what, segment_bytes);
    }
    followed.into_iter().map(|(connection, followed)| (connection, followed.motion)).collect()
}

/// A socket's name and addresses.
type Key<'a> = (&'a str, SocketAddr, SocketAddr);

fn key(event: &Event) -> Key<'_> {
    (&event.socket, event.local, event.peer)
}

/// Only segment events carry a socket's cookie; its name and addresses together are as good.
fn cookies(events: &[Event]) -> BTreeMap<Key<'_>, u64> {
    let segments = events.iter().filter_map(|event| match &event.what {
        What::Segment(segment) => Some((key(event), segment.cookie)),
        _ => None,
    });
    segments.collect()
}

/// One connection so far.
struct Followed {
    motion: Motion,
    congestion_state: CongestionState,
}

impl Default for Followed {
    fn default() -> Followed {
        Followed { motion: Motion::default(), congestion_state: CongestionState::Open }
    }
}

impl Followed {
    fn note(&mut self, at: Time, what: &What, segment_bytes: u32) {
        match what {
            What::Congestion(state) => self.congestion_state = *state,
            What::Retransmit => self.motion.retransmitted_at.push(at),
            What::Segment(segment) => {
                let stats = Stats {
                    retransmitted_segments: self.motion.retransmitted_at.len() as u64,
                    congestion_state: self.congestion_state,
                    ..stats(segment, segment_bytes)
                };
                // The event is raised in this state only (`tcp_rcv_established`).
                let state = State::Established;
                self.motion.samples.push(Sample { at, trigger: Trigger::Probe, state, stats });
            }
        }
    }
}

fn stats(segment: &Segment, segment_bytes: u32) -> Stats {
    let in_flight_bytes = segment.next.wrapping_sub(segment.unacknowledged);
    Stats {
        bytes_sent: 0,
        bytes_received: 0,
        segments_sent: 0,
        segments_received: 0,
        retransmitted_segments: 0,
        retransmitted_bytes: 0,
        delivered_segments: 0,
        timeouts: 0,
        undone_reductions: 0,
        srtt: (!segment.srtt.is_zero()).then_some(segment.srtt),
        rttvar: Duration::ZERO,
        rto: Duration::ZERO,
        min_rtt: None,
        cwnd: segment.cwnd,
        ssthresh: (segment.ssthresh < INFINITE_SSTHRESH).then_some(segment.ssthresh),
        in_flight: in_flight_bytes.div_ceil(segment_bytes.max(1)),
        pacing_rate: None,
        congestion_state: CongestionState::Open,
        established_at: None,
        peer_window_bytes: segment.peer_window.into(),
        unacknowledged_bytes: in_flight_bytes.into(),
        unsent_bytes: 0,
        busy: Duration::ZERO,
        rwnd_limited: Duration::ZERO,
        sndbuf_limited: Duration::ZERO,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(millis: u64, socket: &str, what: What) -> Event {
        Event {
            at: Duration::from_millis(millis),
            socket: socket.to_owned(),
            local: "10.0.0.2:80".parse().unwrap(),
            peer: "10.0.0.1:9".parse().unwrap(),
            what,
        }
    }

    fn segment(cookie: u64, unacknowledged: u32) -> What {
        What::Segment(Segment {
            cookie,
            next: 2000,
            unacknowledged,
            cwnd: 10,
            ssthresh: INFINITE_SSTHRESH,
            peer_window: 9000,
            srtt: Duration::from_millis(60),
        })
    }

    #[test]
    fn retransmissions_find_their_connection_among_those_of_the_same_addresses() {
        let events = [
            event(1, "a", What::Congestion(CongestionState::Loss)),
            event(2, "a", segment(1, 500)),
            event(3, "b", segment(2, 2000)),
            event(4, "a", What::Retransmit),
            event(5, "a", segment(1, 2000)),
            event(6, "c", What::Retransmit),
        ];
        let motions = collect(&events, Duration::from_millis(1), 1000);
        let cookies: Vec<u64> = motions.keys().map(|connection| connection.cookie).collect();
        assert_eq!(cookies, [0, 1, 2]);
        let of: Vec<&Motion> = motions.values().collect();
        assert_eq!(of[0].samples, []);
        let stats: Vec<&Stats> = of[1].samples.iter().map(|sample| &sample.stats).collect();
        assert_eq!(stats[0].congestion_state, CongestionState::Loss);
        assert_eq!((stats[0].unacknowledged_bytes, stats[0].in_flight), (1500, 2));
        assert_eq!((stats[0].ssthresh, stats[0].retransmitted_segments), (None, 0));
        assert_eq!((stats[1].in_flight, stats[1].retransmitted_segments), (0, 1));
        assert_eq!(of[1].retransmitted_at, [Time::from_millis(3)]);
        assert_eq!(of[2].samples.len(), 1);
    }
}
