//! Audit of the segments that both ends send and receive, by the rules that are visible from outside.

use std::collections::BTreeSet;
use std::ops::Range;

use farlink_tcp::{Connection, Flags, LossDetection, Segment, Stats, TcpState};

use crate::common::{Side, Tap};

/// The ledger of both ends.
#[derive(Default)]
pub struct Audit {
    client: Ledger,
    server: Ledger,
}

/// Ledger of the segments that one end has sent and received.
#[derive(Default)]
struct Ledger {
    /// End of everything sent.
    next: u64,
    /// The highest acknowledgement received.
    heard: u64,
    /// Everything before this has arrived, as far as this end knows. It may lag behind: a segment whose data are not acceptable does not
    /// count (RFC 9293 section 3.10.7.4).
    acknowledged: u64,
    /// The farthest that the peer ever permitted it to send.
    allowed: u64,
    /// Its last acknowledgement, and the farthest that it permitted the peer to send.
    acknowledges: u64,
    allows: u64,
    /// Transmissions that may be in the network: neither acknowledged nor reported by SACK, repetitions counted.
    outstanding: Vec<Range<u64>>,
    /// Start of each segment reported by SACK.
    reported: BTreeSet<u64>,
}

impl Audit {
    fn of(&mut self, side: Side) -> &mut Ledger {
        match side {
            Side::Client => &mut self.client,
            Side::Server => &mut self.server,
        }
    }
}

impl Tap for Audit {
    fn sent(&mut self, side: Side, end: &Connection, segment: &Segment) {
        let (ledger, stats) = (self.of(side), end.stats());
        ledger.learn(end.state(), &stats);
        ledger.sent(segment, &stats);
    }

    fn arrived(&mut self, side: Side, segment: &Segment) {
        self.of(side).arrived(segment);
    }

    fn settled(&mut self, side: Side, end: &Connection) {
        let (ledger, stats) = (self.of(side), end.stats());
        if !end.is_closed() {
            ledger.learn(end.state(), &stats);
            ledger.settled(&stats, end.deadline().is_some(), doubtful_copies(end));
        }
    }
}

impl Ledger {
    fn arrived(&mut self, segment: &Segment) {
        self.allowed = self.allowed.max(segment.ack.max(1) + segment.window_bytes);
        if segment.is(Flags::ACK) && segment.ack <= self.next {
            self.heard = self.heard.max(segment.ack);
        }
        // Segments before the last acknowledgement that it sent may be refused as old.
        if segment.seq >= self.acknowledges && segment.seq <= self.allows {
            segment.sack.iter().for_each(|block| self.report(&block));
        }
    }

    /// Removes data that a block reports for the first time from the list: one copy, for others may still be on their way
    /// (`tcp_sacktag_one`).
    fn report(&mut self, block: &Range<u64>) {
        let Ledger { outstanding, reported, .. } = self;
        outstanding.retain(|sent| {
            let covered = block.start <= sent.start && sent.end <= block.end;
            !(covered && reported.insert(sent.start))
        });
    }

    /// Takes over the end's own view of arrivals: no more than it was told.
    fn learn(&mut self, state: TcpState, stats: &Stats) {
        if stats.established_at.is_some() {
            let unacknowledged = stats.unacknowledged_bytes.saturating_sub(stats.unsent_bytes);
            self.acknowledge(1 + stats.bytes_sent - unacknowledged);
        }
        if matches!(state, TcpState::FinWait2 | TcpState::TimeWait) {
            self.acknowledge(self.next);
        }
    }

    fn acknowledge(&mut self, upto: u64) {
        self.acknowledged = self.acknowledged.max(upto);
        let (acknowledged, heard) = (self.acknowledged, self.heard);
        assert!(acknowledged <= heard, "{acknowledged} is taken for arrived, {heard} was said");
        self.outstanding.retain(|sent| sent.end > acknowledged);
    }

    fn sent(&mut self, segment: &Segment, stats: &Stats) {
        self.check_order(segment);
        if segment.end() > segment.seq {
            self.outstanding.push(segment.seq..segment.end());
            if !segment.is(Flags::SYN) {
                self.check_permission(segment, stats);
            }
        }
        self.next = self.next.max(segment.end());
        if segment.is(Flags::ACK) {
            self.check_promises(segment);
        }
        check_estimates(stats);
    }

    /// Checks that numbers follow one another without a gap, and that data known to have arrived is not sent again.
    fn check_order(&self, segment: &Segment) {
        let Ledger { next, acknowledged, .. } = self;
        assert!(segment.seq <= *next, "{segment:?} leaves a gap behind {next}");
        let needless = !segment.payload.is_empty() && segment.end() <= *acknowledged;
        assert!(!needless, "{segment:?} was acknowledged, up to {acknowledged}");
    }

    /// Checks that new data stays within the peer's window and, except for a tail loss probe, the congestion window.
    fn check_permission(&self, segment: &Segment, stats: &Stats) {
        if segment.end() <= self.next {
            return;
        }
        assert!(segment.end() <= self.allowed, "{segment:?} goes beyond {}", self.allowed);
        let (in_flight, cwnd) = (stats.in_flight, stats.cwnd);
        assert!(in_flight <= cwnd + 1, "{in_flight} in flight in a window of {cwnd}: {segment:?}");
    }

    /// Checks that acknowledgements do not go back, and neither does the end of the window (RFC 9293 section 3.8.6).
    fn check_promises(&mut self, segment: &Segment) {
        assert!(segment.ack >= self.acknowledges, "{segment:?} after {}", self.acknowledges);
        self.acknowledges = segment.ack;
        if segment.is(Flags::RST) {
            return;
        }
        let allows = segment.ack + segment.window_bytes;
        assert!(allows >= self.allows, "{segment:?} shrinks the window from {}", self.allows);
        self.allows = allows;
    }

    /// Checks that outstanding data is waited for, and that nothing is believed in flight that was not sent.
    fn settled(&self, stats: &Stats, waits: bool, doubtful: u64) {
        let outstanding = self.outstanding.len();
        assert!(waits || outstanding == 0, "{outstanding} segments are out and no timer runs");
        let in_flight = stats.in_flight as usize;
        let copies = outstanding + doubtful as usize;
        assert!(in_flight <= copies, "{in_flight} in flight of {outstanding} outstanding");
        let stuck = stats.unsent_bytes > 0 && stats.established_at.is_some() && !waits;
        assert!(!stuck, "{} bytes wait and no timer runs", stats.unsent_bytes);
    }
}

/// Linux 3 also retransmits data that it does not consider lost: both copies may count, until they are acknowledged in order.
fn doubtful_copies(end: &Connection) -> u64 {
    match end.config().loss_detection {
        LossDetection::Rack => 0,
        LossDetection::Fack | LossDetection::Duplicates => end.stats().retransmitted_segments,
    }
}

fn check_estimates(stats: &Stats) {
    assert!(stats.cwnd >= 1, "a window of no segments");
    assert!(stats.ssthresh.is_none_or(|ssthresh| ssthresh >= 2), "{stats:?}");
    assert!(stats.in_flight < 100_000, "a count went below zero: {stats:?}");
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bytes::Bytes;
    use farlink_tcp::{Config, Connection, Payload, SackBlocks};
    use units::Time;

    use super::*;

    fn segment(seq: u64, len: usize, ack: u64, window_bytes: u64) -> Segment {
        let syn = Connection::connect(Arc::new(Config::default()), Time::ZERO).poll(Time::ZERO);
        Segment {
            seq,
            ack,
            flags: Flags::ACK,
            window_bytes,
            payload: Payload::from(Bytes::from(vec![0; len])),
            sack: SackBlocks::NONE,
            syn: None,
            ..syn.expect("a client begins with a SYN")
        }
    }

    fn stats() -> Stats {
        Connection::connect(Arc::new(Config::default()), Time::ZERO).stats()
    }

    /// An end that may send up to 1001 and has sent up to 501.
    fn ledger() -> Ledger {
        let mut ledger = Ledger { next: 1, acknowledged: 1, ..Ledger::default() };
        ledger.arrived(&segment(1, 0, 1, 1000));
        ledger.sent(&segment(1, 500, 1, 100), &stats());
        ledger
    }

    #[test]
    #[should_panic(expected = "goes beyond 1001")]
    fn it_sees_a_window_overrun() {
        ledger().sent(&segment(501, 501, 1, 100), &stats());
    }

    #[test]
    #[should_panic(expected = "leaves a gap behind 501")]
    fn it_sees_a_gap() {
        ledger().sent(&segment(502, 1, 1, 100), &stats());
    }

    #[test]
    #[should_panic(expected = "was acknowledged, up to 501")]
    fn it_sees_a_needless_repetition() {
        let mut ledger = ledger();
        ledger.arrived(&segment(1, 0, 501, 1000));
        ledger.acknowledge(501);
        ledger.sent(&segment(1, 500, 1, 100), &stats());
    }

    #[test]
    #[should_panic(expected = "shrinks the window from 101")]
    fn it_sees_a_window_shrink() {
        ledger().sent(&segment(501, 0, 1, 99), &stats());
    }

    #[test]
    #[should_panic(expected = "in a window of 10")]
    fn it_sees_a_full_congestion_window_ignored() {
        ledger().sent(&segment(501, 1, 1, 100), &Stats { in_flight: 12, ..stats() });
    }

    #[test]
    #[should_panic(expected = "no timer runs")]
    fn it_sees_that_nobody_waits() {
        ledger().settled(&stats(), false, 0);
    }

    #[test]
    #[should_panic(expected = "2 in flight of 1 outstanding")]
    fn it_sees_a_miscount() {
        ledger().settled(&Stats { in_flight: 2, ..stats() }, true, 0);
    }
}
