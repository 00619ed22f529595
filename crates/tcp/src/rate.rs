//! Delivery-rate samples: segments delivered, and over which interval.
//!
//! Each segment records at its transmission the number of segments delivered by then, and since when. Its
//! acknowledgement gives a sample: segments delivered since, over the longer of the time to send them and
//! the time to acknowledge them. Source: Linux 6.18 `net/ipv4/tcp_rate.c` (draft-cheng-iccrg-delivery-rate-
//! estimation). Unit: segments. Kept only for controllers that use it.

use std::collections::VecDeque;
use std::time::Duration;

use congestion::{Delivery, RateSample};
use units::Time;

use crate::scoreboard::SentSegment;

/// The connection's progress when a segment was sent (`TCP_SKB_CB(skb)->tx`).
#[derive(Debug, Clone, Copy)]
struct RateSnapshot {
    /// Start of the send interval to which the segment belongs.
    first_sent: Time,
    delivered_at: Time,
    delivered: u64,
    is_app_limited: bool,
}

/// A segment in flight; its snapshot until it is delivered.
#[derive(Debug, Clone, Copy)]
struct SentRecord {
    seq: u64,
    snapshot: Option<RateSnapshot>,
}

/// The newest segment delivered by the current acknowledgement.
#[derive(Debug, Clone, Copy)]
struct Newest {
    snapshot: RateSnapshot,
    end: u64,
    /// Time to send everything sent since `snapshot.first_sent`.
    sending: Duration,
}

/// Transport state that a sample needs, beyond deliveries.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Circumstances {
    pub(crate) newly_delivered: u32,
    pub(crate) newly_lost: u32,
    pub(crate) lost: u64,
    pub(crate) prior_in_flight: u32,
    pub(crate) in_flight: u32,
    pub(crate) is_ack_delayed: bool,
    pub(crate) srtt: Option<Duration>,
    pub(crate) min_rtt: Option<Duration>,
    pub(crate) departure: Time,
}

/// The estimator of one connection.
#[derive(Debug)]
pub(crate) struct RateEstimator {
    /// By sequence number.
    flights: VecDeque<SentRecord>,
    /// Segments delivered so far; the SYN is one.
    delivered: u64,
    /// Time at which the last of them was reported, or sending resumed after it (`delivered_mstamp`).
    delivered_at: Time,
    /// Time at which the newest delivered segment was sent, or sending resumed (`first_tx_mstamp`).
    first_sent: Time,
    /// The application left the path idle; set until more than this is delivered (`app_limited`).
    limited_until: Option<u64>,
    newest: Option<Newest>,
}

impl RateEstimator {
    pub(crate) fn new() -> RateEstimator {
        RateEstimator {
            flights: VecDeque::new(),
            delivered: 1,
            delivered_at: Time::ZERO,
            first_sent: Time::ZERO,
            limited_until: Some(0),
            newest: None,
        }
    }

    /// True if data sent now finds the path underused.
    pub(crate) fn is_app_limited(&self) -> bool {
        self.limited_until.is_some()
    }

    /// The application has let the path run dry (`tcp_rate_check_app_limited`).
    pub(crate) fn limit(&mut self, in_flight: u32) {
        self.limited_until = Some((self.delivered + u64::from(in_flight)).max(1));
    }

    fn snapshot(&self) -> RateSnapshot {
        RateSnapshot {
            first_sent: self.first_sent,
            delivered_at: self.delivered_at,
            delivered: self.delivered,
            is_app_limited: self.is_app_limited(),
        }
    }

    /// A segment leaves for the first time; `alone` if nothing is in flight (`tcp_rate_skb_sent`).
    pub(crate) fn on_sent(&mut self, seq: u64, now: Time, alone: bool) {
        if alone {
            self.first_sent = now;
            self.delivered_at = now;
        }
        let snapshot = Some(self.snapshot());
        self.flights.push_back(SentRecord { seq, snapshot });
    }

    /// The segment at `seq` leaves again.
    pub(crate) fn on_sent_again(&mut self, seq: u64) {
        let snapshot = Some(self.snapshot());
        if let Some(flight) = self.flight(seq) {
            flight.snapshot = snapshot;
        }
    }

    fn flight(&mut self, seq: u64) -> Option<&mut SentRecord> {
        let index = self.flights.binary_search_by_key(&seq, |flight| flight.seq).ok()?;
        self.flights.get_mut(index)
    }

    /// `sent` was delivered (`tcp_rate_skb_delivered`).
    pub(crate) fn on_delivered(&mut self, sent: &SentSegment) {
        let Some(snapshot) = self.flight(sent.seq).and_then(|flight| flight.snapshot.take()) else {
            return;
        };
        let is_newest =
            self.newest.is_none_or(|newest| (sent.at, sent.end) > (self.first_sent, newest.end));
        if is_newest {
            self.first_sent = sent.at;
            let sending = sent.at - snapshot.first_sent;
            self.newest = Some(Newest { snapshot, end: sent.end, sending });
        }
    }

    /// Forgets cumulatively acknowledged segments.
    pub(crate) fn release(&mut self, acknowledged: u64) {
        while self.flights.front().is_some_and(|flight| flight.seq < acknowledged) {
            self.flights.pop_front();
        }
    }

    /// Adds deliveries without a sample, when no data in flight was acknowledged in order.
    pub(crate) fn add(&mut self, delivered: u32) {
        self.delivered += u64::from(delivered);
        self.newest = None;
    }

    /// Finishes an acknowledgement (`tcp_rate_gen`).
    pub(crate) fn sample(&mut self, now: Time, seen: &Circumstances) -> RateSample {
        self.delivered += u64::from(seen.newly_delivered);
        if self.limited_until.is_some_and(|until| self.delivered > until) {
            self.limited_until = None;
        }
        if seen.newly_delivered > 0 {
            self.delivered_at = now;
        }
        let delivery = self.newest.take().map(|newest| self.delivery(now, &newest, seen.min_rtt));
        RateSample {
            delivery,
            newly_delivered: seen.newly_delivered,
            newly_lost: seen.newly_lost,
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            lost: seen.lost,
            prior_in_flight: seen.prior_in_flight,
            in_flight: seen.in_flight,
            is_ack_delayed: seen.is_ack_delayed,
            srtt: seen.srtt,
            departure: seen.departure,
        }
    }

    fn delivery(&self, now: Time, newest: &Newest, min_rtt: Option<Duration>) -> Delivery {
        let snapshot = &newest.snapshot;
        let interval = newest.sending.max(now - snapshot.delivered_at);
        // Shorter than the smallest round trip: a retransmission was taken for its original.
        let plausible = min_rtt.is_none_or(|least| interval >= least);
        Delivery {
            segments: self.delivered - snapshot.delivered,
            interval: plausible.then_some(interval),
            prior_delivered: snapshot.delivered,
            is_app_limited: snapshot.is_app_limited,
        }
    }

    /// Forgets the segments in flight.
    pub(crate) fn clear(&mut self) {
        self.flights.clear();
        self.newest = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scoreboard::Scoreboard;

    fn circumstances(newly_delivered: u32) -> Circumstances {
        Circumstances {
            newly_delivered,
            newly_lost: 0,
            lost: 0,
            prior_in_flight: 0,
            in_flight: 0,
            is_ack_delayed: false,
            srtt: None,
            min_rtt: Some(Duration::from_millis(100)),
            departure: Time::ZERO,
        }
    }

    fn at(ms: u64) -> Time {
        Time::from_millis(ms)
    }

    /// Segments of 10 bytes sent at these times, and the estimator that saw them.
    fn sent(times: &[u64]) -> (RateEstimator, Scoreboard) {
        let (mut rate, mut board) = (RateEstimator::new(), Scoreboard::new());
        for (n, ms) in times.iter().enumerate() {
            let seq = 10 * n as u64;
            rate.on_sent(seq, at(*ms), board.is_empty());
            board.push(seq..seq + 10, at(*ms));
        }
        (rate, board)
    }

    fn acknowledge(
        rate: &mut RateEstimator,
        board: &mut Scoreboard,
        ms: u64,
        ack: u64,
    ) -> RateSample {
        let mut count = 0;
        while let Some(sent) = board.pop_acked(ack) {
            rate.on_delivered(&sent);
            count += 1;
        }
        rate.release(ack);
        rate.sample(at(ms), &circumstances(count))
    }

    #[test]
    fn the_longer_of_sending_and_acknowledging_counts() {
        let (mut rate, mut board) = sent(&[0, 0, 0, 0]);
        let sample = acknowledge(&mut rate, &mut board, 100, 10);
        let delivery = sample.delivery.expect("a sample");
        assert_eq!((delivery.segments, delivery.interval), (1, Some(Duration::from_millis(100))));
        assert!(delivery.is_app_limited, "the first window is");
        // The rest is acknowledged in one go, 30 ms later.
        let delivery = acknowledge(&mut rate, &mut board, 130, 40).delivery.expect("a sample");
        assert_eq!((delivery.segments, delivery.interval), (4, Some(Duration::from_millis(130))));
        // Sent over 150 ms, acknowledged at once: sending was slower.
        let (mut rate, mut board) = sent(&[0, 50, 100, 150]);
        let delivery = acknowledge(&mut rate, &mut board, 250, 40).delivery.expect("a sample");
        assert_eq!((delivery.segments, delivery.interval), (4, Some(Duration::from_millis(250))));
    }

    #[test]
    fn a_segment_counts_once() {
        let (mut rate, mut board) = sent(&[0, 0]);
        board.sack(10..20, |sent| rate.on_delivered(sent));
        assert!(rate.sample(at(100), &circumstances(1)).delivery.is_some());
        let sample = acknowledge(&mut rate, &mut board, 110, 20);
        assert_eq!(
            sample.delivery.map(|delivery| delivery.segments),
            Some(3),
            "from the first segment"
        );
        assert_eq!(sample.delivered, 1 + 1 + 2);
    }

    #[test]
    fn an_interval_below_the_smallest_round_trip_is_refused() {
        let (mut rate, mut board) = sent(&[0]);
        let delivery = acknowledge(&mut rate, &mut board, 99, 10).delivery.expect("a sample");
        assert_eq!(delivery.interval, None);
    }

    #[test]
    fn idleness_ends_with_what_was_in_flight() {
        let (mut rate, mut board) = sent(&[0, 0]);
        acknowledge(&mut rate, &mut board, 100, 10);
        assert!(!rate.is_app_limited());
        rate.limit(1);
        assert!(rate.is_app_limited());
        acknowledge(&mut rate, &mut board, 110, 20);
        assert!(rate.is_app_limited(), "the last segment in flight was the application's last");
        rate.add(1);
        rate.sample(at(120), &circumstances(0));
        assert!(!rate.is_app_limited());
    }
}
