//! The destination of a requested connection, and its encoding (RFC 1928 section 5).

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

const IPV4: u8 = 1;
const NAME: u8 = 3;
const IPV6: u8 = 4;

/// A host and its port. As text it is an authority: `a.test:443`, `[::1]:443`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destination {
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
pub(super) enum Malformed {
    /// Its type is unknown.
    Type(u8),
    /// Its name is invalid.
    Name,
}

impl Destination {
    /// `host`, a name or an address (IPv6 without brackets), at `port`; `None` if it is neither.
    pub fn new(host: &str, port: u16) -> Option<Destination> {
        let host = match host.parse() {
            Ok(address) => Host::Address(address),
            Err(_) => Host::Name(Name::new(host.as_bytes())?),
        };
        Some(Destination { host, port })
    }

    /// Reads type, address and port from the start of `input`; also returns their length. `None` if more bytes are needed.
    pub(super) fn read(input: &[u8]) -> Result<Option<(Destination, usize)>, Malformed> {
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
        Ok(Some((Destination { host, port }, input.len() - after.len())))
    }

    /// Writes type, address and port.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
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

impl From<SocketAddr> for Destination {
    fn from(address: SocketAddr) -> Destination {
        Destination { host: Host::Address(address.ip()), port: address.port() }
    }
}

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            Host::Address(address) => SocketAddr::new(*address, self.port).fmt(f),
            Host::Name(Name(name)) => write!(f, "{name}:{}", self.port),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_destination_is_an_authority() {
        let text = |host| Destination::new(host, 443).map(|destination| destination.to_string());
        assert_eq!(text("a-b.test"), Some("a-b.test:443".to_owned()));
        assert_eq!(text("10.0.0.1"), Some("10.0.0.1:443".to_owned()));
        assert_eq!(text("::1"), Some("[::1]:443".to_owned()));
        let long = "a".repeat(256);
        for other in ["", "a.test:80", "a@b", "[::1]", "a b", "a\r\nb", "ä.test", &long] {
            assert_eq!(text(other), None, "{other}");
        }
    }
}
