//! The relevant fields of an IP header: source, destination, and congestion marks.
//!
//! Sources: RFC 791, RFC 8200, RFC 3168.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use etherparse::checksum::Sum16BitWords;
use etherparse::{IpEcn, IpHeaders, IpNumber, Ipv4Header, Ipv6Header};

use crate::packet::EncodeError;

/// The relevant fields of an IP header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ip {
    /// Source and destination.
    pub addresses: Addresses,
    /// IPv4's identification of the packet; 0 for IPv6, which has none.
    pub identification: u16,
    /// Time to live, or hop limit.
    pub hop_limit: u8,
    /// Explicit congestion notification.
    pub ecn: IpEcn,
}

/// Source and destination, of one family.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Addresses {
    /// IPv4.
    V4 {
        /// Source.
        source: Ipv4Addr,
        /// Destination.
        destination: Ipv4Addr,
    },
    /// IPv6.
    V6 {
        /// Source.
        source: Ipv6Addr,
        /// Destination.
        destination: Ipv6Addr,
    },
}

impl Addresses {
    /// The pair, if both are of one family.
    pub fn new(source: IpAddr, destination: IpAddr) -> Option<Addresses> {
        match (source, destination) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => {
                Some(Addresses::V4 { source, destination })
            }
            (IpAddr::V6(source), IpAddr::V6(destination)) => {
                Some(Addresses::V6 { source, destination })
            }
            _ => None,
        }
    }

    /// Source.
    pub fn source(&self) -> IpAddr {
        match self {
            Addresses::V4 { source, .. } => IpAddr::V4(*source),
            Addresses::V6 { source, .. } => IpAddr::V6(*source),
        }
    }

    /// Destination.
    pub fn destination(&self) -> IpAddr {
        match self {
            Addresses::V4 { destination, .. } => IpAddr::V4(*destination),
            Addresses::V6 { destination, .. } => IpAddr::V6(*destination),
        }
    }

    /// The sum over the pseudo header (RFC 9293 section 3.1, RFC 8200 section 8.1) and `payload`.
    pub(crate) fn sum(&self, protocol: IpNumber, payload: &[u8]) -> Sum16BitWords {
        let mut sum = Sum16BitWords::new();
        sum = match self {
            Addresses::V4 { source, destination } => {
                sum.add_4bytes(source.octets()).add_4bytes(destination.octets())
            }
            Addresses::V6 { source, destination } => {
                sum.add_16bytes(source.octets()).add_16bytes(destination.octets())
            }
        };
        sum.add_2bytes([0, protocol.0])
            .add_4bytes((payload.len() as u32).to_be_bytes())
            .add_slice(payload)
    }
}

impl Ip {
    pub(crate) fn of(headers: &IpHeaders) -> Ip {
        match headers {
            IpHeaders::Ipv4(header, _) => Ip {
                addresses: Addresses::V4 {
                    source: header.source.into(),
                    destination: header.destination.into(),
                },
                identification: header.identification,
                hop_limit: header.time_to_live,
                ecn: header.ecn,
            },
            IpHeaders::Ipv6(header, _) => Ip {
                addresses: Addresses::V6 {
                    source: header.source.into(),
                    destination: header.destination.into(),
                },
                identification: 0,
                hop_limit: header.hop_limit,
                ecn: header.ecn(),
            },
        }
    }

    pub(crate) fn encode(&self, protocol: IpNumber, len: usize) -> Result<Vec<u8>, EncodeError> {
        let short = u16::try_from(len).map_err(|_| EncodeError::TooLong { bytes: len })?;
        match self.addresses {
            Addresses::V4 { source, destination } => {
                let (source, destination) = (source.octets(), destination.octets());
                let mut header =
                    Ipv4Header::new(short, self.hop_limit, protocol, source, destination)
                        .map_err(|_| EncodeError::TooLong { bytes: len + Ipv4Header::MIN_LEN })?;
                header.identification = self.identification;
                header.dont_fragment = true;
                header.ecn = self.ecn;
                header.header_checksum = header.calc_header_checksum();
                Ok(header.to_bytes().to_vec())
            }
            Addresses::V6 { source, destination } => {
                let mut header = Ipv6Header {
                    payload_length: short,
                    next_header: protocol,
                    hop_limit: self.hop_limit,
                    source: source.octets(),
                    destination: destination.octets(),
                    ..Ipv6Header::default()
                };
                header.set_ecn(self.ecn);
                Ok(header.to_bytes().to_vec())
            }
        }
    }
}

/// The codepoint (RFC 3168 section 5) of a segment's field.
pub(crate) fn codepoint(ecn: tcp::Ecn) -> IpEcn {
    match ecn {
        tcp::Ecn::NotEct => IpEcn::NotEct,
        tcp::Ecn::Ect0 => IpEcn::Ect0,
        tcp::Ecn::Ce => IpEcn::CongestionExperienced,
    }
}
