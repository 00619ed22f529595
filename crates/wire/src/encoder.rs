//! Encoding of all packets of a world: connections get initial sequence numbers, packets their IPv4 identification.
//!
//! Values that a host would derive from its secret (RFC 6528, RFC 7323 section 5.4, Linux `secure_tcp_ts_off`) come from a seeded
//! source here, so that the same world gives the same bytes.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::ops::Range;

use bytes::Bytes;
use chance::RandomSource;
use etherparse::IpEcn;
use tcp::{Flags, SackBlocks, Segment, SynOptions, Timestamps};
use units::Time;

use crate::ip::{Addresses, Ip, codepoint};
use crate::options::TcpOptions;
use crate::packet::{DecodedPacket, TcpPacket, TransportPacket, UdpPacket};

/// Linux's default (`IPDEFTTL`). Links here are not routers: it arrives unchanged.
const HOP_LIMIT: u8 = 64;

/// Direction from one socket to another.
type FlowKey = (SocketAddr, SocketAddr);

/// Turns a world's packets into bytes.
#[derive(Debug)]
pub struct PacketEncoder {
    source: RandomSource,
    /// Numbering of each end of each connection.
    numberings: BTreeMap<FlowKey, Numbering>,
    /// The identification of a flow's next packet (`inet_id`).
    identifications: BTreeMap<FlowKey, u16>,
    /// The identification of each packet, by its index in the order of sending.
    sent: BTreeMap<u64, u16>,
}

/// Identity of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketIdentity {
    /// Its number among all packets of the world. One packet may be seen twice, at its departure and its arrival.
    pub serial: u64,
    /// Its sender.
    pub from: SocketAddr,
    /// Its receiver.
    pub to: SocketAddr,
}

impl PacketEncoder {
    /// An encoder that has seen nothing.
    pub fn new(source: RandomSource) -> PacketEncoder {
        PacketEncoder {
            source,
            numberings: BTreeMap::new(),
            identifications: BTreeMap::new(),
            sent: BTreeMap::new(),
        }
    }

    /// The bytes of a TCP segment.
    ///
    /// # Panics
    /// If the addresses are of two families, or the segment is longer than IP allows: no world sends such segments.
    pub fn tcp(&mut self, seen: PacketIdentity, segment: &Segment) -> Vec<u8> {
        if segment.is(Flags::SYN) {
            self.begin((seen.from, seen.to), segment);
        }
        let of = |flow| self.numberings.get(&flow).copied().unwrap_or_default();
        let direction = ConnectionDirection {
            sender: of((seen.from, seen.to)),
            receiver: of((seen.to, seen.from)),
        };
        let packet = direction.write(seen.from.port(), seen.to.port(), segment);
        self.packet(seen, codepoint(segment.ecn), TransportPacket::Tcp(packet))
    }

    /// The bytes of a UDP datagram.
    ///
    /// # Panics
    /// If the addresses are of two families, or the datagram is longer than IP allows: no world sends such datagrams.
    pub fn udp(&mut self, seen: PacketIdentity, payload: &Bytes) -> Vec<u8> {
        let datagram = UdpPacket {
            source_port: seen.from.port(),
            destination_port: seen.to.port(),
            payload: payload.clone(),
        };
        self.packet(seen, IpEcn::NotEct, TransportPacket::Udp(datagram))
    }

    /// Handles a SYN: chooses its sender's numbering.
    fn begin(&mut self, flow: FlowKey, syn: &Segment) {
        let drawn = self.draw("numbers", flow);
        self.numberings.insert(
            flow,
            Numbering {
                isn: drawn as u32,
                timestamp_offset: (drawn >> 32) as u32,
                window_scale: syn.syn.map(|options| options.window_scale),
            },
        );
    }

    fn packet(&mut self, seen: PacketIdentity, ecn: IpEcn, body: TransportPacket) -> Vec<u8> {
        let addresses = Addresses::new(seen.from.ip(), seen.to.ip())
            .expect("a packet's two addresses are of one family");
        let identification = match addresses {
            Addresses::V4 { .. } => self.identification(seen),
            Addresses::V6 { .. } => 0,
        };
        let ip = Ip { addresses, identification, hop_limit: HOP_LIMIT, ecn };
        DecodedPacket { ip, body }.encode().expect("a world's packets fit into their headers")
    }

    fn identification(&mut self, seen: PacketIdentity) -> u16 {
        if let Some(known) = self.sent.get(&seen.serial) {
            return *known;
        }
        let flow = (seen.from, seen.to);
        let first = self.draw("identification", flow) as u16;
        let next = self.identifications.entry(flow).or_insert(first);
        let identification = *next;
        *next = next.wrapping_add(1);
        self.sent.insert(seen.serial, identification);
        identification
    }

    fn draw(&self, what: &str, (from, to): FlowKey) -> u64 {
        self.source.stream(&format!("wire/{what}/{from}/{to}")).next_u64()
    }
}

// Conversion between a connection's own numbers and those on the wire.
//
// A [`Segment`] counts bytes from 0 in 64 bits, gives its window in bytes and its timestamps as instants. On the wire a sequence
// number has 32 bits and starts anywhere (RFC 9293 section 3.4.1), a window has 16 and is scaled (RFC 7323 section 2),
// and a timestamp counts ticks from anywhere (RFC 7323 section 5.4). Writing requires the origins of both ends; reading
// back also requires the packet's approximate place in the connection.

/// A tick of timestamps: 1 ms, Linux's (`TCP_TS_HZ`).
const TICK_NANOS: u64 = 1_000_000;

/// MSS of a SYN without the option (RFC 9293 section 3.7.1).
const DEFAULT_MSS: u32 = 536;

/// Numbering of the segments that one end of a connection sends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Numbering {
    /// The SYN's sequence number.
    pub isn: u32,
    /// Reading of its timestamp clock at the world's beginning, in ticks.
    pub timestamp_offset: u32,
    /// The window scale offered in its SYN, if any.
    pub window_scale: Option<u8>,
}

/// One direction of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionDirection {
    /// The end that sends.
    pub sender: Numbering,
    /// The end that receives.
    pub receiver: Numbering,
}

/// Approximate place of a packet in a connection: reading takes the nearest values that the wire's bits permit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NumberReference {
    /// A sequence number of the sender.
    pub seq: u64,
    /// A sequence number of the receiver.
    pub ack: u64,
    /// An instant.
    pub now: Time,
}

impl ConnectionDirection {
    /// `segment` as a packet on the wire, between these ports.
    pub fn write(&self, source_port: u16, destination_port: u16, segment: &Segment) -> TcpPacket {
        let acknowledges = segment.is(Flags::ACK);
        TcpPacket {
            source_port,
            destination_port,
            seq: number(self.sender.isn, segment.seq),
            ack: if acknowledges { number(self.receiver.isn, segment.ack) } else { 0 },
            flags: segment.flags,
            window: self.shrink(segment),
            options: self.options(segment),
            payload: segment.payload.clone(),
        }
    }

    /// The segment that `packet` represents, unmarked: marks are in the IP header. Timestamps come back in whole ticks, and a window that
    /// did not fit as the truncated one.
    pub fn read(&self, packet: &TcpPacket, near: &NumberReference) -> Segment {
        let acknowledges = packet.flags.contains(Flags::ACK);
        let ack = if acknowledges { count(self.receiver.isn, packet.ack, near.ack) } else { 0 };
        let shift = if packet.flags.contains(Flags::SYN) { 0 } else { self.shift() };
        let mut sack = SackBlocks::NONE;
        for block in &packet.options.sack {
            let start = count(self.receiver.isn, block.start, near.ack);
            sack.push(start..count(self.receiver.isn, block.end, near.ack));
        }
        Segment {
            seq: count(self.sender.isn, packet.seq, near.seq),
            ack,
            flags: packet.flags,
            window_bytes: u64::from(packet.window) << shift,
            payload: packet.payload.clone(),
            sack,
            timestamps: packet.options.timestamps.map(|(value, echo)| Timestamps {
                value: instant(self.sender.timestamp_offset, value, near.now),
                echo: match acknowledges {
                    true => instant(self.receiver.timestamp_offset, echo, near.now),
                    false => Time::ZERO,
                },
            }),
            syn: packet.flags.contains(Flags::SYN).then(|| syn_options(&packet.options)),
            ecn: tcp::Ecn::NotEct,
        }
    }

    /// Window scale shift of the sender: used if both ends offered it (RFC 7323 section 2.2).
    fn shift(&self) -> u32 {
        let offered = self.receiver.window_scale.and(self.sender.window_scale);
        // RFC 7323 section 2.3: no more than 14.
        u32::from(offered.unwrap_or(0).min(14))
    }

    fn shrink(&self, segment: &Segment) -> u16 {
        // RFC 7323 section 2.2: the window of a SYN is never scaled.
        let shift = if segment.is(Flags::SYN) { 0 } else { self.shift() };
        u16::try_from(segment.window_bytes >> shift).unwrap_or(u16::MAX)
    }

    fn options(&self, segment: &Segment) -> TcpOptions {
        let acknowledges = segment.is(Flags::ACK);
        let block = |block: Range<u64>| {
            number(self.receiver.isn, block.start)..number(self.receiver.isn, block.end)
        };
        TcpOptions {
            maximum_segment_size: segment.syn.map(|syn| u16::try_from(syn.mss).unwrap_or(u16::MAX)),
            window_scale: segment.syn.map(|syn| syn.window_scale),
            sack_permitted: segment.syn.is_some_and(|syn| syn.sack),
            timestamps: segment.timestamps.map(|stamps| {
                let value = ticks(self.sender.timestamp_offset, stamps.value);
                // RFC 7323 section 3.2: without an acknowledgement there is nothing to echo.
                let echo = if acknowledges {
                    ticks(self.receiver.timestamp_offset, stamps.echo)
                } else {
                    0
                };
                (value, echo)
            }),
            sack: segment.sack.iter().map(block).collect(),
        }
    }
}

fn syn_options(options: &TcpOptions) -> SynOptions {
    SynOptions {
        mss: options.maximum_segment_size.map_or(DEFAULT_MSS, u32::from),
        window_scale: options.window_scale.unwrap_or(0),
        sack: options.sack_permitted,
    }
}

fn number(isn: u32, count: u64) -> u32 {
    isn.wrapping_add(count as u32)
}

fn count(isn: u32, number: u32, near: u64) -> u64 {
    nearest(number.wrapping_sub(isn), near)
}

fn ticks(offset: u32, at: Time) -> u32 {
    offset.wrapping_add((at.as_nanos() / TICK_NANOS) as u32)
}

fn instant(offset: u32, value: u32, near: Time) -> Time {
    let ticks = nearest(value.wrapping_sub(offset), near.as_nanos() / TICK_NANOS);
    Time::from_nanos(ticks.saturating_mul(TICK_NANOS))
}

/// The number nearest to `near` whose low 32 bits are `low`.
fn nearest(low: u32, near: u64) -> u64 {
    let ahead = low.wrapping_sub(near as u32) as i32;
    // Before the beginning there is nothing: in that case it is the one ahead.
    near.checked_add_signed(ahead.into()).unwrap_or(u64::from(low))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_wrap_and_come_back() {
        for near in [0, 5, 1 << 31, (1 << 32) - 1, 1 << 32, 77 << 32] {
            for distance in [-3_i64, -1, 0, 1, 1_000_000, i64::from(i32::MAX)] {
                let Some(at) = u64::checked_add_signed(near, distance) else { continue };
                assert_eq!(count(4_000_000_000, number(4_000_000_000, at), near), at);
            }
        }
    }

    #[test]
    fn windows_are_scaled_if_both_ends_offered() {
        let scaled = Numbering { window_scale: Some(7), ..Numbering::default() };
        let plain = Numbering::default();
        let mut segment = Segment {
            seq: 1,
            ack: 1,
            flags: Flags::ACK,
            window_bytes: 128_000,
            payload: tcp::Payload::new(),
            sack: SackBlocks::NONE,
            timestamps: None,
            syn: None,
            ecn: tcp::Ecn::NotEct,
        };
        let both = ConnectionDirection { sender: scaled, receiver: scaled };
        assert_eq!(both.write(1, 2, &segment).window, 1000);
        let one = ConnectionDirection { sender: scaled, receiver: plain };
        assert_eq!(one.write(1, 2, &segment).window, 65_535);
        segment.flags = Flags::SYN;
        assert_eq!(both.write(1, 2, &segment).window, 65_535);
    }
}
