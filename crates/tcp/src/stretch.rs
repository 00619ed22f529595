//! Detection of streams, whose receiver may acknowledge less often.
//!
//! Source: XNU, `bsd/netinet/tcp_input.c` (`tcp_stretch_ack_enable`, `tcp_reset_stretch_ack`, and their callers) and
//! `tcp_timer.c`, with `net.inet.tcp.delayed_ack=3`. Left out: headers, which the kernel counts with the bytes of a window; the kernel's
//! end of stretching on a connection whose delayed acknowledgements were late too often; merged arrivals (LRO).

use units::Time;

use crate::config::Stretch;

/// The detector of one connection.
#[derive(Debug)]
pub(crate) struct StreamDetector {
    stretch: Stretch,
    /// End of the current window (`rcv_unackwin`),
    ends: Time,
    /// and the bytes that arrived in it (`rcv_by_unackwin`).
    bytes: u64,
    /// Segments since the beginning or the last loss, until a stream was found (`rcv_waitforss`, `TF_RCVUNACK_WAITSS`).
    waited: Option<u32>,
    streams: bool,
}

impl StreamDetector {
    pub(crate) fn new(stretch: Stretch, now: Time) -> StreamDetector {
        let ends = now + stretch.window;
        StreamDetector { stretch, ends, bytes: 0, waited: Some(0), streams: false }
    }

    /// Number of segments per acknowledgement.
    pub(crate) fn segments(&self) -> u32 {
        if self.streams { self.stretch.segments } else { 2 }
    }

    /// Data arrived in order; the end of a write is not part of a stream.
    pub(crate) fn on_data(&mut self, now: Time, len: u64, push: bool, mss: u64) {
        self.waited = self.waited.map(|segments| segments.saturating_add(1));
        let many = self.bytes >= u64::from(self.stretch.segments) * mss && now <= self.ends;
        let begun = self.waited.is_none_or(|segments| segments >= self.stretch.slow_start_segments);
        self.streams = many && !push && begun;
        if self.streams {
            self.waited = None;
        }
        if now < self.ends {
            self.bytes += len;
        } else {
            (self.ends, self.bytes) = (now + self.stretch.window, len);
        }
    }

    /// The delay of an acknowledgement is over: fewer segments come than in a stream.
    pub(crate) fn on_delay_over(&mut self, now: Time) {
        if self.streams {
            self.reset(now);
        }
    }

    /// Something was lost, overtaken or marked: the sender's window is small.
    pub(crate) fn reset(&mut self, now: Time) {
        *self = StreamDetector::new(self.stretch, now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::AckPolicy;

    const MSS: u64 = 1448;

    fn detector() -> StreamDetector {
        StreamDetector::new(AckPolicy::IOS_9.stretch.unwrap(), Time::ZERO)
    }

    /// Feeds this number of segments, one per millisecond, from `from` on. Returns the time of their end.
    fn feed(detector: &mut StreamDetector, from: u64, segments: u64) -> u64 {
        for at in from..from + segments {
            detector.on_data(Time::from_millis(at), MSS, false, MSS);
        }
        from + segments
    }

    #[test]
    fn a_stream_is_one_after_512_segments_while_eight_come_in_a_tenth_of_a_second() {
        let mut detector = detector();
        let at = feed(&mut detector, 0, 511);
        assert_eq!(detector.segments(), 2);
        let at = feed(&mut detector, at, 1);
        assert_eq!(detector.segments(), 8);
        // After a second of silence the next segment opens a new window, which has too little in it at first.
        let at = feed(&mut detector, at + 1000, 8);
        assert_eq!(detector.segments(), 2);
        feed(&mut detector, at, 1);
        assert_eq!(detector.segments(), 8, "slow start is not waited for again");
    }

    #[test]
    fn a_push_interrupts_and_a_loss_ends_it() {
        let mut detector = detector();
        let at = feed(&mut detector, 0, 600);
        detector.on_data(Time::from_millis(at), MSS, true, MSS);
        assert_eq!(detector.segments(), 2);
        let at = feed(&mut detector, at + 1, 100);
        assert_eq!(detector.segments(), 8);
        detector.reset(Time::from_millis(at));
        let at = feed(&mut detector, at, 511);
        assert_eq!(detector.segments(), 2);
        feed(&mut detector, at, 100);
        assert_eq!(detector.segments(), 8);
    }

    #[test]
    fn seven_in_a_tenth_of_a_second_are_none() {
        let mut detector = detector();
        for number in 0..2000 {
            detector.on_data(Time::from_millis(number * 15), MSS, false, MSS);
            assert_eq!(detector.segments(), 2, "{number}");
        }
    }
}
