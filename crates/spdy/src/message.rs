//! Mapping of HTTP's messages to header blocks (3.2): the names in each version, nothing else.
//!
//! A request has a method, a scheme, a host, a path and a version in addition to its fields, a response a status
//! and a version. Since version 3 their names begin with a colon. Version 2 has `url`, a path or a whole URL, and
//! the ordinary `host` field.

use thiserror::Error;

use crate::{Fields, Version};

/// Special fields of a request's block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct RequestLine<'a> {
    pub method: &'a [u8],
    pub scheme: &'a [u8],
    pub host: &'a [u8],
    /// Path and query; a whole URL in a request to a proxy.
    pub path: &'a [u8],
}

/// The names of one version.
struct HeaderNames {
    method: &'static str,
    scheme: &'static str,
    host: &'static str,
    path: &'static str,
    version: &'static str,
    status: &'static str,
}

const NAMES_2: HeaderNames = HeaderNames {
    method: "method",
    scheme: "scheme",
    host: "host",
    path: "url",
    version: "version",
    status: "status",
};

const NAMES_3: HeaderNames = HeaderNames {
    method: ":method",
    scheme: ":scheme",
    host: ":host",
    path: ":path",
    version: ":version",
    status: ":status",
};

fn names(version: Version) -> &'static HeaderNames {
    if version == Version::V2 { &NAMES_2 } else { &NAMES_3 }
}

const HTTP: &str = "HTTP/1.1";

/// A mandatory field of a block is missing or invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the header block lacks a valid `{0}`")]
pub struct Missing(pub &'static str);

/// The beginning of a request's block; the other fields are to be pushed after it.
pub fn request(version: Version, line: RequestLine<'_>) -> Fields {
    let names = names(version);
    Fields::new()
        .with(names.host, line.host)
        .with(names.method, line.method)
        .with(names.path, line.path)
        .with(names.scheme, line.scheme)
        .with(names.version, HTTP)
}

/// The beginning of a response's block. `status` is the code, with or without its phrase.
pub fn response(version: Version, status: &str) -> Fields {
    let names = names(version);
    Fields::new().with(names.status, status).with(names.version, HTTP)
}

/// The beginning of the block of a pushed stream (3.3.1).
pub fn pushed(version: Version, scheme: &str, host: &str, path: &str) -> Fields {
    let names = names(version);
    if version == Version::V2 {
        return Fields::new().with(names.path, format!("{scheme}://{host}{path}"));
    }
    Fields::new().with(names.host, host).with(names.path, path).with(names.scheme, scheme)
}

/// The block of a pushed stream that also holds the head of its response: `head`, the block of a response. It
/// includes the method in addition to the mandatory fields of 3.3.1, because npm's `spdy` requires it.
pub fn pushed_with(
    version: Version,
    scheme: &str,
    host: &str,
    path: &str,
    head: &Fields,
) -> Fields {
    let names = names(version);
    let mut fields = pushed(version, scheme, host, path).with(names.method, "GET");
    head.iter().for_each(|(name, value)| fields.push(name, value));
    fields
}

/// The URL of a pushed response (3.3.1): scheme, host and path.
///
/// # Errors
/// If the block lacks one of them.
pub fn read_pushed(version: Version, fields: &Fields) -> Result<[&[u8]; 3], Missing> {
    let names = names(version);
    let find = |name: &'static str| {
        fields.get(name).filter(|value| !value.is_empty()).ok_or(Missing(name))
    };
    let path = find(names.path)?;
    let whole = split_url(path).filter(|_| version == Version::V2);
    match whole {
        Some(whole) => Ok(whole.into()),
        // In version 2 the URL has to be whole; npm's `spdy` sends its parts in version 2, too.
        None => Ok([find(names.scheme)?, find(names.host)?, path]),
    }
}

/// The request line of a block.
///
/// # Errors
/// If the block lacks a mandatory field: such a request is answered with 400.
pub fn read_request(version: Version, fields: &Fields) -> Result<RequestLine<'_>, Missing> {
    let names = names(version);
    let find = |name: &'static str| {
        fields
            .get(name)
            .filter(|value| !value.is_empty() && !value.contains(&0))
            .ok_or(Missing(name))
    };
    find(names.version)?;
    let method = find(names.method)?;
    let path = find(names.path)?;
    let host = find(names.host);
    if method == b"CONNECT" {
        // Chrome's format for its SPDY proxies: the path is host and port, and there is no scheme.
        return Ok(RequestLine { method, scheme: b"", host: path, path });
    }
    if version != Version::V2 {
        return Ok(RequestLine { method, scheme: find(names.scheme)?, host: host?, path });
    }
    // "The host:port portion of the HTTP URL is the definitive host"; Chrome sent only a path there, and the host
    // as a separate field.
    let scheme = find(names.scheme).unwrap_or(b"http");
    match split_url(path) {
        Some((scheme, host, path)) => Ok(RequestLine { method, scheme, host, path }),
        None => Ok(RequestLine { method, scheme, host: host.unwrap_or(b""), path }),
    }
}

/// Scheme, host and path of a whole URL.
fn split_url(url: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let mark = url.windows(3).position(|bytes| bytes == b"://")?;
    if url[..mark].contains(&b'/') {
        return None;
    }
    let (scheme, rest) = (&url[..mark], &url[mark + 3..]);
    let end = rest.iter().position(|byte| *byte == b'/');
    let (host, path) = rest.split_at(end.unwrap_or(rest.len()));
    Some((scheme, host, if path.is_empty() { b"/" } else { path }))
}

/// The status code of a response.
///
/// # Errors
/// If the block has no status of three digits or no version: the stream is reset with PROTOCOL_ERROR (3.2.2).
pub fn read_status(version: Version, fields: &Fields) -> Result<u16, Missing> {
    let names = names(version);
    fields.get(names.version).ok_or(Missing(names.version))?;
    let value = fields.get(names.status).unwrap_or_default();
    let digits = value.split(|byte| *byte == b' ').next().unwrap_or_default();
    let is_code = digits.len() == 3 && digits.iter().all(u8::is_ascii_digit);
    if !is_code {
        return Err(Missing(names.status));
    }
    Ok(digits.iter().fold(0, |code, digit| code * 10 + u16::from(digit - b'0')))
}

/// Returns true if `name` is not an HTTP field: to be left out when a block is converted to a message.
pub fn is_special(version: Version, name: &[u8]) -> bool {
    let names = names(version);
    let all = [names.method, names.scheme, names.host, names.path, names.version, names.status];
    all.iter().any(|special| special.as_bytes() == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: RequestLine<'static> =
        RequestLine { method: b"GET", scheme: b"https", host: b"a.test:8443", path: b"/x?y=1" };

    #[test]
    fn requests_come_back_in_every_version() {
        for version in Version::ALL {
            let fields = request(version, LINE).with("accept", "*/*");
            assert_eq!(fields.check(version), Ok(()));
            assert_eq!(read_request(version, &fields), Ok(LINE));
            let rest: Vec<_> =
                fields.iter().filter(|(name, _)| !is_special(version, name)).collect();
            assert_eq!(rest, [(&b"accept"[..], &b"*/*"[..])]);
        }
    }

    #[test]
    fn a_tunnel_is_asked_for_by_host_and_port() {
        for version in Version::ALL {
            let line = RequestLine { method: b"CONNECT", path: b"a.test:443", ..LINE };
            let asked = request(version, line);
            let scheme = names(version).scheme.as_bytes();
            let fields = asked.iter().filter(|(name, _)| *name != scheme).collect::<Fields>();
            let read = read_request(version, &fields).unwrap();
            assert_eq!((read.method, read.scheme), (&b"CONNECT"[..], &b""[..]));
            assert_eq!((read.host, read.path), (&b"a.test:443"[..], &b"a.test:443"[..]));
        }
    }

    #[test]
    fn a_promise_may_hold_the_response() {
        for version in Version::ALL {
            let head = response(version, "200 OK").with("etag", "x");
            let fields = pushed_with(version, "https", "a.test", "/x", &head);
            assert_eq!(fields.check(version), Ok(()));
            assert_eq!(read_status(version, &fields), Ok(200));
            let url = read_pushed(version, &fields).unwrap();
            assert_eq!(url, [&b"https"[..], &b"a.test"[..], &b"/x"[..]]);
            assert!(read_status(version, &pushed(version, "https", "a.test", "/x")).is_err());
        }
    }

    #[test]
    fn each_version_has_its_names() {
        let v31 = request(Version::V31, LINE);
        assert_eq!(v31.get(":path"), Some(&b"/x?y=1"[..]));
        let v2 = request(Version::V2, LINE);
        assert_eq!(v2.get("url"), Some(&b"/x?y=1"[..]));
        assert_eq!(read_request(Version::V31, &v2), Err(Missing(":version")));
    }

    #[test]
    fn a_whole_url_of_version_2_is_taken_apart() {
        let fields: Fields =
            [("method", "GET"), ("url", "http://b.test/x"), ("version", "HTTP/1.1")]
                .into_iter()
                .collect();
        let line = read_request(Version::V2, &fields).unwrap();
        assert_eq!((line.scheme, line.host, line.path), (&b"http"[..], &b"b.test"[..], &b"/x"[..]));
    }

    #[test]
    fn a_status_is_a_code_with_or_without_its_phrase() {
        for version in Version::ALL {
            for status in ["404", "404 Not Found"] {
                assert_eq!(read_status(version, &response(version, status)), Ok(404));
            }
            for status in ["", "4", "40x", "4040", "\u{ff14}04"] {
                assert!(read_status(version, &response(version, status)).is_err(), "{status}");
            }
        }
    }
}
