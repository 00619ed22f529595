//! When which byte of a response had arrived, worked out from the two ends that a HAR states.
//!
//! A document's children are discovered as its bytes come in, and how those bytes are spread over
//! `receive` depends on the round trip: a server's TCP sends 10 segments, waits a round trip, sends
//! 20, and so on (RFC 6928, RFC 5681 section 3.1). So the arrival is modelled as slow start over the
//! host's recorded round trip, at the one rate that makes the last byte arrive when it did.
//!
//! Left out: losses, delayed ACKs, a window that is already open. Where even an unlimited rate would
//! take longer than was recorded, the window was open: then bytes are spread evenly.

/// Ten segments of 1460 bytes (RFC 6928 section 2).
const INITIAL_WINDOW_BYTES: u64 = 14_600;

/// The rate is found by halving an interval so often; 60 halvings exhaust a double's precision.
const HALVINGS: usize = 60;

/// The arrival of one response.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    head_at: i64,
    receive: i64,
    bytes: u64,
    round_trip: i64,
    /// Microseconds a byte; `None` where bytes are spread evenly.
    pace: Option<f64>,
}

impl Arrival {
    /// The arrival of `bytes` between `head_at` and `receive` microseconds later.
    pub fn new(head_at: i64, receive: i64, bytes: u64, round_trip: i64) -> Arrival {
        let slow_start = slow_start(bytes, 0.0, round_trip) <= receive as f64 && bytes > 0;
        let pace = slow_start.then(|| fit(bytes, receive, round_trip));
        Arrival { head_at, receive, bytes, round_trip, pace }
    }

    /// When the first `bytes` of the body had arrived.
    pub fn at(&self, bytes: u64) -> i64 {
        let bytes = bytes.min(self.bytes);
        let after = match self.pace {
            Some(pace) => slow_start(bytes, pace, self.round_trip),
            None if self.bytes == 0 => 0.0,
            None => self.receive as f64 * (bytes as f64 / self.bytes as f64),
        };
        self.head_at + (after.round() as i64).min(self.receive)
    }
}

/// Microseconds from the first byte until `bytes` have arrived in flights that double.
fn slow_start(bytes: u64, pace: f64, round_trip: i64) -> f64 {
    let mut flight = INITIAL_WINDOW_BYTES;
    let mut sent = 0;
    let mut begins = 0.0;
    while bytes > sent + flight {
        // The next flight is clocked out a round trip after this one began, or at once when the
        // bottleneck is still busy with this one.
        begins = f64::max(begins + round_trip as f64, begins + flight as f64 * pace);
        sent += flight;
        flight *= 2;
    }
    begins + (bytes - sent) as f64 * pace
}

/// The pace at which the last of `bytes` arrives after `receive`.
fn fit(bytes: u64, receive: i64, round_trip: i64) -> f64 {
    let (mut fast, mut slow) = (0.0, receive as f64 / bytes as f64);
    for _ in 0..HALVINGS {
        let middle = (fast + slow) / 2.0;
        match slow_start(bytes, middle, round_trip) <= receive as f64 {
            true => fast = middle,
            false => slow = middle,
        }
    }
    fast
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flights_are_a_round_trip_apart() {
        // 60 kB in flights of 14.6, 29.2 and the rest, 100 ms apart, at 1 us a byte.
        let receive = 200_000 + (60_000 - 43_800);
        let arrival = Arrival::new(1000, receive, 60_000, 100_000);
        let near = |bytes, at: i64| assert!((arrival.at(bytes) - 1000 - at).abs() <= 1, "{bytes}");
        near(0, 0);
        near(14_600, 14_600);
        near(14_601, 100_001);
        near(43_801, 200_001);
        near(60_000, receive);
    }

    #[test]
    fn an_open_window_spreads_evenly() {
        let arrival = Arrival::new(0, 50_000, 100_000, 100_000);
        assert_eq!(arrival.at(50_000), 25_000);
        assert_eq!(arrival.at(u64::MAX), 50_000);
        assert_eq!(Arrival::new(7, 0, 0, 100).at(5), 7);
    }
}
