//! An IP packet with TCP or UDP: its headers as numbers, converted to and from bytes, and the errors of that.
//!
//! Sources: RFC 9293 (TCP), RFC 768 (UDP), RFC 1071 (checksums). The headers are laid out and summed by etherparse.

use std::fmt;

use bytes::Bytes;
use etherparse::checksum::Sum16BitWords;
use etherparse::{IpNumber, IpSlice, TcpHeader, TcpSlice, UdpHeader, UdpSlice};
use tcp::{Flags, Payload};
use thiserror::Error;

use crate::ip::{Addresses, Ip};
use crate::options::TcpOptions;

/// A whole packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecodedPacket {
    /// The IP header.
    pub ip: Ip,
    /// Its content.
    pub body: TransportPacket,
}

/// Content of an IP packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TransportPacket {
    /// A TCP segment.
    Tcp(TcpPacket),
    /// A UDP datagram.
    Udp(UdpPacket),
}

/// A TCP segment as on the wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TcpPacket {
    /// Source port.
    pub source_port: u16,
    /// Destination port.
    pub destination_port: u16,
    /// Sequence number of the first byte.
    pub seq: u32,
    /// The next sequence number expected from the peer, if the flags say so.
    pub ack: u32,
    /// Control bits.
    pub flags: Flags,
    /// The window, not scaled.
    pub window: u16,
    /// Options.
    pub options: TcpOptions,
    /// Data.
    pub payload: Payload,
}

/// A UDP datagram.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UdpPacket {
    /// Source port.
    pub source_port: u16,
    /// Destination port.
    pub destination_port: u16,
    /// Data.
    pub payload: Bytes,
}

impl DecodedPacket {
    /// The packet's bytes, from the IP header on, checksums included.
    ///
    /// # Errors
    /// If it is longer than IP allows, or its options are longer than TCP allows.
    pub fn encode(&self) -> Result<Vec<u8>, EncodeError> {
        let (protocol, transport) = match &self.body {
            TransportPacket::Tcp(tcp) => (IpNumber::TCP, tcp.encode(&self.ip.addresses)?),
            TransportPacket::Udp(udp) => (IpNumber::UDP, udp.encode(&self.ip.addresses)?),
        };
        let mut bytes = self.ip.encode(protocol, transport.len())?;
        bytes.extend(transport);
        Ok(bytes)
    }

    /// Reads a packet that begins at its IP header and may be followed by padding; its checksums must be right.
    ///
    /// # Errors
    /// If it is not a whole packet with TCP or UDP, or was damaged.
    pub fn parse(bytes: &[u8]) -> Result<DecodedPacket, DecodeError> {
        let packet = DecodedPacket::parse_unsummed(bytes)?;
        verify(bytes)?;
        Ok(packet)
    }

    /// Like [`DecodedPacket::parse`] without verifying checksums: for packets that a host is about to send
    /// through hardware that will fill them in.
    ///
    /// # Errors
    /// If it is not a whole packet with TCP or UDP.
    pub fn parse_unsummed(bytes: &[u8]) -> Result<DecodedPacket, DecodeError> {
        let ip = IpSlice::from_slice(bytes).map_err(DecodeError::malformed)?;
        if ip.is_fragmenting_payload() {
            return Err(DecodeError::Fragment);
        }
        let payload = ip.payload().payload;
        let body = match ip.payload_ip_number() {
            IpNumber::TCP => TransportPacket::Tcp(TcpPacket::parse(payload)?),
            IpNumber::UDP => TransportPacket::Udp(UdpPacket::parse(payload)?),
            other => return Err(DecodeError::Protocol(other.0)),
        };
        Ok(DecodedPacket { ip: Ip::of(&ip.to_header()), body })
    }
}

/// Verifies every checksum of a parsed packet: the sum over all bytes covered is zero (RFC 1071).
fn verify(bytes: &[u8]) -> Result<(), DecodeError> {
    let ip = IpSlice::from_slice(bytes).map_err(DecodeError::malformed)?;
    if let Some(ipv4) = ip.ipv4() {
        check(Checksum::Ipv4, Sum16BitWords::new().add_slice(ipv4.header().slice()))?;
    }
    let payload = ip.payload().payload;
    let addresses = Ip::of(&ip.to_header()).addresses;
    let protocol = ip.payload_ip_number();
    if protocol == IpNumber::TCP {
        return check(Checksum::Tcp, addresses.sum(protocol, payload));
    }
    let datagram = UdpSlice::from_slice(payload).map_err(DecodeError::malformed)?;
    // RFC 768: over IPv4 the sender may omit it.
    let unsummed = datagram.checksum() == 0 && ip.ipv4().is_some();
    if unsummed {
        return Ok(());
    }
    check(Checksum::Udp, addresses.sum(protocol, datagram.slice()))
}

fn check(which: Checksum, sum: Sum16BitWords) -> Result<(), DecodeError> {
    if sum.ones_complement() == 0 { Ok(()) } else { Err(DecodeError::Checksum(which)) }
}

impl TcpPacket {
    fn parse(bytes: &[u8]) -> Result<TcpPacket, DecodeError> {
        let segment = TcpSlice::from_slice(bytes).map_err(DecodeError::malformed)?;
        Ok(TcpPacket {
            source_port: segment.source_port(),
            destination_port: segment.destination_port(),
            seq: segment.sequence_number(),
            ack: segment.acknowledgment_number(),
            // RFC 9293 section 3.1: the fourteenth byte holds the control bits.
            flags: Flags::from_bits(segment.header_slice()[13]),
            window: segment.window_size(),
            options: TcpOptions::parse(segment.options()),
            payload: Bytes::copy_from_slice(segment.payload()).into(),
        })
    }

    /// Its bytes, checksum included (RFC 9293 section 3.1).
    fn encode(&self, addresses: &Addresses) -> Result<Vec<u8>, EncodeError> {
        let is = |flag| self.flags.contains(flag);
        let mut header =
            TcpHeader::new(self.source_port, self.destination_port, self.seq, self.window);
        header.acknowledgment_number = self.ack;
        (header.fin, header.syn, header.rst) = (is(Flags::FIN), is(Flags::SYN), is(Flags::RST));
        (header.psh, header.ack, header.urg) = (is(Flags::PSH), is(Flags::ACK), is(Flags::URG));
        (header.ece, header.cwr) = (is(Flags::ECE), is(Flags::CWR));
        let options = self.options.encode();
        header
            .set_options_raw(&options)
            .map_err(|_| EncodeError::Options { bytes: options.len() })?;
        let data: Vec<u8> = self.payload.slices().flatten().copied().collect();
        let len = header.header_len() + data.len();
        header.checksum = match addresses {
            Addresses::V4 { source, destination } => {
                header.calc_checksum_ipv4_raw(source.octets(), destination.octets(), &data)
            }
            Addresses::V6 { source, destination } => {
                header.calc_checksum_ipv6_raw(source.octets(), destination.octets(), &data)
            }
        }
        .map_err(|_| EncodeError::TooLong { bytes: len })?;
        let mut bytes = header.to_bytes().to_vec();
        bytes.extend(data);
        Ok(bytes)
    }
}

impl UdpPacket {
    fn parse(bytes: &[u8]) -> Result<UdpPacket, DecodeError> {
        let datagram = UdpSlice::from_slice(bytes).map_err(DecodeError::malformed)?;
        Ok(UdpPacket {
            source_port: datagram.source_port(),
            destination_port: datagram.destination_port(),
            payload: Bytes::copy_from_slice(datagram.payload()),
        })
    }

    /// Its bytes, checksum included (RFC 768, RFC 8200 section 8.1).
    fn encode(&self, addresses: &Addresses) -> Result<Vec<u8>, EncodeError> {
        let len = UdpHeader::LEN + self.payload.len();
        let mut header = UdpHeader {
            source_port: self.source_port,
            destination_port: self.destination_port,
            length: u16::try_from(len).map_err(|_| EncodeError::TooLong { bytes: len })?,
            checksum: 0,
        };
        header.checksum = match addresses {
            Addresses::V4 { source, destination } => {
                header.calc_checksum_ipv4_raw(source.octets(), destination.octets(), &self.payload)
            }
            Addresses::V6 { source, destination } => {
                header.calc_checksum_ipv6_raw(source.octets(), destination.octets(), &self.payload)
            }
        }
        .map_err(|_| EncodeError::TooLong { bytes: len })?;
        let mut bytes = header.to_bytes().to_vec();
        bytes.extend(&self.payload);
        Ok(bytes)
    }
}

/// A checksum that a packet carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checksum {
    /// The IPv4 header's.
    Ipv4,
    /// TCP's.
    Tcp,
    /// UDP's.
    Udp,
}

impl fmt::Display for Checksum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Checksum::Ipv4 => "IPv4 header",
            Checksum::Tcp => "TCP",
            Checksum::Udp => "UDP",
        })
    }
}

/// Reason why bytes are not a packet that this crate reads: failed to parse a packet, because ...
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DecodeError {
    /// A header is cut short or contradicts itself.
    #[error("{0}")]
    Malformed(String),
    /// A fragment of a larger packet.
    #[error("the packet is a fragment; only whole packets are read")]
    Fragment,
    /// Neither TCP nor UDP.
    #[error("the packet carries IP protocol {0}; only TCP (6) and UDP (17) are read")]
    Protocol(u8),
    /// Damaged on the way, or left to hardware to fill in.
    #[error("wrong {0} checksum")]
    Checksum(Checksum),
}

/// Reason why a packet cannot be encoded: failed to write a packet, because ...
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum EncodeError {
    /// An IP packet has at most 65535 bytes.
    #[error("the IP packet is too long: {bytes} bytes of at most 65535")]
    TooLong {
        /// Number of bytes it would have.
        bytes: usize,
    },
    /// TCP has room for 40 bytes of options.
    #[error("the TCP options are too long: {bytes} bytes of at most 40")]
    Options {
        /// Number of bytes they take.
        bytes: usize,
    },
}

impl DecodeError {
    pub(crate) fn malformed(error: impl fmt::Display) -> DecodeError {
        DecodeError::Malformed(error.to_string())
    }
}
