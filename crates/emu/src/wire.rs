//! Connection of the emulator to an end: the kind, the emulator's end of it, and the header of its frames.

use std::fmt;
use std::os::fd::BorrowedFd;
use std::str::FromStr;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use units::Time;

use crate::packet_socket::PacketSocket;
use crate::superpacket::FrameSegment;
use crate::tap::Tap;
use crate::{EmulatorClock, Error};

/// Kind of the wires between the emulator and both ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Wire {
    /// A veth pair, with a packet socket on the emulator's end. The kernel stamps each frame when it arrives.
    Veth,
    /// A TAP device at the end, whose descriptor the emulator reads and writes: for machines without veth or packet sockets. The arrival time of a
    /// frame is the time at which it is read.
    Tap,
}

impl Wire {
    /// All kinds, in the order in which they are tried by default.
    pub const ALL: [Wire; 2] = [Wire::Veth, Wire::Tap];

    /// True if the kernel timestamps arrivals.
    pub(crate) const fn is_stamped(self) -> bool {
        match self {
            Wire::Veth => true,
            Wire::Tap => false,
        }
    }
}

impl fmt::Display for Wire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Wire::Veth => "veth",
            Wire::Tap => "tap",
        })
    }
}

/// Name of an unknown [`Wire`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` should be `veth` or `tap`")]
pub struct UnknownWireError(String);

impl FromStr for Wire {
    type Err = UnknownWireError;

    fn from_str(text: &str) -> Result<Wire, UnknownWireError> {
        let named = |wire: &Wire| wire.to_string() == text;
        Wire::ALL.into_iter().find(named).ok_or_else(|| UnknownWireError(text.to_owned()))
    }
}

/// The largest frame and what precedes it: 64 KB of segmented data and its headers.
pub(crate) const BUFFER_BYTES: usize = VnetHeader::LEN + 14 + (1 << 16) + 256;

/// A frame as it arrived, perhaps larger than the MTU.
pub(crate) struct ArrivedFrame {
    pub(crate) at: Time,
    pub(crate) header: VnetHeader,
    pub(crate) bytes: Bytes,
}

impl ArrivedFrame {
    /// Parses the kernel's bytes: a `virtio_net_hdr` and the frame.
    pub(crate) fn new(at: Time, mut bytes: Bytes) -> ArrivedFrame {
        let header = bytes.split_to(VnetHeader::LEN.min(bytes.len()));
        let header = header[..].try_into().expect("the kernel puts a header before each frame");
        ArrivedFrame { at, header: VnetHeader::from_bytes(header), bytes }
    }
}

/// The emulator's end of a wire.
pub(crate) enum WireEnd {
    Veth(PacketSocket),
    Tap(Tap),
}

impl WireEnd {
    pub(crate) fn wire(&self) -> Wire {
        match self {
            WireEnd::Veth(_) => Wire::Veth,
            WireEnd::Tap(_) => Wire::Tap,
        }
    }

    /// Readable when a frame has come in.
    pub(crate) fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            WireEnd::Veth(socket) => socket.as_fd(),
            WireEnd::Tap(tap) => tap.as_fd(),
        }
    }

    /// The next frame that came in, if there is one.
    pub(crate) fn receive(&mut self, clock: &EmulatorClock) -> Result<Option<ArrivedFrame>, Error> {
        match self {
            WireEnd::Veth(socket) => socket.receive(clock),
            WireEnd::Tap(tap) => tap.receive(clock),
        }
    }

    /// Hands the packets from `first` to `last`, which are neighbours, to the end at once; its kernel has processed them when this
    /// returns. Returns false if the end refuses them: its interface is down, or its queue full.
    pub(crate) fn send(
        &mut self,
        first: &FrameSegment,
        last: &FrameSegment,
        marked: bool,
    ) -> Result<bool, Error> {
        match self {
            WireEnd::Veth(socket) => socket.send(first, last, marked),
            WireEnd::Tap(tap) => tap.send(first, last, marked),
        }
    }

    /// Frames lost since the last call because they were not read in time.
    pub(crate) fn overruns(&mut self) -> Result<u64, Error> {
        match self {
            WireEnd::Veth(socket) => socket.overruns(),
            WireEnd::Tap(tap) => tap.overruns(),
        }
    }
}

// Header of each frame on a packet socket or a TAP device: the work left to do on it.
//
// Source: virtio specification 1.2 section 5.1.6 (`struct virtio_net_hdr`), packet(7) (`PACKET_VNET_HDR`),
// `Documentation/networking/tuntap.rst` (`IFF_VNET_HDR`).

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

    #[test]
    fn wires_are_called_by_name() {
        for wire in Wire::ALL {
            assert_eq!(wire.to_string().parse(), Ok(wire));
        }
        let unknown = "rope".parse::<Wire>().unwrap_err();
        assert_eq!(unknown.to_string(), "`rope` should be `veth` or `tap`");
    }

    proptest! {
        #[test]
        fn bytes_make_the_round_trip(bytes: [u8; VnetHeader::LEN]) {
            prop_assert_eq!(VnetHeader::from_bytes(bytes).to_bytes(), bytes);
        }
    }
}
