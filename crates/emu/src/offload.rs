//! Segmentation offload, undone: what the kernel hands over in one piece is cut into the packets that a wire would carry.
//!
//! A sender's stack passes up to 64 KB down as one "superpacket" and leaves segmenting and checksums to the device. The emulated link
//! must decide the fate of each packet, so a superpacket is cut when it arrives (`tcp_gso_segment`). Checksums stay partial: the
//! receiving stack trusts them, as with a real device that offloads.
//!
//! Source: virtio specification 1.2 section 5.1.6 (`struct virtio_net_hdr`), packet(7) (`PACKET_VNET_HDR`), Linux 6.18
//! `net/ipv4/tcp_offload.c`. Left out: IPv6, UDP segmentation, tunnels.

use crate::headers::{CWR, ETHERNET, FIN, Offsets, PSH, locate, ones_sum, read_u16, read_u32};

const NEEDS_CHECKSUM: u8 = 1;
const GSO_NONE: u8 = 0;
const GSO_TCPV4: u8 = 1;
const GSO_ECN: u8 = 0x80;
/// Where the checksum lies in a TCP header.
const TCP_CHECKSUM: usize = 16;
const PROTOCOL_TCP: u32 = 6;

/// What comes before each frame on a packet socket (`struct virtio_net_hdr`, in the machine's byte order).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct VnetHeader {
    flags: u8,
    gso_type: u8,
    header_len: u16,
    gso_size: u16,
    checksum_start: u16,
    checksum_offset: u16,
}

impl VnetHeader {
    pub(crate) const LEN: usize = 10;

    pub(crate) fn from_bytes(bytes: [u8; VnetHeader::LEN]) -> VnetHeader {
        let word = |at: usize| u16::from_ne_bytes([bytes[at], bytes[at + 1]]);
        VnetHeader {
            flags: bytes[0],
            gso_type: bytes[1],
            header_len: word(2),
            gso_size: word(4),
            checksum_start: word(6),
            checksum_offset: word(8),
        }
    }

    pub(crate) fn to_bytes(self) -> [u8; VnetHeader::LEN] {
        let mut bytes = [self.flags, self.gso_type, 0, 0, 0, 0, 0, 0, 0, 0];
        let words = [self.header_len, self.gso_size, self.checksum_start, self.checksum_offset];
        for (slot, word) in bytes[2..].chunks_exact_mut(2).zip(words) {
            slot.copy_from_slice(&word.to_ne_bytes());
        }
        bytes
    }
}

/// A frame on its way, no larger than the link's MTU allows unless the sender made it so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) header: VnetHeader,
    pub(crate) bytes: Vec<u8>,
}

/// Cuts what arrived into packets. What is no TCP superpacket stays whole.
pub(crate) fn cut(header: VnetHeader, bytes: &[u8]) -> Vec<Frame> {
    let size = usize::from(header.gso_size);
    if header.gso_type & !GSO_ECN != GSO_TCPV4 || size == 0 {
        let header = VnetHeader { gso_type: GSO_NONE, gso_size: 0, ..header };
        return vec![Frame { header, bytes: bytes.to_vec() }];
    }
    let Some(at) = locate(bytes) else { return Vec::new() };
    let pieces = at.payload_bytes().div_ceil(size);
    (0..pieces).map(|index| piece(bytes, &at, index, size)).collect()
}

/// The packet with the `index`-th `size` bytes of payload.
fn piece(whole: &[u8], at: &Offsets, index: usize, size: usize) -> Frame {
    let from = at.payload + index * size;
    let to = at.end.min(from + size);
    let mut bytes = Vec::with_capacity(at.payload + (to - from));
    bytes.extend_from_slice(&whole[..at.payload]);
    bytes.extend_from_slice(&whole[from..to]);
    let total = (bytes.len() - ETHERNET) as u16;
    write_u16(&mut bytes, ETHERNET + 2, total);
    let id = read_u16(&bytes, ETHERNET + 4).wrapping_add(index as u16);
    write_u16(&mut bytes, ETHERNET + 4, id);
    write_u16(&mut bytes, ETHERNET + 10, 0);
    let sum = !ones_sum(&bytes[ETHERNET..at.tcp]);
    write_u16(&mut bytes, ETHERNET + 10, sum);

    let seq = read_u32(&bytes, at.tcp + 4).wrapping_add((index * size) as u32);
    bytes[at.tcp + 4..at.tcp + 8].copy_from_slice(&seq.to_be_bytes());
    if to < at.end {
        bytes[at.tcp + 13] &= !(FIN | PSH);
    }
    if index > 0 {
        bytes[at.tcp + 13] &= !CWR;
    }
    let partial = pseudo_header_sum(&bytes, at);
    write_u16(&mut bytes, at.tcp + TCP_CHECKSUM, partial);
    let header = VnetHeader {
        flags: NEEDS_CHECKSUM,
        checksum_start: at.tcp as u16,
        checksum_offset: TCP_CHECKSUM as u16,
        ..VnetHeader::default()
    };
    Frame { header, bytes }
}

/// The sum over addresses, protocol and length, which the checksum field holds until a device completes it.
fn pseudo_header_sum(bytes: &[u8], at: &Offsets) -> u16 {
    let segment = (bytes.len() - at.tcp) as u32;
    let addresses = u32::from(ones_sum(&bytes[ETHERNET + 12..ETHERNET + 20]));
    let sum = addresses + PROTOCOL_TCP + segment;
    ((sum & 0xffff) + (sum >> 16)) as u16
}

fn write_u16(bytes: &mut [u8], at: usize, value: u16) {
    bytes[at..at + 2].copy_from_slice(&value.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::headers::TcpNumbers;

    const FLAGS: u8 = 0x18 | CWR | FIN;

    /// An Ethernet frame with `payload` bytes after 20 + 32 bytes of headers.
    fn superpacket(payload: usize) -> Vec<u8> {
        let mut bytes = vec![0; ETHERNET + 52];
        bytes[12..14].copy_from_slice(&[8, 0]);
        bytes[ETHERNET] = 0x45;
        write_u16(&mut bytes, ETHERNET + 2, (52 + payload) as u16);
        write_u16(&mut bytes, ETHERNET + 4, 0xffff);
        bytes[ETHERNET + 9] = 6;
        bytes[ETHERNET + 12..ETHERNET + 20].copy_from_slice(&[10, 0, 0, 1, 10, 0, 0, 2]);
        bytes[ETHERNET + 20 + 4..ETHERNET + 20 + 8].copy_from_slice(&0xffff_fff0_u32.to_be_bytes());
        bytes[ETHERNET + 20 + 12] = 0x80;
        bytes[ETHERNET + 20 + 13] = FLAGS;
        bytes.extend((0..payload).map(|n| n as u8));
        bytes
    }

    fn gso(size: u16) -> VnetHeader {
        VnetHeader { gso_type: GSO_TCPV4, gso_size: size, ..VnetHeader::default() }
    }

    #[test]
    fn numbers_flags_and_checksums_are_those_of_single_packets() {
        let frames = cut(gso(100), &superpacket(250));
        let numbers: Vec<TcpNumbers> = frames
            .iter()
            .map(|frame| TcpNumbers::read(&frame.bytes, &locate(&frame.bytes).expect("TCP")))
            .collect();
        let summary: Vec<_> = numbers.iter().map(|n| (n.seq, n.payload_bytes, n.flags)).collect();
        assert_eq!(
            summary,
            [
                (0xffff_fff0, 100, FLAGS & !(FIN | PSH)),
                (84, 100, FLAGS & !(FIN | PSH | CWR)),
                (184, 50, FLAGS & !CWR),
            ]
        );
        for frame in &frames {
            assert_eq!(ones_sum(&frame.bytes[ETHERNET..ETHERNET + 20]), 0xffff, "IP checksum");
            assert_eq!(frame.header.flags, NEEDS_CHECKSUM);
        }
    }

    #[test]
    fn whole_packets_stay_whole() {
        let bytes = superpacket(100);
        let frames = cut(VnetHeader::default(), &bytes);
        assert_eq!(frames, [Frame { header: VnetHeader::default(), bytes }]);
    }

    proptest! {
        #[test]
        fn no_payload_is_lost(payload in 1usize..5000, size in 1u16..1500) {
            let whole = superpacket(payload);
            let frames = cut(gso(size), &whole);
            let joined: Vec<u8> = frames.iter().flat_map(|frame| frame.bytes[66..].to_vec()).collect();
            prop_assert_eq!(&joined, &whole[66..]);
        }

        #[test]
        fn any_bytes_are_survived(header: [u8; VnetHeader::LEN], bytes: Vec<u8>) {
            let header = VnetHeader::from_bytes(header);
            prop_assert_eq!(VnetHeader::from_bytes(header.to_bytes()), header);
            cut(header, &bytes);
        }
    }
}
