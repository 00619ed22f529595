//! Retransmissions, their causes, and whether they were spurious.
//!
//! A retransmission was spurious if the data that it repeats had arrived, or was about to. The sender learns that, if at all, from
//!
//! - a duplicate report (D-SACK, RFC 2883): the peer had the data already;
//! - an acknowledgement that echoes an earlier time than the retransmission's (Eifel, RFC 3522): something sent before it
//!   had arrived;
//! - F-RTO (RFC 5682): after a timeout, originals go on being acknowledged.
//!
//! It was needed, as far as can be known, if the acknowledgement echoes its own time or a later one; a duplicate
//! reported afterwards still overrules that.

use std::fmt;
use std::ops::Range;

use serde::{Deserialize, Serialize};
use units::Time;

/// Cause of a retransmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RetransmitCause {
    /// Loss was inferred from later arrivals (RFC 8985).
    FastRetransmit,
    /// The retransmission timer expired, or data that it marked lost followed.
    Timeout,
    /// The last segment, to provoke an acknowledgement (RFC 8985 section 7).
    TailLossProbe,
    /// A SYN or SYN-ACK went unanswered.
    Handshake,
    /// Seen on the wire: the kernel does not report the cause.
    Unknown,
}

impl RetransmitCause {
    /// Its name in traces.
    pub fn name(self) -> &'static str {
        match self {
            RetransmitCause::FastRetransmit => "fast-retransmit",
            RetransmitCause::Timeout => "timeout",
            RetransmitCause::TailLossProbe => "tail-loss-probe",
            RetransmitCause::Handshake => "handshake",
            RetransmitCause::Unknown => "unknown",
        }
    }
}

impl fmt::Display for RetransmitCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            RetransmitCause::FastRetransmit => "loss inferred from later arrivals",
            RetransmitCause::Timeout => "timeout",
            RetransmitCause::TailLossProbe => "tail loss probe",
            RetransmitCause::Handshake => "handshake unanswered",
            RetransmitCause::Unknown => "cause unknown",
        })
    }
}

/// One retransmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retransmit {
    /// Time of the retransmission.
    pub at: Time,
    /// Time of the segment's first transmission; that of the retransmission where it is unknown.
    pub first_at: Time,
    /// Its first sequence number.
    pub seq: u64,
    /// Its cause.
    pub cause: RetransmitCause,
    /// True if it proved spurious; `None` while there is no evidence either way.
    pub spurious: Option<bool>,
}

/// All retransmissions of a connection, in chronological order.
#[derive(Debug, Default)]
pub(crate) struct Retransmits(Vec<Retransmit>);

impl Retransmits {
    pub(crate) fn as_slice(&self) -> &[Retransmit] {
        &self.0
    }

    pub(crate) fn add(&mut self, at: Time, first_at: Time, seq: u64, cause: RetransmitCause) {
        self.0.push(Retransmit { at, first_at, seq, cause, spurious: None });
    }

    /// The peer reports `duplicate`: one copy of each segment in it was spurious, the latest not known to be.
    pub(crate) fn judge_duplicate(&mut self, duplicate: &Range<u64>) {
        let mut judged: Vec<u64> = Vec::new();
        let within = self.0.iter_mut().rev().filter(|sent| duplicate.contains(&sent.seq));
        for sent in within.filter(|sent| sent.spurious != Some(true)) {
            if !judged.contains(&sent.seq) {
                judged.push(sent.seq);
                sent.spurious = Some(true);
            }
        }
    }

    /// Retransmissions in `range` are acknowledged, by a segment sent at `echo`.
    pub(crate) fn judge_acknowledged(&mut self, range: &Range<u64>, echo: Option<Time>) {
        let Some(echo) = echo else { return };
        for sent in self.0.iter_mut().rev().filter(|sent| range.contains(&sent.seq)) {
            sent.spurious.get_or_insert(echo < sent.at);
        }
    }

    /// The timeout that led to the retransmissions since `start` was spurious.
    pub(crate) fn judge_timeout(&mut self, start: Option<Time>) {
        let Some(start) = start else { return };
        let episode = self.0.iter_mut().rev().take_while(|sent| sent.at >= start);
        for sent in episode.filter(|sent| sent.cause == RetransmitCause::Timeout) {
            sent.spurious.get_or_insert(true);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Time {
        Time::from_millis(millis)
    }

    fn verdicts(retransmits: &Retransmits) -> Vec<Option<bool>> {
        retransmits.as_slice().iter().map(|sent| sent.spurious).collect()
    }

    #[test]
    fn an_echo_tells_which_transmission_arrived() {
        let mut sent = Retransmits::default();
        sent.add(at(100), at(100), 1, RetransmitCause::FastRetransmit);
        sent.add(at(200), at(200), 1, RetransmitCause::Timeout);
        sent.add(at(200), at(200), 1449, RetransmitCause::Timeout);
        sent.judge_acknowledged(&(1..1449), Some(at(150)));
        assert_eq!(verdicts(&sent), [Some(false), Some(true), None]);
        sent.judge_acknowledged(&(1449..2897), None);
        assert_eq!(verdicts(&sent)[2], None);
    }

    #[test]
    fn a_reported_duplicate_overrules_an_echo_once() {
        let mut sent = Retransmits::default();
        sent.add(at(100), at(100), 1, RetransmitCause::FastRetransmit);
        sent.add(at(200), at(200), 1, RetransmitCause::FastRetransmit);
        sent.judge_acknowledged(&(1..1449), Some(at(200)));
        sent.judge_duplicate(&(1..1449));
        assert_eq!(verdicts(&sent), [Some(false), Some(true)]);
        sent.judge_duplicate(&(1..1449));
        assert_eq!(verdicts(&sent), [Some(true), Some(true)]);
    }

    #[test]
    fn a_mistaken_timeout_made_its_retransmissions_needless() {
        let mut sent = Retransmits::default();
        sent.add(at(100), at(100), 1, RetransmitCause::Timeout);
        sent.add(at(300), at(300), 2897, RetransmitCause::TailLossProbe);
        sent.add(at(500), at(500), 2897, RetransmitCause::Timeout);
        sent.judge_timeout(Some(at(300)));
        assert_eq!(verdicts(&sent), [None, None, Some(true)]);
    }
}
