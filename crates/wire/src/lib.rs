//! Packets as bytes.
//!
//! The simulation passes [`tcp::Segment`]s around: numbers of 64 bits that start at 0, windows in bytes, instants for
//! timestamps. This crate encodes them as they look on a real wire, and reads real packets back into them:
//!
//! - [`DecodedPacket`]: an IPv4 or IPv6 packet with TCP or UDP, to and from bytes, with the checksums and options right;
//! - [`ConnectionDirection`] and [`Numbering`]: between a connection's numbers and those of 32 and 16 bits;
//! - [`PacketEncoder`]: all packets of a world, numbered as by a host;
//! - [`pcapng`]: files of packets, for Wireshark and its kin.
//!
//! Left out: link-layer headers (captures are of raw IP), fragments, IP options and extension headers when
//! writing (they are skipped when reading), the urgent pointer, TCP options other than those of [`TcpOptions`] (skipped
//! when reading, as RFC 9293 section 3.1 requires), IPv6 flow labels.

#![forbid(unsafe_code)]

mod encoder;
mod ip;
mod options;
mod packet;
pub mod pcapng;

pub use encoder::{ConnectionDirection, NumberReference, Numbering};
pub use encoder::{PacketEncoder, PacketIdentity};
pub use etherparse::IpEcn;
pub use ip::{Addresses, Ip};
pub use options::TcpOptions;
pub use packet::{
    Checksum, DecodeError, DecodedPacket, EncodeError, TcpPacket, TransportPacket, UdpPacket,
};
