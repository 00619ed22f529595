//! Encoding of all packets of a world: connections get initial sequence numbers, packets their IPv4 identification.
//!
//! Values that a host would derive from its secret (RFC 6528, RFC 7323 section 5.4, Linux `secure_tcp_ts_off`) come from a seeded
//! source here, so that the same world gives the same bytes.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use bytes::Bytes;
use chance::Source;
use etherparse::IpEcn;
use tcp::{Flags, Segment};

use crate::direction::{ConnectionDirection, Numbering};
use crate::ip::{Addresses, Ip, codepoint};
use crate::packet::{Packet, TransportPacket, UdpPacket};

/// Linux's default (`IPDEFTTL`). Links here are not routers: it arrives unchanged.
const HOP_LIMIT: u8 = 64;

/// Direction from one socket to another.
type FlowKey = (SocketAddr, SocketAddr);

/// Turns a world's packets into bytes.
#[derive(Debug)]
pub struct Encoder {
    source: Source,
    /// Numbering of each end of each connection.
    numberings: BTreeMap<FlowKey, Numbering>,
    /// The identification of a flow's next packet (`inet_id`).
    identifications: BTreeMap<FlowKey, u16>,
    /// The identification of each packet, by its index in the order of sending.
    sent: BTreeMap<u64, u16>,
}

/// Identity of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sighting {
    /// Its number among all packets of the world. One packet may be seen twice, at its departure and its arrival.
    pub serial: u64,
    /// Its sender.
    pub from: SocketAddr,
    /// Its receiver.
    pub to: SocketAddr,
}

impl Encoder {
    /// An encoder that has seen nothing.
    pub fn new(source: Source) -> Encoder {
        Encoder {
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
    pub fn tcp(&mut self, seen: Sighting, segment: &Segment) -> Vec<u8> {
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
    pub fn udp(&mut self, seen: Sighting, payload: &Bytes) -> Vec<u8> {
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

    fn packet(&mut self, seen: Sighting, ecn: IpEcn, body: TransportPacket) -> Vec<u8> {
        let addresses = Addresses::new(seen.from.ip(), seen.to.ip())
            .expect("a packet's two addresses are of one family");
        let identification = match addresses {
            Addresses::V4 { .. } => self.identification(seen),
            Addresses::V6 { .. } => 0,
        };
        let ip = Ip { addresses, identification, hop_limit: HOP_LIMIT, ecn };
        Packet { ip, body }.encode().expect("a world's packets fit into their headers")
    }

    fn identification(&mut self, seen: Sighting) -> u16 {
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
