//! Offsets of the fields of an IP packet. Only those that the emulator needs; nothing is validated beyond lengths.
//!
//! Source: RFC 791 section 3.1, RFC 8200 sections 3 and 4, RFC 9293 section 3.1, RFC 768. Left out: authentication headers, jumbograms.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Bytes of an Ethernet header.
pub(crate) const ETHERNET: usize = 14;
const ETHERTYPE_IPV4: [u8; 2] = [0x08, 0x00];
const ETHERTYPE_IPV6: [u8; 2] = [0x86, 0xdd];
/// Group bit in the first octet of an address (IEEE 802, section 8.2).
const GROUP: u8 = 1;

pub(crate) const PROTOCOL_TCP: u8 = 6;
pub(crate) const PROTOCOL_UDP: u8 = 17;
/// Extension headers whose second octet is their length (RFC 8200 section 4): hop-by-hop options, routing, destination options.
const EXTENSIONS: [u8; 3] = [0, 43, 60];

pub(crate) const FIN: u8 = 0x01;
pub(crate) const SYN: u8 = 0x02;
pub(crate) const PSH: u8 = 0x08;
pub(crate) const ACK: u8 = 0x10;
pub(crate) const CWR: u8 = 0x80;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IpVersion {
    V4,
    V6,
}

/// Transport protocol of an IP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TransportKind {
    Tcp,
    Udp,
    /// Anything else, including fragments.
    Other,
}

/// Byte offsets in one Ethernet frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FrameLayout {
    /// Version of the header at [`ETHERNET`].
    pub(crate) version: IpVersion,
    pub(crate) transport: TransportKind,
    /// Offset of the transport header.
    pub(crate) header: usize,
    /// Offset of the transport payload; of the transport header if the protocol is unknown.
    pub(crate) payload: usize,
    /// Offset of the end of the packet: a short frame is padded.
    pub(crate) end: usize,
}

impl FrameLayout {
    /// Finds a unicast IP packet in a frame.
    pub(crate) fn of(frame: &[u8]) -> Option<FrameLayout> {
        let (ethernet, ip) = frame.split_at_checked(ETHERNET)?;
        if ethernet[0] & GROUP != 0 {
            return None;
        }
        let version = match [ethernet[12], ethernet[13]] {
            ETHERTYPE_IPV4 => IpVersion::V4,
            ETHERTYPE_IPV6 => IpVersion::V6,
            _ => return None,
        };
        let (protocol, header, end) = match version {
            IpVersion::V4 => ipv4(ip)?,
            IpVersion::V6 => ipv6(ip)?,
        };
        let segment = ip.get(header..end)?;
        let (transport, length) = transport(protocol, segment);
        let header = ETHERNET + header;
        Some(FrameLayout {
            version,
            transport,
            header,
            payload: header + length,
            end: ETHERNET + end,
        })
    }

    pub(crate) fn payload_bytes(&self) -> usize {
        self.end - self.payload
    }

    /// Range of source and destination address, side by side.
    pub(crate) fn addresses(&self) -> std::ops::Range<usize> {
        match self.version {
            IpVersion::V4 => ETHERNET + 12..ETHERNET + 20,
            IpVersion::V6 => ETHERNET + 8..ETHERNET + 40,
        }
    }

    /// Source and destination.
    pub(crate) fn ends(&self, frame: &[u8]) -> (IpAddr, IpAddr) {
        let (from, to) = frame[self.addresses()].split_at(self.addresses().len() / 2);
        (address(from), address(to))
    }

    /// A hash of addresses, transport and ports (FNV-1a, 32 bits) that identifies flows.
    pub(crate) fn flow(&self, frame: &[u8]) -> u32 {
        let ports = match self.transport {
            TransportKind::Other => &[],
            TransportKind::Tcp | TransportKind::Udp => &frame[self.header..self.header + 4],
        };
        let bytes = frame[self.addresses()].iter().chain(ports);
        bytes
            .chain(&[self.transport as u8])
            .fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
    }

    /// True if the sender is ECN-capable, or a queue has already marked the packet (RFC 3168 section 5).
    pub(crate) fn takes_marks(&self, frame: &[u8]) -> bool {
        match self.version {
            IpVersion::V4 => frame[ETHERNET + 1] & 0x03 != 0,
            IpVersion::V6 => frame[ETHERNET + 1] & 0x30 != 0,
        }
    }

    /// Marks the packet with Congestion Experienced. Invalidates the IPv4 checksum.
    pub(crate) fn mark(&self, frame: &mut [u8]) {
        match self.version {
            IpVersion::V4 => frame[ETHERNET + 1] |= 0x03,
            IpVersion::V6 => frame[ETHERNET + 1] |= 0x30,
        }
    }
}

/// Protocol, length of the header, length of the packet.
fn ipv4(ip: &[u8]) -> Option<(Option<u8>, usize, usize)> {
    if ip.len() < 20 || ip[0] >> 4 != 4 {
        return None;
    }
    let header = usize::from(ip[0] & 0xf) * 4;
    let is_fragment = read_u16(ip, 6) & 0x3fff != 0;
    let protocol = (!is_fragment).then_some(ip[9]);
    (header >= 20).then(|| (protocol, header, usize::from(read_u16(ip, 2))))
}

/// The same for IPv6, extension headers included in the header. A fragment header ends the search.
fn ipv6(ip: &[u8]) -> Option<(Option<u8>, usize, usize)> {
    if ip.len() < 40 || ip[0] >> 4 != 6 {
        return None;
    }
    let end = 40 + usize::from(read_u16(ip, 4));
    let (mut next, mut header) = (ip[6], 40);
    while EXTENSIONS.contains(&next) {
        let extension = ip.get(header..header + 2)?;
        next = extension[0];
        header += (usize::from(extension[1]) + 1) * 8;
    }
    Some((Some(next), header, end))
}

/// Protocol of a segment, and length of its header.
fn transport(protocol: Option<u8>, segment: &[u8]) -> (TransportKind, usize) {
    match protocol {
        Some(PROTOCOL_TCP) if segment.len() >= 20 => {
            let length = usize::from(segment[12] >> 4) * 4;
            if (20..=segment.len()).contains(&length) {
                (TransportKind::Tcp, length)
            } else {
                (TransportKind::Other, 0)
            }
        }
        Some(PROTOCOL_UDP) if segment.len() >= 8 => (TransportKind::Udp, 8),
        _ => (TransportKind::Other, 0),
    }
}

fn address(bytes: &[u8]) -> IpAddr {
    if let Ok(octets) = <[u8; 4]>::try_from(bytes) {
        return Ipv4Addr::from(octets).into();
    }
    Ipv6Addr::from(<[u8; 16]>::try_from(bytes).expect("an address has 4 or 16 bytes")).into()
}

/// The numbers of one TCP segment on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpNumbers {
    /// Sequence number of the first byte, or of the SYN or FIN.
    pub seq: u32,
    /// Acknowledgement number.
    pub ack: u32,
    /// The flags' octet.
    pub flags: u8,
    /// The window as it stands in the header, not scaled.
    pub window: u16,
    /// Shift count of all later windows of this end, if offered.
    pub window_scale: Option<u8>,
    /// Bytes of payload.
    pub payload_bytes: u32,
}

impl TcpNumbers {
    /// Reads a TCP header with its options; `payload_bytes` follow.
    pub(crate) fn read(tcp: &[u8], payload_bytes: usize) -> TcpNumbers {
        TcpNumbers {
            seq: read_u32(tcp, 4),
            ack: read_u32(tcp, 8),
            flags: tcp[13],
            window: read_u16(tcp, 14),
            window_scale: window_scale(&tcp[20..]),
            payload_bytes: payload_bytes as u32,
        }
    }

    /// True if it opens a connection.
    pub fn is_syn(&self) -> bool {
        self.flags & SYN != 0
    }

    /// Sequence space that it takes: a SYN and a FIN take one number each (RFC 9293 section 3.4).
    pub(crate) fn sequence_length(&self) -> u64 {
        let flags = u64::from(self.flags & SYN != 0) + u64::from(self.flags & FIN != 0);
        u64::from(self.payload_bytes) + flags
    }

    /// True if its acknowledgement number is valid.
    pub fn is_ack(&self) -> bool {
        self.flags & ACK != 0
    }
}

/// Looks for the window scale option (RFC 7323 section 2.2).
fn window_scale(mut options: &[u8]) -> Option<u8> {
    loop {
        match *options {
            [3, 3, shift, ..] => return Some(shift),
            [1, ref rest @ ..] => options = rest,
            [kind, len, ..] if kind > 1 && len >= 2 => options = options.get(usize::from(len)..)?,
            _ => return None,
        }
    }
}

pub(crate) fn read_u16(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

pub(crate) fn read_u32(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

pub(crate) fn write_u16(bytes: &mut [u8], at: usize, value: u16) {
    bytes[at..at + 2].copy_from_slice(&value.to_be_bytes());
}

pub(crate) fn write_u32(bytes: &mut [u8], at: usize, value: u32) {
    bytes[at..at + 4].copy_from_slice(&value.to_be_bytes());
}

/// The sum of the Internet checksum (RFC 1071), not yet inverted.
pub(crate) fn ones_sum(bytes: &[u8]) -> u16 {
    let pairs = bytes.chunks_exact(2);
    let odd = pairs.remainder().first().map_or(0, |byte| u64::from(*byte) << 8);
    let words = pairs.map(|pair| u64::from(u16::from_be_bytes([pair[0], pair[1]])));
    fold(odd + words.sum::<u64>())
}

/// Adds the carries until 16 bits are left.
pub(crate) fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// An IPv6 frame with one extension header of 16 bytes before its TCP header.
    fn extended() -> Vec<u8> {
        let mut frame = vec![0; ETHERNET + 40 + 16 + 20];
        frame[12..14].copy_from_slice(&ETHERTYPE_IPV6);
        frame[ETHERNET] = 0x60;
        write_u16(&mut frame, ETHERNET + 4, 16 + 20 + 5);
        frame[ETHERNET + 6] = 60;
        frame[ETHERNET + 40] = PROTOCOL_TCP;
        frame[ETHERNET + 41] = 1;
        frame[ETHERNET + 56 + 12] = 0x50;
        frame.extend(*b"hello");
        frame
    }

    #[test]
    fn ipv6_extension_headers_are_skipped() {
        let layout = FrameLayout::of(&extended()).expect("it is a packet");
        assert_eq!((layout.version, layout.transport), (IpVersion::V6, TransportKind::Tcp));
        assert_eq!(layout.header, ETHERNET + 56);
        assert_eq!((layout.payload_bytes(), layout.end), (5, ETHERNET + 81));
    }

    #[test]
    fn what_goes_to_many_is_no_packet() {
        let mut frame = extended();
        frame[0] = 0x33;
        assert_eq!(FrameLayout::of(&frame), None);
    }

    #[test]
    fn marks_are_congestion_experienced() {
        let mut frame = extended();
        let layout = FrameLayout::of(&frame).expect("it is a packet");
        assert!(!layout.takes_marks(&frame));
        frame[ETHERNET + 1] = 0x20;
        assert!(layout.takes_marks(&frame));
        layout.mark(&mut frame);
        assert_eq!(frame[ETHERNET + 1], 0x30);
    }

    #[test]
    fn the_window_scale_is_found_among_other_options() {
        assert_eq!(window_scale(&[2, 4, 5, 180, 4, 2, 1, 3, 3, 10]), Some(10));
        assert_eq!(window_scale(&[1, 1, 8, 10, 3, 3, 7, 0, 0, 0, 0, 0]), None);
        assert_eq!(window_scale(&[2, 0, 3, 3, 7]), None, "a broken option ends the search");
        assert_eq!(window_scale(&[5, 200]), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(mut frame: Vec<u8>, is_v6: bool) {
            if frame.len() > ETHERNET {
                frame[0] = 0;
                frame[12..14].copy_from_slice(if is_v6 { &ETHERTYPE_IPV6 } else { &ETHERTYPE_IPV4 });
                frame[ETHERNET] = if is_v6 { 0x60 } else { 0x45 };
            }
            if let Some(layout) = FrameLayout::of(&frame) {
                prop_assert!(layout.end <= frame.len() && layout.payload <= layout.end);
                layout.flow(&frame);
                layout.ends(&frame);
            }
        }
    }
}
