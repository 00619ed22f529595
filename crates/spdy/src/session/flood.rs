//! Rate limits on frames that cost their sender nothing: buckets that refill.

use std::time::Duration;

use super::SessionError;
use crate::Limits;

/// Time for an empty bucket to refill.
const REFILL: Duration = Duration::from_secs(4);

/// A burst, then a constant rate (the generic cell rate algorithm).
#[derive(Debug)]
struct Bucket {
    /// Time per unit.
    interval: Duration,
    /// Time at which the bucket will be full.
    full_at: Duration,
    what: &'static str,
}

impl Bucket {
    fn new(limit: u32, what: &'static str) -> Bucket {
        Bucket { interval: REFILL / limit.max(1), full_at: Duration::ZERO, what }
    }

    fn draw(&mut self, now: Duration) -> Result<(), SessionError> {
        self.full_at = self.full_at.max(now) + self.interval;
        if self.full_at - now > REFILL { Err(SessionError::Flood(self.what)) } else { Ok(()) }
    }
}

/// The buckets of one session.
#[derive(Debug)]
pub(super) struct Floods {
    now: Duration,
    resets: Bucket,
    pings: Bucket,
    settings: Bucket,
    idle_frames: Bucket,
}

impl Floods {
    pub(super) fn new(limits: &Limits) -> Floods {
        Floods {
            now: Duration::ZERO,
            resets: Bucket::new(limits.resets, "resets"),
            pings: Bucket::new(limits.pings, "PINGs"),
            settings: Bucket::new(limits.settings, "SETTINGS"),
            idle_frames: Bucket::new(limits.idle_frames, "frames that say nothing"),
        }
    }

    /// Sets the current time.
    pub(super) fn tell(&mut self, now: Duration) {
        self.now = self.now.max(now);
    }

    /// Counts a reset of a stream that was not over.
    pub(super) fn reset(&mut self) -> Result<(), SessionError> {
        self.resets.draw(self.now)
    }

    /// Counts a PING that asks for an answer.
    pub(super) fn ping(&mut self) -> Result<(), SessionError> {
        self.pings.draw(self.now)
    }

    /// Counts a SETTINGS frame.
    pub(super) fn settings(&mut self) -> Result<(), SessionError> {
        self.settings.draw(self.now)
    }

    /// Counts a frame that carries nothing, or is for no stream.
    pub(super) fn idle_frame(&mut self) -> Result<(), SessionError> {
        self.idle_frames.draw(self.now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_takes_its_limit_at_once_and_a_quarter_a_second() {
        let mut bucket = Bucket::new(40, "pings");
        let mut drawn = |at: u64, times: usize| -> usize {
            let now = Duration::from_millis(at);
            (0..times).take_while(|_| bucket.draw(now).is_ok()).count()
        };
        assert_eq!(drawn(0, 100), 40);
        // The refused one was counted, too.
        assert_eq!(drawn(1_100, 100), 10);
        assert_eq!(drawn(3_600_000, 100), 40);
    }
}
