//! The segments that a connection makes: SYNs, data, acknowledgements.
//!
//! Source: Linux 6.18 `tcp_syn_options`, `__tcp_transmit_skb`, `tcp_established_options`.

use units::Time;

use crate::connection::Connection;
use crate::ecn::Ecn;
use crate::handshake::HandshakeRole;
use crate::retransmits::RetransmitCause;
use crate::segment::{Flags, Payload, SackBlocks, Segment, SynOptions, Timestamps, sack_bytes};
use crate::sender::OutgoingSegment;
use crate::timers::TcpTimer;

impl Connection {
    pub(super) fn send_syn(&mut self, now: Time) -> Segment {
        let (again_at, again) = self.handshake.sent(now);
        self.timers.arm_sender(now, TcpTimer::Retransmit, again_at);
        if again {
            self.handshake_retransmissions += 1;
            let first = self.handshake.first_sent.unwrap_or(now);
            self.sender.retransmits.add(now, first, 0, RetransmitCause::Handshake);
        }
        let options = SynOptions {
            mss: self.config.advertised_mss(),
            window_scale: self.receiver.window.scale(),
            sack: match self.handshake.role {
                HandshakeRole::Client => self.config.sack,
                HandshakeRole::Server => self.sender.sack,
            },
        };
        let flags = match self.handshake.role {
            HandshakeRole::Client => Flags::SYN.with(self.config.ecn.request(again)),
            HandshakeRole::Server if self.sender.ecn.agreed => {
                Flags::SYN.with(Flags::ACK).with(Flags::ECE)
            }
            HandshakeRole::Server => Flags::SYN.with(Flags::ACK),
        };
        Segment {
            seq: 0,
            ack: u64::from(self.handshake.role == HandshakeRole::Server),
            flags,
            window_bytes: self.receiver.window.advertised(),
            payload: Payload::new(),
            sack: SackBlocks::NONE,
            timestamps: self.stamp(now),
            syn: Some(options),
            ecn: Ecn::NotEct,
        }
    }

    pub(super) fn send(&mut self, now: Time) -> Option<Segment> {
        if self.receiver.acks.is_due() && self.receiver.queue.has_sack() {
            // Data would leave no room for the blocks.
            return Some(self.acknowledge(now));
        }
        if let Some(out) = self.sender.poll(now, &mut self.timers) {
            return Some(self.send_data(now, out));
        }
        self.receiver.acks.is_due().then(|| self.acknowledge(now))
    }

    fn send_data(&mut self, now: Time, out: OutgoingSegment) -> Segment {
        let mut flags = Flags::ACK;
        if out.fin {
            flags = flags.with(Flags::FIN);
        }
        if out.push && !out.payload.is_empty() {
            flags = flags.with(Flags::PSH);
        }
        let (ecn, reduced) = self.sender.ecn.mark(out.is_new && !out.payload.is_empty());
        let sack = self.sack_beside(out.payload.len());
        let mut segment = self.segment(now, out.seq, flags.with(reduced), out.payload, sack);
        segment.ecn = ecn;
        self.receiver.acks.on_ack_sent(&mut self.timers);
        if !segment.payload.is_empty() {
            self.receiver.acks.on_data_sent(now);
        }
        segment
    }

    /// Blocks that fit into a segment with `payload` bytes.
    fn sack_beside(&mut self, payload: usize) -> SackBlocks {
        let room = self.sender.mss.saturating_sub(payload as u32);
        if room < sack_bytes(1) || !self.receiver.queue.has_sack() {
            return SackBlocks::NONE;
        }
        let blocks = (room as usize - 4) / 8;
        self.receiver.queue.take_sack(blocks.min(self.most_blocks()))
    }

    fn most_blocks(&self) -> usize {
        if self.timestamps { 3 } else { 4 }
    }

    fn acknowledge(&mut self, now: Time) -> Segment {
        let sack = self.receiver.queue.take_sack(self.most_blocks());
        let segment = self.segment(now, self.sender.nxt, Flags::ACK, Payload::new(), sack);
        self.receiver.acks.on_ack_sent(&mut self.timers);
        segment
    }

    pub(super) fn segment(
        &mut self,
        now: Time,
        seq: u64,
        flags: Flags,
        payload: Payload,
        sack: SackBlocks,
    ) -> Segment {
        Segment {
            seq,
            ack: self.receiver.queue.next(),
            flags: flags.with(self.receiver.ecn.echo()),
            window_bytes: self.receiver.advertise(),
            payload,
            sack,
            timestamps: self.stamp(now),
            syn: None,
            ecn: Ecn::NotEct,
        }
    }

    fn stamp(&self, now: Time) -> Option<Timestamps> {
        self.timestamps.then(|| Timestamps { value: now, echo: self.receiver.echo() })
    }
}
