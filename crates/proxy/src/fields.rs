//! Fields of forwarded messages: removal and addition (RFC 9110 sections 7.6 and 11.7).
//!
//! Fields of the connection are not forwarded, nor are those that `Connection` names. Each protocol writes the framing of a message
//! (`Content-Length`, `Transfer-Encoding`) itself. Names and values become `http`'s types, which hold no CR, LF or NUL: no forwarded
//! message can be parsed as two.

use std::fmt::Write;
use std::net::IpAddr;

use http::header::{
    CONNECTION, COOKIE, EXPECT, FORWARDED, HOST, HeaderName, HeaderValue, InvalidHeaderValue,
    UPGRADE, VIA,
};
use http::{HeaderMap, Version};
use ipnet::IpNet;
use ring::rand::{SecureRandom, SystemRandom};
use serde::Deserialize;
use thiserror::Error;

use crate::access::within;
use crate::target::Scheme;

/// Fields of the connection or of message framing (RFC 9110 section 7.6.1, RFC 9112 section 6, RFC 9113 section 8.2.2). `Expect` and
/// `Upgrade` are offered anew to the next hop where it supports them; credentials for this proxy stay here.
const OF_THE_CONNECTION: [HeaderName; 13] = [
    http::header::CONNECTION,
    http::header::CONTENT_LENGTH,
    http::header::EXPECT,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    http::header::PROXY_AUTHENTICATE,
    HeaderName::from_static("proxy-authentication-info"),
    http::header::PROXY_AUTHORIZATION,
    http::header::TE,
    http::header::TRAILER,
    http::header::TRANSFER_ENCODING,
    http::header::UPGRADE,
    HeaderName::from_static("http2-settings"),
];

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const X_FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");
const X_FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

/// Fields in which proxies describe clients.
pub(crate) const OF_CLIENTS: [HeaderName; 4] =
    [FORWARDED, X_FORWARDED_FOR, X_FORWARDED_HOST, X_FORWARDED_PROTO];

/// A field that cannot be forwarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("a field is malformed")]
pub struct MalformedField;

/// Collects `fields` in the order of arrival.
///
/// # Errors
/// If a name or a value is malformed.
pub fn gather<'a>(
    fields: impl Iterator<Item = (&'a str, &'a [u8])>,
) -> Result<HeaderMap, MalformedField> {
    let mut gathered = HeaderMap::with_capacity(16);
    for (name, value) in fields {
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| MalformedField)?;
        let value = HeaderValue::from_bytes(value).map_err(|_| MalformedField)?;
        gathered.append(name, value);
    }
    join_cookies(&mut gathered);
    Ok(gathered)
}

/// Joins the `Cookie` fields into one. HTTP/2, HTTP/3 and SPDY may split it, but an HTTP/1.1 origin must see one (RFC 9113 section
/// 8.2.3, RFC 9114 section 4.2.1).
fn join_cookies(fields: &mut HeaderMap) {
    let mut pairs = fields.get_all(COOKIE).iter();
    if let (Some(first), Some(second)) = (pairs.next(), pairs.next()) {
        let mut joined = first.as_bytes().to_vec();
        for pair in std::iter::once(second).chain(pairs) {
            joined.extend_from_slice(b"; ");
            joined.extend_from_slice(pair.as_bytes());
        }
        let joined = HeaderValue::from_bytes(&joined);
        fields.insert(COOKIE, joined.expect("values and their separators make a value"));
    }
}

/// Removes fields that are not forwarded.
pub fn strip(fields: &mut HeaderMap) {
    let named: Vec<HeaderName> = fields
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        // RFC 9110 section 7.6.1: a field that all recipients need is not the connection's, even if `Connection` names it.
        .filter(|name| *name != HOST && *name != VIA)
        .collect();
    let goes_on = |name: &HeaderName| !OF_THE_CONNECTION.contains(name) && !named.contains(name);
    // Rebuilt, since removing one by one would change the order of the others.
    let kept = fields.iter().filter(|(name, _)| goes_on(name));
    *fields = kept.map(|(name, value)| (name.clone(), value.clone())).collect();
}

/// The protocol that a client offers to switch to (RFC 9110 section 7.8), unless that is HTTP/2 in clear text, which is obsolete (RFC
/// 9113 section 3.1).
pub fn offered_protocol(fields: &HeaderMap) -> Option<HeaderValue> {
    let is_offer = fields.get_all(CONNECTION).iter().any(|value| has_member(value, "upgrade"));
    let offered = fields.get(UPGRADE).filter(|value| is_offer && !has_member(value, "h2c"));
    offered.cloned()
}

/// Returns true if a client waits for 100 (Continue) before it sends its body (RFC 9110 section 10.1.1).
pub fn expects_continue(fields: &HeaderMap) -> bool {
    fields.get_all(EXPECT).iter().any(|value| has_member(value, "100-continue"))
}

fn has_member(list: &HeaderValue, name: &str) -> bool {
    let mut members = list.as_bytes().split(|byte| *byte == b',');
    members.any(|member| member.trim_ascii().eq_ignore_ascii_case(name.as_bytes()))
}

/// This proxy's name in `Via` (RFC 9110 section 7.6.3); none for a proxy that stays unseen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ViaPseudonym(Option<String>);

impl ViaPseudonym {
    /// A unique random name, for a proxy that was given none.
    pub fn random_pseudonym() -> String {
        let mut bytes = [0; 4];
        SystemRandom::new().fill(&mut bytes).expect("a system that a proxy runs on has randomness");
        format!("farlink-{:08x}", u32::from_be_bytes(bytes))
    }

    /// A proxy named `pseudonym`, which must be unique along the path.
    pub fn new(pseudonym: &str) -> ViaPseudonym {
        ViaPseudonym(Some(pseudonym.to_owned()))
    }

    /// No name, for a recorder: origins answer a request with `Via` differently, nginx without compression.
    pub fn unseen() -> ViaPseudonym {
        ViaPseudonym(None)
    }

    /// Returns true if a message with `fields` has passed this proxy before: then it is in a loop.
    pub fn has_passed(&self, fields: &HeaderMap) -> bool {
        let Some(own) = self.0.as_deref() else { return false };
        let values = fields.get_all(VIA).iter().filter_map(|value| value.to_str().ok());
        let mut members = values.flat_map(|value| value.split(','));
        members.any(|member| member.split_whitespace().nth(1) == Some(own))
    }

    /// Appends this proxy to those that the message has passed; `received` is the version of the incoming message.
    pub fn add(&self, fields: &mut HeaderMap, received: Version) {
        let Some(own) = self.0.as_deref() else { return };
        let version = match received {
            Version::HTTP_10 => "1.0",
            Version::HTTP_2 => "2",
            Version::HTTP_3 => "3",
            _ => "1.1",
        };
        let mut value = Vec::new();
        for before in fields.get_all(VIA) {
            value.extend_from_slice(before.as_bytes());
            value.extend_from_slice(b", ");
        }
        value.extend_from_slice(version.as_bytes());
        value.push(b' ');
        value.extend_from_slice(own.as_bytes());
        let value = HeaderValue::from_bytes(&value);
        fields.insert(VIA, value.expect("fields' values and a token make a field's value"));
    }
}

/// Disclosure of clients to origins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Disclosure {
    /// Only what the client itself sends.
    #[default]
    Nothing,
    /// `X-Forwarded-For`, `-Proto` and `-Host`.
    XForwarded,
    /// `Forwarded` (RFC 7239).
    Forwarded,
}

/// A client, and the target of its request.
#[derive(Clone, Copy, Debug)]
pub struct DisclosedClient<'a> {
    /// Its address.
    pub address: IpAddr,
    /// Scheme of its request.
    pub scheme: Scheme,
    /// The requested host, with its port.
    pub host: &'a str,
}

impl Disclosure {
    /// Describes `client` to the origin. Information from a client in `trusted` on others before it is kept, any other client's is
    /// replaced. Returns true if the description is entirely this proxy's own.
    ///
    /// # Errors
    /// Never for hosts that were parsed as such.
    pub fn tell(
        self,
        fields: &mut HeaderMap,
        client: DisclosedClient<'_>,
        trusted: &[IpNet],
    ) -> Result<bool, InvalidHeaderValue> {
        if self == Disclosure::Nothing {
            return Ok(false);
        }
        let address = client.address.to_canonical();
        let is_trusted = within(trusted, address);
        let known = if is_trusted { list(fields, &self.chain()) } else { String::new() };
        let keeps_host = is_trusted && fields.contains_key(X_FORWARDED_HOST);
        let kept = [X_FORWARDED_HOST, X_FORWARDED_PROTO].map(|name| fields.get(name).cloned());
        let is_own = !keeps_host && (self != Disclosure::Forwarded || known.is_empty());
        for name in OF_CLIENTS {
            fields.remove(name);
        }
        fields.insert(self.chain(), self.link(known, address, &client).parse()?);
        if self == Disclosure::XForwarded {
            let [host, scheme] = kept.map(|value| value.filter(|_| keeps_host));
            fields.insert(X_FORWARDED_HOST, host.map_or_else(|| client.host.parse(), Ok)?);
            let own = HeaderValue::from_static(client.scheme.name());
            fields.insert(X_FORWARDED_PROTO, scheme.unwrap_or(own));
        }
        Ok(is_own)
    }

    /// The field in which proxies append clients to a chain.
    fn chain(self) -> HeaderName {
        if self == Disclosure::Forwarded { FORWARDED } else { X_FORWARDED_FOR }
    }

    /// The chain with this client appended.
    fn link(self, mut known: String, address: IpAddr, client: &DisclosedClient<'_>) -> String {
        if !known.is_empty() {
            known.push_str(", ");
        }
        let written = match (self, address) {
            (Disclosure::Forwarded, IpAddr::V6(_)) => {
                // RFC 7239 section 6: an IPv6 address is written in brackets and quotes.
                write!(known, "for=\"[{address}]\"")
            }
            (Disclosure::Forwarded, IpAddr::V4(_)) => write!(known, "for={address}"),
            _ => write!(known, "{address}"),
        };
        written.expect("a String takes any write");
        if self == Disclosure::Forwarded {
            let DisclosedClient { scheme, host, .. } = client;
            write!(known, ";host=\"{host}\";proto={}", scheme.name())
                .expect("a String takes any write");
        }
        known
    }
}

/// All values of a field as one list.
fn list(fields: &HeaderMap, name: &HeaderName) -> String {
    let values: Vec<&str> =
        fields.get_all(name).iter().filter_map(|value| value.to_str().ok()).collect();
    values.join(", ")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn fields(pairs: &[(&str, &str)]) -> HeaderMap {
        gather(pairs.iter().map(|(name, value)| (*name, value.as_bytes()))).expect("fields")
    }

    fn text(fields: &HeaderMap) -> Vec<String> {
        fields.iter().map(|(name, value)| format!("{name}: {}", value.to_str().unwrap())).collect()
    }

    #[test]
    fn what_is_of_the_connection_goes_no_further() {
        let mut fields = fields(&[
            ("Accept", "*/*"),
            ("Connection", "close, X-Secret"),
            ("connection", "x-other,host"),
            ("X-Secret", "1"),
            ("X-Other", "2"),
            ("Host", "a.test"),
            ("TE", "trailers"),
            ("Transfer-Encoding", "chunked"),
            ("Content-Length", "3"),
            ("Proxy-Authorization", "Basic x"),
            ("Proxy-Connection", "keep-alive"),
            ("Upgrade", "websocket"),
            ("Cookie", "a=b"),
        ]);
        strip(&mut fields);
        assert_eq!(text(&fields), ["accept: */*", "host: a.test", "cookie: a=b"]);
    }

    /// RFC 9113 section 8.2.3.
    #[test]
    fn cookies_are_one_field() {
        let fields =
            fields(&[("cookie", "a=1"), ("accept", "*/*"), ("Cookie", "b=2; c"), ("cookie", "d=")]);
        assert_eq!(text(&fields), ["cookie: a=1; b=2; c; d=", "accept: */*"]);
    }

    #[test]
    fn malformed_fields_are_refused() {
        for (name, value) in [("a b", "x"), ("", "x"), ("a", "x\ny"), ("a", "x\0")] {
            let gathered = gather([(name, value.as_bytes())].into_iter());
            assert_eq!(gathered.unwrap_err(), MalformedField, "{name}: {value}");
        }
    }

    #[test]
    fn a_loop_is_seen() {
        let via = ViaPseudonym::new("farlink-1");
        let mut fields = fields(&[("Via", "1.0 fred"), ("Via", "1.1 p.example (Apache/1.1)")]);
        assert!(!via.has_passed(&fields));
        via.add(&mut fields, Version::HTTP_2);
        assert_eq!(fields[VIA], "1.0 fred, 1.1 p.example (Apache/1.1), 2 farlink-1");
        assert!(via.has_passed(&fields));
        assert!(!ViaPseudonym::new("farlink").has_passed(&fields));
    }

    fn told(
        disclosure: Disclosure,
        from: &str,
        trusted: &str,
        before: &[(&str, &str)],
    ) -> Vec<String> {
        let mut fields = fields(before);
        let (address, scheme) = (from.parse().unwrap(), Scheme::Https);
        let client = DisclosedClient { address, scheme, host: "a.test" };
        disclosure.tell(&mut fields, client, &[trusted.parse().unwrap()]).expect("a host");
        text(&fields)
    }

    #[test]
    fn origins_are_told_of_clients_and_lies_are_replaced() {
        let before =
            [("x-forwarded-for", "1.1.1.1"), ("X-Forwarded-Host", "z"), ("Forwarded", "for=x")];
        assert_eq!(
            told(Disclosure::XForwarded, "9.9.9.9", "10.0.0.0/8", &before),
            ["x-forwarded-for: 9.9.9.9", "x-forwarded-host: a.test", "x-forwarded-proto: https"]
        );
        assert_eq!(
            told(Disclosure::XForwarded, "10.0.0.1", "10.0.0.0/8", &before),
            [
                "x-forwarded-for: 1.1.1.1, 10.0.0.1",
                "x-forwarded-host: z",
                "x-forwarded-proto: https"
            ]
        );
        assert_eq!(
            told(Disclosure::Forwarded, "2a00::1", "10.0.0.0/8", &before),
            ["forwarded: for=\"[2a00::1]\";host=\"a.test\";proto=https"]
        );
        assert_eq!(told(Disclosure::Nothing, "9.9.9.9", "10.0.0.0/8", &before[..1]).len(), 1);
    }

    proptest! {
        #[test]
        fn nothing_panics(name in ".{0,12}", value in prop::collection::vec(any::<u8>(), 0..40)) {
            if let Ok(mut fields) = gather([(name.as_str(), &value[..]), ("connection", &value), ("via", &value)].into_iter()) {
                ViaPseudonym::new("x").has_passed(&fields);
                ViaPseudonym::new("x").add(&mut fields, Version::HTTP_11);
                strip(&mut fields);
            }
        }
    }
}
