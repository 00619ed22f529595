//! Target of a request to a proxy (RFC 9112 section 3.2, RFC 9113 section 8.3.1).
//!
//! Borrowed from the request's head; nothing here allocates. Only `http` and `https` are known. Ambiguous input is refused
//! rather than guessed: user information, ports that are not numbers, bytes that no host has.

pub use cache::Scheme;
use thiserror::Error;

/// Host and port, the host as it was written (an IPv6 address in its brackets).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Authority<'a> {
    /// All of it, as it was written.
    pub text: &'a str,
    /// A name or an address; never empty.
    pub host: &'a str,
    /// The port, if one was named.
    pub port: Option<u16>,
}

/// Target of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestTarget<'a> {
    /// A resource of any origin: the form for forward proxies.
    Absolute {
        /// Scheme of the origin.
        scheme: Scheme,
        /// The origin.
        authority: Authority<'a>,
        /// Path and query; empty, or without its slash before the query, where the URI has no path.
        path: &'a str,
    },
    /// A resource of this server: the form for reverse proxies.
    Local {
        /// The requested host; none in HTTP/1.0.
        authority: Option<Authority<'a>>,
        /// Path and query.
        path: &'a str,
    },
    /// A tunnel to this host (`CONNECT`).
    Tunnel(Authority<'a>),
    /// The server as a whole (`OPTIONS *`).
    Server,
}

/// Reason for refusing a request's target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum TargetError {
    /// Not `http` and not `https`.
    #[error("the scheme is neither http nor https")]
    Scheme,
    /// The host or the port is malformed.
    #[error("the host or its port is malformed")]
    Authority,
    /// User information in the target: it would end up in logs, and obscures the host.
    #[error("the target names a user")]
    UserInformation,
    /// A tunnel without a port.
    #[error("CONNECT names no port")]
    NoPort,
    /// None of the forms.
    #[error("the target is malformed")]
    Form,
}

impl<'a> RequestTarget<'a> {
    /// The target of a request with `method` and `target`; `authority` is the `Host` field or the `:authority` pseudo-field,
    /// and `scheme` the `:scheme` pseudo-field, which HTTP/1 lacks.
    ///
    /// # Errors
    /// If the target is malformed or ambiguous.
    pub fn of(
        method: &str,
        target: &'a str,
        authority: &'a str,
        scheme: Option<&'a str>,
    ) -> Result<RequestTarget<'a>, TargetError> {
        if method == "CONNECT" {
            let text = if scheme.is_none() && !target.is_empty() { target } else { authority };
            let authority = Authority::parse(text)?;
            return match authority.port {
                Some(_) => Ok(RequestTarget::Tunnel(authority)),
                None => Err(TargetError::NoPort),
            };
        }
        if target == "*" {
            return if method == "OPTIONS" {
                Ok(RequestTarget::Server)
            } else {
                Err(TargetError::Form)
            };
        }
        if let Some(scheme) = scheme {
            let (scheme, authority) = (parse_scheme(scheme)?, Authority::parse(authority)?);
            return Ok(RequestTarget::Absolute { scheme, authority, path: path(target)? });
        }
        if target.starts_with('/') {
            let authority = match authority {
                "" => None,
                text => Some(Authority::parse(text)?),
            };
            return Ok(RequestTarget::Local { authority, path: path(target)? });
        }
        let (scheme, rest) = target.split_once("://").ok_or(TargetError::Form)?;
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (scheme, authority) = (parse_scheme(scheme)?, Authority::parse(&rest[..end])?);
        Ok(RequestTarget::Absolute { scheme, authority, path: path(&rest[end..])? })
    }
}

fn parse_scheme(name: &str) -> Result<Scheme, TargetError> {
    [Scheme::Http, Scheme::Https]
        .into_iter()
        .find(|scheme| scheme.name().eq_ignore_ascii_case(name))
        .ok_or(TargetError::Scheme)
}

/// Checks a path with its query: no fragment (RFC 9112 section 3.2.1) and no bytes outside visible ASCII.
fn path(text: &str) -> Result<&str, TargetError> {
    match text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'#') {
        true => Ok(text),
        false => Err(TargetError::Form),
    }
}

impl<'a> Authority<'a> {
    /// Parses `host[:port]` (RFC 3986 section 3.2).
    ///
    /// # Errors
    /// If it is malformed or names a user.
    pub fn parse(text: &'a str) -> Result<Authority<'a>, TargetError> {
        if text.contains('@') {
            return Err(TargetError::UserInformation);
        }
        let end = match text.starts_with('[') {
            true => text.find(']').ok_or(TargetError::Authority)? + 1,
            false => text.find(':').unwrap_or(text.len()),
        };
        let (host, rest) = text.split_at(end);
        let port = match rest.strip_prefix(':') {
            // RFC 3986 section 3.2.3: an empty port is the default one.
            Some("") => None,
            Some(digits) => Some(port(digits).ok_or(TargetError::Authority)?),
            None if rest.is_empty() => None,
            None => return Err(TargetError::Authority),
        };
        if is_host(host) { Ok(Authority { text, host, port }) } else { Err(TargetError::Authority) }
    }

    /// The host for name lookups: an IPv6 address without its brackets.
    pub fn bare_host(&self) -> &'a str {
        bare(self.host)
    }
}

/// A host without the brackets of an IPv6 address.
pub(crate) fn bare(host: &str) -> &str {
    host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host)
}

fn port(digits: &str) -> Option<u16> {
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| digits.parse().ok()).flatten().filter(|port| *port > 0)
}

/// Returns true if this can be a host: an IPv6 address in brackets, or the letters of names and IPv4 addresses. RFC 3986 allows
/// more in names; no host on the internet uses it, and programs parse it differently.
fn is_host(host: &str) -> bool {
    /// RFC 1035 section 2.3.4.
    const MOST_BYTES: usize = 255;
    if let Some(address) = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
        return address.parse::<std::net::Ipv6Addr>().is_ok();
    }
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
    (1..=MOST_BYTES).contains(&host.len()) && host.bytes().all(is_plain) && !host.starts_with('.')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn authority(text: &str) -> Authority<'_> {
        Authority::parse(text).expect("an authority")
    }

    #[test]
    fn every_form_is_told_from_the_others() {
        let of = |method, target| RequestTarget::of(method, target, "proxy.test:3128", None);
        assert_eq!(
            of("GET", "HTTP://a.test:81?x"),
            Ok(RequestTarget::Absolute {
                scheme: Scheme::Http,
                authority: authority("a.test:81"),
                path: "?x"
            })
        );
        let local =
            RequestTarget::Local { authority: Some(authority("proxy.test:3128")), path: "/x" };
        assert_eq!(of("GET", "/x"), Ok(local));
        assert_eq!(of("CONNECT", "[::1]:443"), Ok(RequestTarget::Tunnel(authority("[::1]:443"))));
        assert_eq!(of("OPTIONS", "*"), Ok(RequestTarget::Server));
        let (scheme, path) = (Scheme::Https, "/x");
        let expected = RequestTarget::Absolute { scheme, authority: authority("a.test"), path };
        assert_eq!(RequestTarget::of("GET", "/x", "a.test", Some("https")), Ok(expected));
        let tunnel = RequestTarget::of("CONNECT", "", "a.test:443", None);
        assert_eq!(tunnel, Ok(RequestTarget::Tunnel(authority("a.test:443"))));
    }

    #[test]
    fn what_could_be_misread_is_refused() {
        use TargetError::{Authority, Form, NoPort, Scheme, UserInformation};
        for (method, target, error) in [
            ("GET", "ftp://a/", Scheme),
            ("GET", "a.test", Form),
            ("GET", "*", Form),
            ("GET", "http://", Authority),
            ("GET", "http:///x", Authority),
            ("GET", "http://user@a.test/", UserInformation),
            ("GET", "http://a.test:0/", Authority),
            ("GET", "http://a.test:+80/", Authority),
            ("GET", "http://a.test:65536/", Authority),
            ("GET", "http://a%2eb/", Authority),
            ("GET", "http://a\\b/", Authority),
            ("GET", "http://[::1/", Authority),
            ("GET", "http://[::1]x/", Authority),
            ("GET", "http://[v1.x]/", Authority),
            ("GET", "http://a/x#y", Form),
            ("CONNECT", "a.test", NoPort),
            ("CONNECT", "http://a.test:443", Authority),
        ] {
            assert_eq!(
                RequestTarget::of(method, target, "", None),
                Err(error),
                "{method} {target}"
            );
        }
    }

    #[test]
    fn brackets_belong_to_no_name() {
        assert_eq!(authority("[::1]:80").bare_host(), "::1");
        assert_eq!(authority("a.test").bare_host(), "a.test");
    }

    proptest! {
        #[test]
        fn nothing_panics(target in ".{0,40}", authority in ".{0,40}") {
            for method in ["GET", "CONNECT", "OPTIONS"] {
                for scheme in [None, Some("http")] {
                    let _ = RequestTarget::of(method, &target, &authority, scheme);
                }
            }
        }

        #[test]
        fn hosts_and_ports_survive(host in "[a-z0-9][a-z0-9.-]{0,30}", port in 1u16..) {
            let text = format!("{host}:{port}");
            let read = Authority::parse(&text).expect("an authority");
            prop_assert_eq!((read.host, read.port), (&host[..], Some(port)));
        }
    }
}
