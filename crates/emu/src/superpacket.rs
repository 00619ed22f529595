//! Segmentation offload, undone and redone: superpackets of the kernel are cut into the packets that a wire would carry.
//!
//! A sender's stack passes up to 64 KB down as one "superpacket" and leaves segmenting and checksums to the device. The emulated link
//! must decide the fate of each packet, so a superpacket is cut on arrival, but only logically: its bytes stay in place, shared by its
//! packets, and headers are made when packets leave, for one of them or for a run of neighbours that leave together. Checksums stay partial:
//! the receiving stack trusts them, as with a real device with offload.
//!
//! Source: Linux 6.18 `net/ipv4/tcp_offload.c` (`tcp_gso_segment`), `net/ipv4/udp_offload.c` (`__udp_gso_segment`), `net/ipv4/af_inet.c`
//! (`inet_gso_segment`), `net/ipv6/ip6_offload.c`. Left out: tunnels, fixed IPv4 identification.

use std::net::SocketAddr;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use crate::headers::{
    CWR, ETHERNET, FIN, FrameLayout, IpVersion, PROTOCOL_TCP, PROTOCOL_UDP, PSH, TcpNumbers,
    TransportKind, fold, ones_sum, read_u16, read_u32, write_u16, write_u32,
};
use crate::wire::{
    GSO_ECN, GSO_NONE, GSO_TCPV4, GSO_TCPV6, GSO_UDP_L4, NEEDS_CHECKSUM, VnetHeader,
};

/// A frame as the kernel handed it over: one packet, or several with headers in common.
#[derive(Debug)]
pub(crate) struct Superpacket {
    header: VnetHeader,
    bytes: Bytes,
    layout: FrameLayout,
    /// Payload of each packet except the last.
    size: usize,
    /// Number of packets.
    count: u32,
}

/// Reason for not carrying a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unfit {
    /// Not a unicast IP packet: neighbour discovery, router solicitations, multicast.
    Noise,
    /// A packet that cannot be cut.
    Uncut,
}

impl Superpacket {
    /// Parses an arrived frame.
    pub(crate) fn new(header: VnetHeader, bytes: Bytes) -> Result<Superpacket, Unfit> {
        let layout = FrameLayout::of(&bytes).ok_or(Unfit::Noise)?;
        let kind = header.gso_type & !GSO_ECN;
        if kind == GSO_NONE || header.gso_size == 0 {
            let size = layout.payload_bytes();
            return Ok(Superpacket { header: header.whole(), bytes, layout, size, count: 1 });
        }
        let is_known = matches!(
            (kind, layout.version, layout.transport),
            (GSO_TCPV4, IpVersion::V4, TransportKind::Tcp)
                | (GSO_TCPV6, IpVersion::V6, TransportKind::Tcp)
                | (GSO_UDP_L4, _, TransportKind::Udp)
        );
        if !is_known {
            return Err(Unfit::Uncut);
        }
        let size = usize::from(header.gso_size);
        let count = layout.payload_bytes().div_ceil(size).max(1) as u32;
        Ok(Superpacket { header, bytes, layout, size, count })
    }

    /// Its packets.
    pub(crate) fn cut(self) -> impl Iterator<Item = FrameSegment> {
        let count = self.count;
        let whole = Arc::new(self);
        (0..count).map(move |index| FrameSegment { whole: Arc::clone(&whole), index })
    }

    pub(crate) fn layout(&self) -> &FrameLayout {
        &self.layout
    }

    /// The frame as it arrived.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Payload range of a run of neighbours.
    fn payload(&self, run: &Range<u32>) -> Range<usize> {
        let at = |index: u32| self.layout.end.min(self.layout.payload + index as usize * self.size);
        let end = if run.end == self.count { self.layout.end } else { at(run.end) };
        at(run.start)..end
    }

    /// Writes the headers of one packet or a run of neighbours to `headers`; returns the `virtio_net_hdr` before and the payload after them.
    fn head(
        &self,
        run: Range<u32>,
        marked: bool,
        headers: &mut Vec<u8>,
    ) -> (VnetHeader, Range<usize>) {
        let payload = self.payload(&run);
        headers.clear();
        headers.extend_from_slice(&self.bytes[..self.layout.payload]);
        let mut vnet = self.header;
        if self.count > 1 {
            self.renumber(headers, &run, payload.len());
            vnet.flags |= NEEDS_CHECKSUM;
            vnet = match run.len() {
                1 => vnet.whole(),
                _ if run.start > 0 => VnetHeader { gso_type: vnet.gso_type & !GSO_ECN, ..vnet },
                _ => vnet,
            };
        }
        if marked {
            self.layout.mark(headers);
        }
        if self.layout.version == IpVersion::V4 && (marked || self.count > 1) {
            write_u16(headers, ETHERNET + 10, 0);
            let sum = !ones_sum(&headers[ETHERNET..self.layout.header.min(headers.len())]);
            write_u16(headers, ETHERNET + 10, sum);
        }
        (vnet, payload)
    }

    /// Gives copied headers the lengths and numbers of a run.
    fn renumber(&self, headers: &mut [u8], run: &Range<u32>, payload_bytes: usize) {
        let FrameLayout { version, transport, header, .. } = self.layout;
        let segment_bytes = headers.len() - header + payload_bytes;
        let wire_bytes = headers.len() - ETHERNET + payload_bytes;
        match version {
            IpVersion::V4 => {
                write_u16(headers, ETHERNET + 2, wire_bytes as u16);
                let id = read_u16(headers, ETHERNET + 4).wrapping_add(run.start as u16);
                write_u16(headers, ETHERNET + 4, id);
            }
            IpVersion::V6 => write_u16(headers, ETHERNET + 4, (wire_bytes - 40) as u16),
        }
        match transport {
            TransportKind::Tcp => {
                let seq = read_u32(headers, header + 4).wrapping_add(run.start * self.size as u32);
                write_u32(headers, header + 4, seq);
                if run.end < self.count {
                    headers[header + 13] &= !(FIN | PSH);
                }
                if run.start > 0 {
                    headers[header + 13] &= !CWR;
                }
            }
            TransportKind::Udp => write_u16(headers, header + 4, segment_bytes as u16),
            TransportKind::Other => unreachable!("only TCP and UDP are cut"),
        }
        let partial = self.pseudo_header_sum(headers, segment_bytes);
        write_u16(headers, header + self.checksum_offset(), partial);
    }

    /// Sum over addresses, protocol and length (RFC 9293 section 3.1, RFC 8200 section 8.1).
    fn pseudo_header_sum(&self, headers: &[u8], segment_bytes: usize) -> u16 {
        let protocol = match self.layout.transport {
            TransportKind::Udp => PROTOCOL_UDP,
            TransportKind::Tcp | TransportKind::Other => PROTOCOL_TCP,
        };
        let addresses = u64::from(ones_sum(&headers[self.layout.addresses()]));
        fold(addresses + u64::from(protocol) + segment_bytes as u64)
    }

    /// Offset of the checksum in the transport header.
    fn checksum_offset(&self) -> usize {
        if self.layout.transport == TransportKind::Udp { 6 } else { 16 }
    }
}

/// One packet, as the link carries it.
#[derive(Clone, Debug)]
pub(crate) struct FrameSegment {
    whole: Arc<Superpacket>,
    index: u32,
}

impl FrameSegment {
    pub(crate) fn payload_bytes(&self) -> usize {
        self.whole.payload(&(self.index..self.index + 1)).len()
    }

    /// Length of the IP packet.
    pub(crate) fn wire_bytes(&self) -> usize {
        self.whole.layout.payload - ETHERNET + self.payload_bytes()
    }

    /// Its source and destination, if it carries TCP or UDP.
    pub(crate) fn ends(&self) -> Option<(SocketAddr, SocketAddr)> {
        let (layout, frame) = (&self.whole.layout, &self.whole.bytes);
        let (source, destination) = layout.ends(frame);
        let port = |at| read_u16(frame, layout.header + at);
        (layout.transport != TransportKind::Other)
            .then(|| ((source, port(0)).into(), (destination, port(2)).into()))
    }

    /// Its numbers, if it carries TCP.
    pub(crate) fn tcp(&self) -> Option<TcpNumbers> {
        let FrameLayout { transport, header, .. } = self.whole.layout;
        let mut headers = Vec::new();
        let (_, payload) = self.whole.head(self.index..self.index + 1, false, &mut headers);
        (transport == TransportKind::Tcp)
            .then(|| TcpNumbers::read(&headers[header..], payload.len()))
    }

    /// The IP packet with its checksums complete, as a wire would carry it.
    pub(crate) fn ip_packet(&self, marked: bool) -> Vec<u8> {
        let mut frame = Vec::with_capacity(ETHERNET + self.wire_bytes());
        let (vnet, payload) = self.whole.head(self.index..self.index + 1, marked, &mut frame);
        frame.extend_from_slice(&self.whole.bytes[payload]);
        if vnet.flags & NEEDS_CHECKSUM != 0 {
            let start = usize::from(vnet.checksum_start);
            let at = start + usize::from(vnet.checksum_offset);
            if at + 2 <= frame.len() {
                // The field holds the pseudo header's sum, which is thus summed with the rest. UDP has no checksum of zero (RFC 768).
                let sum = match !ones_sum(&frame[start..]) {
                    0 if self.whole.layout.transport == TransportKind::Udp => 0xffff,
                    sum => sum,
                };
                write_u16(&mut frame, at, sum);
            }
        }
        frame.split_off(ETHERNET)
    }

    /// Returns true if `next` comes right after this one in the same superpacket, so that both can leave in one piece.
    pub(crate) fn precedes(&self, next: &FrameSegment) -> bool {
        Arc::ptr_eq(&self.whole, &next.whole) && self.index + 1 == next.index
    }

    /// Headers and payload of all packets from this one to `last`, which is a neighbour or this packet.
    pub(crate) fn through<'a>(
        &'a self,
        last: &FrameSegment,
        marked: bool,
        headers: &mut Vec<u8>,
    ) -> (VnetHeader, &'a [u8]) {
        let (vnet, payload) = self.whole.head(self.index..last.index + 1, marked, headers);
        (vnet, &self.whole.bytes[payload])
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const FLAGS: u8 = 0x18 | CWR | FIN;

    fn ip(version: IpVersion, protocol: u8, segment: &[u8]) -> Vec<u8> {
        let mut frame = vec![0; ETHERNET];
        match version {
            IpVersion::V4 => {
                frame[12..14].copy_from_slice(&[0x08, 0x00]);
                frame.extend([0x45, 0, 0, 0, 0xff, 0xff, 0, 0, 64, protocol, 0, 0]);
                frame.extend([10, 0, 0, 1, 10, 0, 0, 2]);
                write_u16(&mut frame, ETHERNET + 2, (20 + segment.len()) as u16);
            }
            IpVersion::V6 => {
                frame[12..14].copy_from_slice(&[0x86, 0xdd]);
                frame.extend([0x60, 0, 0, 0, 0, 0, protocol, 64]);
                frame.extend((0..32).collect::<Vec<u8>>());
                write_u16(&mut frame, ETHERNET + 4, segment.len() as u16);
            }
        }
        frame.extend_from_slice(segment);
        frame
    }

    /// A frame with `payload` bytes after 32 bytes of TCP header.
    fn tcp(version: IpVersion, payload: usize) -> Vec<u8> {
        let mut segment = vec![0; 32];
        write_u32(&mut segment, 4, 0xffff_fff0);
        segment[12] = 0x80;
        segment[13] = FLAGS;
        segment[20..22].copy_from_slice(&[1, 1]);
        segment.extend((0..payload).map(|n| n as u8));
        ip(version, PROTOCOL_TCP, &segment)
    }

    fn udp(version: IpVersion, payload: usize) -> Vec<u8> {
        let mut segment = vec![0, 1, 0, 2, 0, 0, 0, 0];
        segment.extend((0..payload).map(|n| n as u8));
        ip(version, PROTOCOL_UDP, &segment)
    }

    fn header_of(version: IpVersion) -> usize {
        ETHERNET + if version == IpVersion::V4 { 20 } else { 40 }
    }

    fn gso(version: IpVersion, transport: TransportKind, size: u16) -> VnetHeader {
        let (gso_type, checksum_offset) = match (transport, version) {
            (TransportKind::Udp, _) => (GSO_UDP_L4, 6),
            (_, IpVersion::V4) => (GSO_TCPV4, 16),
            (_, IpVersion::V6) => (GSO_TCPV6, 16),
        };
        VnetHeader {
            flags: NEEDS_CHECKSUM,
            gso_type,
            gso_size: size,
            checksum_start: header_of(version) as u16,
            checksum_offset,
            ..VnetHeader::default()
        }
    }

    fn segments(header: VnetHeader, frame: &[u8]) -> Vec<FrameSegment> {
        Superpacket::new(header, Bytes::copy_from_slice(frame))
            .expect("it can be cut")
            .cut()
            .collect()
    }

    /// Returns true if the transport checksum is right, judged by the packet alone.
    fn checks(packet: &[u8], protocol: u8) -> bool {
        let (addresses, segment) = match packet[0] >> 4 {
            4 => (&packet[12..20], &packet[20..]),
            _ => (&packet[8..40], &packet[40..]),
        };
        let pseudo = u64::from(ones_sum(addresses)) + u64::from(protocol) + segment.len() as u64;
        fold(pseudo + u64::from(ones_sum(segment))) == 0xffff
    }

    #[test]
    fn numbers_flags_and_checksums_are_those_of_single_packets() {
        for version in [IpVersion::V4, IpVersion::V6] {
            let header = gso(version, TransportKind::Tcp, 100);
            let cut = segments(header, &tcp(version, 250));
            let summary: Vec<_> = cut
                .iter()
                .map(|segment| segment.tcp().expect("it is TCP"))
                .map(|n| (n.seq, n.payload_bytes, n.flags))
                .collect();
            assert_eq!(
                summary,
                [
                    (0xffff_fff0, 100, FLAGS & !(FIN | PSH)),
                    (84, 100, FLAGS & !(FIN | PSH | CWR)),
                    (184, 50, FLAGS & !CWR),
                ]
            );
            for segment in &cut {
                let packet = segment.ip_packet(false);
                assert_eq!(packet.len(), segment.wire_bytes());
                assert!(checks(&packet, PROTOCOL_TCP), "TCP checksum");
                if version == IpVersion::V4 {
                    assert_eq!(ones_sum(&packet[..20]), 0xffff, "IP checksum");
                }
            }
        }
    }

    #[test]
    fn datagrams_have_lengths_of_their_own() {
        for version in [IpVersion::V4, IpVersion::V6] {
            let cut = segments(gso(version, TransportKind::Udp, 100), &udp(version, 250));
            let packets: Vec<_> = cut.iter().map(|segment| segment.ip_packet(false)).collect();
            let at = header_of(version) - ETHERNET + 4;
            let lengths: Vec<_> = packets.iter().map(|packet| read_u16(packet, at)).collect();
            assert_eq!(lengths, [108, 108, 58]);
            assert!(packets.iter().all(|packet| checks(packet, PROTOCOL_UDP)));
        }
    }

    #[test]
    fn whole_packets_stay_whole() {
        let bytes = tcp(IpVersion::V4, 100);
        let cut = segments(VnetHeader::default(), &bytes);
        let mut headers = Vec::new();
        let (vnet, payload) = cut[0].through(&cut[0], false, &mut headers);
        assert_eq!((cut.len(), vnet), (1, VnetHeader::default()));
        assert_eq!([&headers, payload].concat(), bytes);
    }

    #[test]
    fn a_run_of_neighbours_is_a_smaller_superpacket() {
        let header = VnetHeader {
            gso_type: GSO_TCPV4 | GSO_ECN,
            ..gso(IpVersion::V4, TransportKind::Tcp, 100)
        };
        let cut = segments(header, &tcp(IpVersion::V4, 350));
        assert!(cut[1].precedes(&cut[2]) && !cut[1].precedes(&cut[3]));
        let mut frame = Vec::new();
        let (vnet, payload) = cut[1].through(&cut[2], false, &mut frame);
        assert_eq!((vnet.gso_type, vnet.gso_size), (GSO_TCPV4, 100), "CWR was the first one's");
        frame.extend_from_slice(payload);
        let again = segments(vnet, &frame);
        for (one, other) in cut[1..3].iter().zip(&again) {
            assert_eq!(one.ip_packet(false), other.ip_packet(false));
        }
    }

    #[test]
    fn a_mark_keeps_the_checksum_right() {
        let cut = segments(VnetHeader::default(), &tcp(IpVersion::V4, 10));
        let packet = cut[0].ip_packet(true);
        assert_eq!((packet[1] & 3, ones_sum(&packet[..20])), (3, 0xffff));
    }

    #[test]
    fn unknown_segmentation_is_refused() {
        let header = VnetHeader { gso_type: 3, gso_size: 100, ..VnetHeader::default() };
        let refused = Superpacket::new(header, udp(IpVersion::V4, 500).into()).err();
        assert_eq!(refused, Some(Unfit::Uncut));
        assert_eq!(Superpacket::new(header, vec![0; 60].into()).err(), Some(Unfit::Noise));
    }

    proptest! {
        #[test]
        fn no_payload_is_lost(payload in 1usize..5000, size in 1u16..1500, is_v6: bool) {
            let version = if is_v6 { IpVersion::V6 } else { IpVersion::V4 };
            let whole = tcp(version, payload);
            let cut = segments(gso(version, TransportKind::Tcp, size), &whole);
            let from = header_of(version) - ETHERNET + 32;
            let joined: Vec<u8> =
                cut.iter().flat_map(|segment| segment.ip_packet(false).split_off(from)).collect();
            prop_assert_eq!(&joined, &whole[from + ETHERNET..]);
        }

        #[test]
        fn any_bytes_are_survived(header: [u8; VnetHeader::LEN], tail: Vec<u8>, start in 0usize..4) {
            let frame = match start {
                0 => tail,
                1 => [tcp(IpVersion::V4, 10), tail].concat(),
                2 => [udp(IpVersion::V6, 10), tail].concat(),
                _ => ip(IpVersion::V4, 1, &tail),
            };
            if let Ok(whole) = Superpacket::new(VnetHeader::from_bytes(header), frame.into()) {
                whole.cut().for_each(|segment| drop(segment.ip_packet(true)));
            }
        }
    }
}
