//! The three-way handshake: SYN and SYN-ACK, their retransmission, and the options agreed on.
//!
//! Source: Linux 6.18 `tcp_retransmit_timer` (SYN-SENT, linear timeouts first), `reqsk_timer_handler` (SYN-ACK),
//! `tcp_init_transfer`. Left out: simultaneous open, SYN cookies, Fast Open.

use std::time::Duration;

use units::Time;

use crate::config::{Clock, Config, SynLossWindow};
use crate::segment::{Segment, SynOptions};

/// Role of this end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HandshakeRole {
    Client,
    Server,
}

/// The progress of a handshake.
#[derive(Debug)]
pub(crate) struct HandshakeTimes {
    pub(crate) role: HandshakeRole,
    /// A SYN or SYN-ACK is to be sent.
    pub(crate) due: bool,
    /// Time of the first SYN or SYN-ACK.
    pub(crate) first_sent: Option<Time>,
    last_sent: Time,
    transmissions: u32,
    /// SYNs that the timer asked for; the others answer the peer's duplicate SYNs.
    timeouts: u32,
    rto: Duration,
    /// Options in the peer's SYN.
    pub(crate) peer: Option<SynOptions>,
    /// The peer uses timestamps.
    pub(crate) peer_timestamps: bool,
}

impl HandshakeTimes {
    pub(crate) fn new(role: HandshakeRole, config: &Config) -> HandshakeTimes {
        HandshakeTimes {
            role,
            due: true,
            first_sent: None,
            last_sent: Time::ZERO,
            transmissions: 0,
            timeouts: 0,
            rto: config.initial_rto,
            peer: None,
            peer_timestamps: false,
        }
    }

    /// Processes the options of the peer's SYN.
    pub(crate) fn take_syn_options(&mut self, syn: &Segment) {
        self.peer = syn.syn;
        self.peer_timestamps = syn.timestamps.is_some();
    }

    /// Records a SYN that leaves; returns the time of its retransmission, and whether it has been sent before.
    pub(crate) fn sent(&mut self, now: Time) -> (Time, bool) {
        self.due = false;
        let again = self.transmissions > 0;
        self.first_sent.get_or_insert(now);
        self.last_sent = now;
        self.transmissions += 1;
        (now + self.rto, again)
    }

    /// The timer expired; returns true if the peer is given up.
    pub(crate) fn on_timeout(&mut self, config: &Config) -> bool {
        let (limit, linear) = match self.role {
            HandshakeRole::Client => {
                (config.syn_retries + config.syn_linear_timeouts, config.syn_linear_timeouts)
            }
            HandshakeRole::Server => (config.syn_ack_retries, 0),
        };
        if self.transmissions > limit {
            return true;
        }
        if self.transmissions > linear {
            self.rto = (self.rto * 2).min(config.max_rto);
        }
        self.timeouts += 1;
        self.due = true;
        false
    }

    /// The round trip, if the reply identifies the transmission that it answers.
    pub(crate) fn rtt(&self, clock: Clock, now: Time, answer: &Segment) -> Option<Duration> {
        match answer.timestamps {
            _ if self.transmissions == 1 => Some(clock.span(self.last_sent, now)),
            Some(timestamps) => Some(clock.span(timestamps.echo, now)),
            None => None,
        }
    }

    /// True if the connection begins with a window of one segment: more than one transmission seems lost (RFC 5681
    /// section 3.1, relaxed by RFC 6298).
    pub(crate) fn is_cautious(&self, window: SynLossWindow, answer: &Segment) -> bool {
        let echo = answer.timestamps.map(|timestamps| timestamps.echo);
        let first_arrived = echo.is_some() && echo == self.first_sent;
        let seems_lost = self.transmissions > 2;
        match window {
            SynLossWindow::Keep => false,
            SynLossWindow::OneAfterTwo => seems_lost,
            // `undo_marker` is set by timeouts alone (`tcp_create_openreq_child`, `tcp_try_undo_spurious_syn`).
            SynLossWindow::OneUnlessNeedless => seems_lost && self.timeouts > 0 && !first_arrived,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn transmissions(role: HandshakeRole) -> Vec<u64> {
        let config = Config::default();
        let mut handshake = HandshakeTimes::new(role, &config);
        let mut now = Time::ZERO;
        let mut times = Vec::new();
        loop {
            times.push(now.as_nanos() / 1_000_000_000);
            now = handshake.sent(now).0;
            if handshake.on_timeout(&config) {
                times.push(now.as_nanos() / 1_000_000_000);
                return times;
            }
        }
    }

    #[test]
    fn a_syn_is_repeated_linearly_then_exponentially() {
        assert_eq!(
            transmissions(HandshakeRole::Client),
            [0, 1, 2, 3, 4, 5, 7, 11, 19, 35, 67, 131]
        );
    }

    #[test]
    fn a_syn_ack_is_repeated_five_times() {
        assert_eq!(transmissions(HandshakeRole::Server), [0, 1, 3, 7, 15, 31, 63]);
    }
}
