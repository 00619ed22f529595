//! SOCKS: a proxy protocol for connections, independent of their content.
//!
//! Version 5 (RFC 1928) with no authentication or a name and a password (RFC 1929); version 4 and 4A (Y.-D. Lee,
//! "SOCKS: A protocol for TCP proxy across firewalls", and its "simple extension") on the server's side. The messages
//! are sans-IO. To a handler a request is a `CONNECT`: the same handler and rules answer both.
//!
//! Left out: GSSAPI, which RFC 1928 demands and no implementation offers, and the commands BIND and UDP ASSOCIATE,
//! which are refused by their code.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use http::StatusCode;

use crate::Reply;

pub mod client;
mod handshake;
pub mod server;

pub use handshake::{Handshake, HandshakeEvent, SocksRefusal};

/// A version of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Version {
    /// SOCKS4 and SOCKS4A.
    V4,
    /// SOCKS5.
    V5,
}

impl Version {
    /// Its name in logs: `socks4`, `socks5`.
    pub fn name(self) -> &'static str {
        match self {
            Version::V4 => "socks4",
            Version::V5 => "socks5",
        }
    }

    /// The version whose messages begin with this byte.
    pub(crate) fn of_first_byte(byte: u8) -> Option<Version> {
        match byte {
            4 => Some(Version::V4),
            5 => Some(Version::V5),
            _ => None,
        }
    }
}

/// Methods of authentication (RFC 1928 section 3).
mod method {
    pub(super) const NONE: u8 = 0;
    pub(super) const PASSWORD: u8 = 2;
    pub(super) const UNACCEPTABLE: u8 = 0xff;
}

// Reply codes to requests (RFC 1928 section 6) and their encoding.

/// The field with a proxy's reason for an error (RFC 9209).
const PROXY_STATUS: &str = "proxy-status";

/// The outcome of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Code {
    /// The connection is established: all following bytes are relayed.
    Succeeded = 0,
    /// The server failed.
    Failed = 1,
    /// The server's rules forbid it.
    Forbidden = 2,
    /// There is no route to the network.
    NetworkUnreachable = 3,
    /// The host cannot be reached, or has no address.
    HostUnreachable = 4,
    /// The host refused the connection.
    Refused = 5,
    /// The TTL expired.
    TtlExpired = 6,
    /// The command is not supported.
    Command = 7,
    /// The address type is not supported.
    AddressType = 8,
}

impl Code {
    /// The code of this number.
    pub fn new(number: u8) -> Option<Code> {
        Some(match number {
            0 => Code::Succeeded,
            1 => Code::Failed,
            2 => Code::Forbidden,
            3 => Code::NetworkUnreachable,
            4 => Code::HostUnreachable,
            5 => Code::Refused,
            6 => Code::TtlExpired,
            7 => Code::Command,
            8 => Code::AddressType,
            _ => return None,
        })
    }

    /// The code for an answer to `CONNECT` other than a tunnel: by its `Proxy-Status`, else by its status.
    fn of_answer(answer: &Reply) -> Code {
        let parts = &answer.head.parts;
        let told = parts.headers().get(PROXY_STATUS).and_then(|value| value.to_str().ok());
        let error = told.and_then(|told| told.split_once("error=")).map(|(_, error)| error);
        // RFC 9209 section 2.3.
        match error.map(|error| error.split([';', ',']).next().unwrap_or_default()) {
            Some("dns_error" | "dns_timeout" | "destination_not_found") => Code::HostUnreachable,
            Some("destination_unavailable" | "connection_timeout") => Code::HostUnreachable,
            Some("connection_refused") => Code::Refused,
            Some("destination_ip_unroutable") => Code::NetworkUnreachable,
            _ if parts.status() == StatusCode::FORBIDDEN => Code::Forbidden,
            _ if parts.status() == StatusCode::PROXY_AUTHENTICATION_REQUIRED => Code::Forbidden,
            _ => Code::Failed,
        }
    }
}

impl fmt::Display for Code {
    /// In the words of RFC 1928.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Code::Succeeded => "succeeded",
            Code::Failed => "general SOCKS server failure",
            Code::Forbidden => "connection not allowed by ruleset",
            Code::NetworkUnreachable => "network unreachable",
            Code::HostUnreachable => "host unreachable",
            Code::Refused => "connection refused",
            Code::TtlExpired => "TTL expired",
            Code::Command => "command not supported",
            Code::AddressType => "address type not supported",
        })
    }
}

/// Writes the answer `code` in the form of `version`. Its address is left unspecified, as by servers with several addresses.
pub fn reply(version: Version, code: Code, out: &mut Vec<u8>) {
    match (version, code) {
        // Granted, or rejected or failed; port and address are ignored.
        (Version::V4, Code::Succeeded) => out.extend([0, 90, 0, 0, 0, 0, 0, 0]),
        (Version::V4, _) => out.extend([0, 91, 0, 0, 0, 0, 0, 0]),
        (Version::V5, code) => {
            out.extend([5, code as u8, 0]);
            SocksDestination::from(SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0))).write(out);
        }
    }
}

// The destination of a requested connection, and its encoding (RFC 1928 section 5).

const IPV4: u8 = 1;
const NAME: u8 = 3;
const IPV6: u8 = 4;

/// A host and its port. As text it is an authority: `a.test:443`, `[::1]:443`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SocksDestination {
    /// The host.
    pub host: Host,
    /// The port.
    pub port: u16,
}

/// A host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Host {
    /// By its address.
    Address(IpAddr),
    /// By its name, which the proxy resolves.
    Name(Name),
}

/// A host's name: 1 to 255 letters, digits, dots, hyphens and underscores. So a name cannot be misread where an
/// authority is expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name(String);

impl Name {
    /// Parses a name; `None` if `bytes` are not one.
    pub fn new(bytes: &[u8]) -> Option<Name> {
        let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b".-_".contains(byte);
        let is_name = (1..=255).contains(&bytes.len()) && bytes.iter().all(is_plain);
        is_name.then(|| Name(bytes.iter().map(|byte| char::from(*byte)).collect()))
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The error in an encoded address.
enum Malformed {
    /// Its type is unknown.
    Type(u8),
    /// Its name is invalid.
    Name,
}

impl SocksDestination {
    /// `host`, a name or an address (IPv6 without brackets), at `port`; `None` if it is neither.
    pub fn new(host: &str, port: u16) -> Option<SocksDestination> {
        let host = match host.parse() {
            Ok(address) => Host::Address(address),
            Err(_) => Host::Name(Name::new(host.as_bytes())?),
        };
        Some(SocksDestination { host, port })
    }

    /// Reads type, address and port from the start of `input`; also returns their length. `None` if more bytes are needed.
    fn read(input: &[u8]) -> Result<Option<(SocksDestination, usize)>, Malformed> {
        let Some((kind, rest)) = input.split_first() else { return Ok(None) };
        let (host, after) = match *kind {
            IPV4 => match rest.split_first_chunk::<4>() {
                Some((bytes, after)) => (Host::Address(Ipv4Addr::from(*bytes).into()), after),
                None => return Ok(None),
            },
            IPV6 => match rest.split_first_chunk::<16>() {
                Some((bytes, after)) => (Host::Address(Ipv6Addr::from(*bytes).into()), after),
                None => return Ok(None),
            },
            NAME => {
                let Some((length, rest)) = rest.split_first() else { return Ok(None) };
                let Some((name, after)) = rest.split_at_checked(usize::from(*length)) else {
                    return Ok(None);
                };
                (Host::Name(Name::new(name).ok_or(Malformed::Name)?), after)
            }
            other => return Err(Malformed::Type(other)),
        };
        let Some((port, after)) = after.split_first_chunk::<2>() else { return Ok(None) };
        let port = u16::from_be_bytes(*port);
        Ok(Some((SocksDestination { host, port }, input.len() - after.len())))
    }

    /// Writes type, address and port.
    fn write(&self, out: &mut Vec<u8>) {
        match &self.host {
            Host::Address(IpAddr::V4(address)) => {
                out.push(IPV4);
                out.extend(address.octets());
            }
            Host::Address(IpAddr::V6(address)) => {
                out.push(IPV6);
                out.extend(address.octets());
            }
            Host::Name(Name(name)) => {
                out.push(NAME);
                out.push(u8::try_from(name.len()).expect("a name has at most 255 bytes"));
                out.extend(name.bytes());
            }
        }
        out.extend(self.port.to_be_bytes());
    }
}

impl From<SocketAddr> for SocksDestination {
    fn from(address: SocketAddr) -> SocksDestination {
        SocksDestination { host: Host::Address(address.ip()), port: address.port() }
    }
}

impl fmt::Display for SocksDestination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            Host::Address(address) => SocketAddr::new(*address, self.port).fmt(f),
            Host::Name(Name(name)) => write!(f, "{name}:{}", self.port),
        }
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use http::HeaderMap;

    use super::*;

    #[test]
    fn an_answer_to_connect_has_its_code() {
        let code = |status: u16, error: &str| {
            let mut fields = HeaderMap::new();
            fields.insert(PROXY_STATUS, format!("p; error={error}").parse().unwrap());
            let status = StatusCode::from_u16(status).unwrap();
            Code::of_answer(&Reply::new(status, fields, Bytes::new()))
        };
        assert_eq!(code(502, "connection_refused"), Code::Refused);
        assert_eq!(code(502, "dns_error; rcode=NXDOMAIN"), Code::HostUnreachable);
        assert_eq!(code(504, "connection_timeout"), Code::HostUnreachable);
        assert_eq!(code(403, "destination_ip_prohibited"), Code::Forbidden);
        assert_eq!(code(407, "http_request_denied"), Code::Forbidden);
        assert_eq!(code(503, "connection_limit_reached"), Code::Failed);
    }

    #[test]
    fn a_destination_is_an_authority() {
        let text =
            |host| SocksDestination::new(host, 443).map(|destination| destination.to_string());
        assert_eq!(text("a-b.test"), Some("a-b.test:443".to_owned()));
        assert_eq!(text("10.0.0.1"), Some("10.0.0.1:443".to_owned()));
        assert_eq!(text("::1"), Some("[::1]:443".to_owned()));
        let long = "a".repeat(256);
        for other in ["", "a.test:80", "a@b", "[::1]", "a b", "a\r\nb", "ä.test", &long] {
            assert_eq!(text(other), None, "{other}");
        }
    }
}
