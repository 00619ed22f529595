//! Values in a configuration, validated when they are read.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;

use http::HeaderName;
use ipnet::IpNet;
use serde::Deserialize;
use serde::de::{Deserializer, Error, Visitor};

use crate::target::{Authority, RequestTarget};
use crate::upstream::OriginAddress;

/// A span of time with its unit: `"10s"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct ConfigDuration(pub Duration);

/// A number of bytes with its unit: `"256MiB"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Size(pub u64);

/// Lifetime of an advertised alternative service (`Alt-Svc`): `"24h"`, or `"off"` to advertise none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct AltSvcAge(pub Option<Duration>);

/// A network: `"10.0.0.0/8"`; a single address is a network of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct ConfigNetwork(pub IpNet);

/// An address to listen on: `"127.0.0.1:3128"`, or several ports, `"127.0.0.1:8001-8020"`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Address {
    /// The address.
    pub ip: IpAddr,
    /// The ports; 0 alone picks a free one.
    pub ports: RangeInclusive<u16>,
}

/// A port or a range of them: `443`, `"8000-8099"`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortRange(pub RangeInclusive<u16>);

/// An origin: `"http://127.0.0.1:8000"`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct OriginUrl(pub OriginAddress);

/// A host's name or address, or all names below one: `"www.example.com"`, `".example.com"`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct HostPattern(pub String);

/// A proxy's name in `Via`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Pseudonym(pub String);

/// The name of a header field: `"X-Real-IP"`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct FieldName(pub HeaderName);

impl FromStr for FieldName {
    type Err = String;

    fn from_str(text: &str) -> Result<FieldName, String> {
        text.parse()
            .map(FieldName)
            .map_err(|_| format!("`{text}` is not the name of a header field"))
    }
}

impl FromStr for ConfigDuration {
    type Err = String;

    fn from_str(text: &str) -> Result<ConfigDuration, String> {
        units::parse::duration(text).map(ConfigDuration).map_err(|error| error.to_string())
    }
}

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Size, String> {
        units::parse::size_bytes(text).map(Size).map_err(|error| error.to_string())
    }
}

impl FromStr for AltSvcAge {
    type Err = String;

    fn from_str(text: &str) -> Result<AltSvcAge, String> {
        if text == "off" {
            return Ok(AltSvcAge(None));
        }
        let ConfigDuration(span) = text.parse()?;
        match span.as_secs() {
            // RFC 7838 section 3.1 counts in seconds.
            0 => Err(format!("`{text}` is less than a second; write \"off\" to advertise none")),
            _ => Ok(AltSvcAge(Some(span))),
        }
    }
}

impl FromStr for ConfigNetwork {
    type Err = String;

    fn from_str(text: &str) -> Result<ConfigNetwork, String> {
        let network = text.parse::<IpNet>().or_else(|_| text.parse::<IpAddr>().map(IpNet::from));
        let network = network.map_err(|_| {
            format!("`{text}` is not a network; write an address with the length of its prefix: 10.0.0.0/8")
        })?;
        match network.trunc() == network {
            true => Ok(ConfigNetwork(network)),
            false => Err(format!(
                "`{text}` has bits beyond its prefix; did you mean {} or {}?",
                network.trunc(),
                network.addr()
            )),
        }
    }
}

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Address, String> {
        let wrong = || {
            format!(
                "`{text}` is not an address to listen on; write PORT, ADDRESS:PORT or ADDRESS:FIRST-LAST: 127.0.0.1:3128"
            )
        };
        let (first, last) = match text.rsplit_once('-') {
            Some((first, last)) => (first, Some(last)),
            None => (text, None),
        };
        // A port alone, or localhost, means loopback.
        let own = first.strip_prefix("localhost:");
        let address = match own.unwrap_or(first).parse::<u16>() {
            Ok(port) => SocketAddr::from(([127, 0, 0, 1], port)),
            Err(_) if own.is_some() => return Err(wrong()),
            Err(_) => first.parse().map_err(|_| wrong())?,
        };
        let last = last.map_or(Ok(address.port()), str::parse).map_err(|_| wrong())?;
        let ports = address.port()..=last;
        if ports.is_empty() || (*ports.start() == 0 && last != 0) {
            return Err(format!("`{text}` is an empty range of ports; write the lower port first"));
        }
        Ok(Address { ip: address.ip(), ports })
    }
}

impl FromStr for PortRange {
    type Err = String;

    fn from_str(text: &str) -> Result<PortRange, String> {
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        let port = |digits: &str| digits.parse::<u16>().ok().filter(|port| *port > 0);
        match (port(first), port(last)) {
            (Some(first), Some(last)) if first <= last => Ok(PortRange(first..=last)),
            _ => Err(format!(
                "`{text}` is not a port from 1 to 65535, nor a range such as 8000-8099"
            )),
        }
    }
}

impl FromStr for OriginUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<OriginUrl, String> {
        let wrong = |why: &dyn fmt::Display| {
            format!(
                "`{text}` is not an origin ({why}); write http://HOST:PORT or https://HOST:PORT"
            )
        };
        match RequestTarget::of("GET", text, "", None) {
            Ok(RequestTarget::Absolute { scheme, authority, path: "" | "/" }) => {
                Ok(OriginUrl(OriginAddress::new(scheme, &authority)))
            }
            Ok(RequestTarget::Absolute { .. }) => {
                Err(wrong(&"it has a path; paths of requests are forwarded as they are"))
            }
            Ok(_) => Err(wrong(&"it has no scheme")),
            Err(error) => Err(wrong(&error)),
        }
    }
}

impl FromStr for HostPattern {
    type Err = String;

    fn from_str(text: &str) -> Result<HostPattern, String> {
        let host = text.strip_prefix('.').unwrap_or(text);
        match Authority::parse(host) {
            Ok(Authority { port: None, .. }) => Ok(HostPattern(text.to_ascii_lowercase())),
            _ => Err(format!(
                "`{text}` is not a host; write a name, an address, or a dot and a name for all below it: .example.com"
            )),
        }
    }
}

impl FromStr for Pseudonym {
    type Err = String;

    fn from_str(text: &str) -> Result<Pseudonym, String> {
        let is_token =
            |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b':');
        match !text.is_empty() && text.bytes().all(is_token) {
            true => Ok(Pseudonym(text.to_owned())),
            false => Err(format!(
                "`{text}` is not a name for `Via`; write letters, digits, dots and hyphens"
            )),
        }
    }
}

macro_rules! from_string {
    ($($type:ty),*) => {$(
        impl TryFrom<String> for $type {
            type Error = String;

            fn try_from(text: String) -> Result<$type, String> {
                text.parse()
            }
        }
    )*};
}

from_string!(
    ConfigDuration,
    Size,
    AltSvcAge,
    ConfigNetwork,
    Address,
    OriginUrl,
    HostPattern,
    FieldName,
    Pseudonym
);

impl<'de> Deserialize<'de> for PortRange {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<PortRange, D::Error> {
        struct PortVisitor;

        impl Visitor<'_> for PortVisitor {
            type Value = PortRange;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a port (443) or a range of ports in quotes (\"8000-8099\")")
            }

            fn visit_i64<E: Error>(self, number: i64) -> Result<PortRange, E> {
                number.to_string().parse().map_err(E::custom)
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<PortRange, E> {
                text.parse().map_err(E::custom)
            }
        }

        deserializer.deserialize_any(PortVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_what_they_say() {
        assert_eq!("10s".parse(), Ok(ConfigDuration(Duration::from_secs(10))));
        assert_eq!("off".parse(), Ok(AltSvcAge(None)));
        assert_eq!("1h".parse(), Ok(AltSvcAge(Some(Duration::from_secs(3_600)))));
        assert!("500ms".parse::<AltSvcAge>().is_err());
        assert_eq!("10.0.0.0/8".parse::<ConfigNetwork>().unwrap().0.prefix_len(), 8);
        assert_eq!("::1".parse::<ConfigNetwork>().unwrap().0.prefix_len(), 128);
        let read = |text: &str| text.parse::<Address>().map(|at| (at.ip.to_string(), at.ports));
        let own = Ok(("127.0.0.1".to_owned(), 3128..=3128));
        assert_eq!((read("localhost:3128"), read("3128")), (own.clone(), own));
        assert_eq!(read("localhost:8001-8003"), Ok(("127.0.0.1".to_owned(), 8001..=8003)));
        assert!(read("localhost").unwrap_err().contains("write PORT"));
        let address: Address = "[::1]:8001-8020".parse().unwrap();
        assert_eq!(address.ports, 8001..=8020);
        assert_eq!("443".parse(), Ok(PortRange(443..=443)));
        let origin: OriginUrl = "https://A.test/".parse().unwrap();
        assert_eq!(origin.0.to_string(), "https://a.test:443");
        assert_eq!(".A.test".parse(), Ok(HostPattern(".a.test".to_owned())));
    }

    #[test]
    fn others_are_refused_with_an_example() {
        let refusal = |result: Result<(), String>| result.unwrap_err();
        let network = |text: &str| refusal(text.parse::<ConfigNetwork>().map(drop));
        assert!(network("10.0.0.0/33").contains("10.0.0.0/8"));
        assert!(network("10.0.0.1/8").contains("did you mean 10.0.0.0/8 or 10.0.0.1?"));
        for text in [
            "here",
            "localhost",
            "localhost:127.0.0.1:80",
            "127.0.0.1",
            "127.0.0.1:9-8",
            "127.0.0.1:0-8",
            "127.0.0.1:1-x",
        ] {
            assert!(text.parse::<Address>().is_err(), "{text}");
        }
        for text in ["0", "70000", "9-8", "-", ""] {
            assert!(text.parse::<PortRange>().is_err(), "{text}");
        }
        for text in ["a.test", "a.test:80", "http://a.test/x", "ftp://a", "http://u@a", "http://"] {
            assert!(text.parse::<OriginUrl>().is_err(), "{text}");
        }
        for text in ["", ".", "a:80", "a b", "*.a"] {
            assert!(text.parse::<HostPattern>().is_err(), "{text}");
        }
    }
}
