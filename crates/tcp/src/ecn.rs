//! Explicit congestion notification (RFC 3168): negotiation, marking, echo.
//!
//! Source: Linux 6.18 `include/net/tcp_ecn.h`, `tcp_ecn_send`, `tcp_data_ecn_check`, `tcp_ecn_create_request`, with
//! `tcp_ecn` 0, 1 or 2. Left out: accurate ECN (`tcp_ecn` 3 and more), ECT(1), controllers that want marks on
//! every segment (DCTCP).

use crate::config::named::names;
use crate::segment::{Flags, Segment};

/// The ECN field of the IP header (RFC 3168 section 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Ecn {
    /// Not ECN-capable: a congested router drops the packet.
    #[default]
    NotEct,
    /// ECT(0): a congested router may mark the packet.
    Ect0,
    /// A router marked it.
    Ce,
}

/// Use of ECN by a connection (`tcp_ecn`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum EcnPolicy {
    /// Never (0).
    Off,
    /// If the peer requests it (2).
    #[default]
    Passive,
    /// Requests it, too (1).
    Active,
}

names!(EcnPolicy { Off => "off", Passive => "passive", Active => "active" });

impl EcnPolicy {
    /// The control bits of a SYN. A repeated SYN no longer requests ECN: something on the path may drop those
    /// that do (RFC 3168 section 6.1.1.1; `tcp_ecn_fallback`).
    pub(crate) fn request(self, again: bool) -> Flags {
        if self == EcnPolicy::Active && !again { Flags::ECE.with(Flags::CWR) } else { Flags::NONE }
    }

    /// True if a listener grants the request in `syn` (RFC 3168 section 6.1.1). A SYN must not be marked itself.
    pub(crate) fn grants(self, syn: &Segment) -> bool {
        let asks = syn.is(Flags::ECE.with(Flags::CWR));
        self != EcnPolicy::Off && asks && syn.ecn == Ecn::NotEct
    }

    /// True if `answer`, a SYN-ACK, grants the request.
    pub(crate) fn is_granted(self, answer: &Segment) -> bool {
        self == EcnPolicy::Active && answer.is(Flags::ECE) && !answer.is(Flags::CWR)
    }
}

/// Sender side of ECN.
#[derive(Debug, Default)]
pub(crate) struct EcnSender {
    /// Both ends agreed.
    pub(crate) agreed: bool,
    /// The next new data informs the peer that the window was reduced (`TCP_ECN_QUEUE_CWR`).
    cwr_due: bool,
}

impl EcnSender {
    /// True if an acknowledgement reports congestion (`tcp_ecn_rcv_ecn_echo`).
    pub(crate) fn is_echoed_by(&self, segment: &Segment) -> bool {
        self.agreed && segment.is(Flags::ECE)
    }

    /// The window was reduced.
    pub(crate) fn on_reduction(&mut self) {
        self.cwr_due = self.agreed;
    }

    /// The reduction was undone.
    pub(crate) fn on_undo(&mut self) {
        self.cwr_due = false;
    }

    /// The marks of a segment: only new data is ECN-capable, for a lost retransmission must show as a loss
    /// (RFC 3168 section 6.1.5).
    pub(crate) fn mark(&mut self, is_new_data: bool) -> (Ecn, Flags) {
        if !self.agreed || !is_new_data {
            return (Ecn::NotEct, Flags::NONE);
        }
        let flags = if std::mem::take(&mut self.cwr_due) { Flags::CWR } else { Flags::NONE };
        (Ecn::Ect0, flags)
    }
}

/// Receiver side of ECN.
#[derive(Debug, Default)]
pub(crate) struct EcnReceiver {
    /// Both ends agreed.
    pub(crate) agreed: bool,
    /// Data with an ECN field has arrived (`TCP_ECN_SEEN`).
    seen: bool,
    /// Every segment reports congestion until the peer has reacted (`TCP_ECN_DEMAND_CWR`).
    echoing: bool,
}

impl EcnReceiver {
    /// The echo on an outgoing segment.
    pub(crate) fn echo(&self) -> Flags {
        if self.echoing { Flags::ECE } else { Flags::NONE }
    }

    /// Handles the peer's reduction of its window; returns true if an acknowledgement should leave at once, for that window may be
    /// tiny (`tcp_ecn_accept_cwr`).
    pub(crate) fn on_segment(&mut self, segment: &Segment) -> bool {
        let reduced = self.agreed && segment.is(Flags::CWR);
        self.echoing &= !reduced;
        reduced && segment.seq < segment.end()
    }

    /// Handles new data with this mark; returns true if acknowledgements must not be delayed for now
    /// (`tcp_data_ecn_check`).
    pub(crate) fn on_data(&mut self, ecn: Ecn) -> bool {
        if !self.agreed {
            return false;
        }
        match ecn {
            // After marked data an unmarked segment is probably a retransmission.
            Ecn::NotEct => self.seen,
            Ecn::Ect0 => {
                self.seen = true;
                false
            }
            Ecn::Ce => {
                self.seen = true;
                !std::mem::replace(&mut self.echoing, true)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_echoed_until_the_peer_has_reacted() {
        let mut receiver = EcnReceiver { agreed: true, ..EcnReceiver::default() };
        assert!(!receiver.on_data(Ecn::Ect0));
        assert!(receiver.on_data(Ecn::Ce), "the first mark hurries");
        assert!(!receiver.on_data(Ecn::Ce), "the second changes nothing");
        assert_eq!(receiver.echo(), Flags::ECE);
        assert!(receiver.on_data(Ecn::NotEct), "a retransmission hurries");
    }

    #[test]
    fn a_reduction_is_told_once_and_with_new_data() {
        let mut sender = EcnSender { agreed: true, ..EcnSender::default() };
        sender.on_reduction();
        assert_eq!(sender.mark(false), (Ecn::NotEct, Flags::NONE));
        assert_eq!(sender.mark(true), (Ecn::Ect0, Flags::CWR));
        assert_eq!(sender.mark(true), (Ecn::Ect0, Flags::NONE));
    }

    #[test]
    fn without_agreement_nothing_is_marked() {
        let mut sender = EcnSender::default();
        sender.on_reduction();
        assert_eq!(sender.mark(true), (Ecn::NotEct, Flags::NONE));
        let mut receiver = EcnReceiver::default();
        assert!(!receiver.on_data(Ecn::Ce));
        assert_eq!(receiver.echo(), Flags::NONE);
    }

    #[test]
    fn only_a_first_syn_asks_and_only_the_willing_ask() {
        let both = Flags::ECE.with(Flags::CWR);
        assert_eq!(EcnPolicy::Active.request(false), both);
        assert_eq!(EcnPolicy::Active.request(true), Flags::NONE);
        assert_eq!(EcnPolicy::Passive.request(false), Flags::NONE);
    }
}
