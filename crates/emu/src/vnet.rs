//! Header of each frame on a packet socket or a TAP device: the work left to do on it.
//!
//! Source: virtio specification 1.2 section 5.1.6 (`struct virtio_net_hdr`), packet(7) (`PACKET_VNET_HDR`),
//! `Documentation/networking/tuntap.rst` (`IFF_VNET_HDR`).

/// The checksum field holds the sum over the pseudo header; the device completes it.
pub(crate) const NEEDS_CHECKSUM: u8 = 1;
pub(crate) const GSO_NONE: u8 = 0;
pub(crate) const GSO_TCPV4: u8 = 1;
pub(crate) const GSO_TCPV6: u8 = 4;
/// UDP with segmentation (`UDP_SEGMENT` in udp(7)).
pub(crate) const GSO_UDP_L4: u8 = 5;
/// A flag: the first segment has CWR set.
pub(crate) const GSO_ECN: u8 = 0x80;

/// `struct virtio_net_hdr`, in the machine's byte order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct VnetHeader {
    pub(crate) flags: u8,
    pub(crate) gso_type: u8,
    pub(crate) header_len: u16,
    /// Payload bytes of each segment but the last.
    pub(crate) gso_size: u16,
    pub(crate) checksum_start: u16,
    pub(crate) checksum_offset: u16,
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

    /// The header of a single packet, without segmentation.
    pub(crate) fn whole(self) -> VnetHeader {
        VnetHeader { gso_type: GSO_NONE, gso_size: 0, ..self }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn bytes_make_the_round_trip(bytes: [u8; VnetHeader::LEN]) {
            prop_assert_eq!(VnetHeader::from_bytes(bytes).to_bytes(), bytes);
        }
    }
}
