//! A request's fields, in any protocol's representation.

use ::spdy::{Version, message};
use http::HeaderMap;

use crate::h1::codec;

/// A request's fields, borrowed: as HTTP/1's lines, as the map of HTTP/2 and HTTP/3, as SPDY's block. Names are case-insensitive,
/// several values of one name come one by one. Pseudo-header fields of HTTP/2 and SPDY (`:method`, ...) are excluded.
#[derive(Clone, Copy, Debug, Default)]
pub struct Fields<'a>(Kind<'a>);

#[derive(Clone, Copy, Debug, Default)]
enum Kind<'a> {
    #[default]
    None,
    Lines(codec::Fields<'a>),
    Map(&'a HeaderMap),
    Block(Version, &'a ::spdy::Fields),
}

impl<'a> Fields<'a> {
    /// The fields of a SPDY block.
    pub(crate) fn of_block(version: Version, block: &'a ::spdy::Fields) -> Fields<'a> {
        Fields(Kind::Block(version, block))
    }

    /// The first field called `name`, which is in lower case.
    pub fn get(self, name: &str) -> Option<&'a [u8]> {
        match self.0 {
            Kind::None => None,
            Kind::Lines(lines) => lines.get(name),
            Kind::Map(map) => map.get(name).map(|value| value.as_bytes()),
            Kind::Block(..) => self.get_all(name).next(),
        }
    }

    /// All fields called `name`, which is in lower case, in order.
    pub fn get_all(self, name: &str) -> impl Iterator<Item = &'a [u8]> {
        self.iter().filter(move |(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// All fields in order: names in their original case, values without surrounding blanks. HTTP/2 and SPDY may have
    /// split a `cookie` into several (RFC 9113 section 8.2.3).
    pub fn iter(self) -> impl Iterator<Item = (&'a str, &'a [u8])> {
        let (mut lines, mut map, mut block) = (None, None, None);
        match self.0 {
            Kind::None => {}
            Kind::Lines(its) => lines = Some(its.iter()),
            Kind::Map(its) => map = Some(its.iter()),
            Kind::Block(version, its) => block = Some(of_block(version, its)),
        }
        let map = map.into_iter().flatten().map(|(name, value)| (name.as_str(), value.as_bytes()));
        lines.into_iter().flatten().chain(map).chain(block.into_iter().flatten())
    }
}

fn of_block(version: Version, block: &::spdy::Fields) -> impl Iterator<Item = (&str, &[u8])> {
    let fields = block.iter().filter(move |(name, _)| !message::is_special(version, name));
    // The block was checked: its names are ASCII.
    let named = fields.filter_map(|(name, value)| Some((str::from_utf8(name).ok()?, value)));
    named.flat_map(|(name, value)| ::spdy::Fields::values(value).map(move |value| (name, value)))
}

impl<'a> From<codec::Fields<'a>> for Fields<'a> {
    fn from(lines: codec::Fields<'a>) -> Fields<'a> {
        Fields(Kind::Lines(lines))
    }
}

impl<'a> From<&'a HeaderMap> for Fields<'a> {
    fn from(map: &'a HeaderMap) -> Fields<'a> {
        Fields(Kind::Map(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(fields: Fields<'_>) {
        let all: Vec<_> = fields.iter().map(|(n, v)| (n.to_ascii_lowercase(), v)).collect();
        let of = |name: &str, value: &'static [u8]| (name.to_owned(), value);
        assert_eq!(all, [of("a", b"1"), of("cookie", b"x=1"), of("cookie", b"y=2")]);
        assert_eq!(fields.get("a"), Some(&b"1"[..]));
        assert_eq!(fields.get("cookie"), Some(&b"x=1"[..]));
        assert_eq!(fields.get_all("cookie").count(), 2);
        assert_eq!(fields.get("host"), None);
    }

    #[test]
    fn fields_are_the_same_by_every_protocol() {
        let head = b"GET / HTTP/1.1\r\nA: 1\r\nCookie: x=1\r\ncookie:y=2 \r\n\r\n";
        check(codec::Fields::of(head).into());
        let mut map = HeaderMap::new();
        map.append("a", "1".parse().expect("a value"));
        map.append("cookie", "x=1".parse().expect("a value"));
        map.append("cookie", "y=2".parse().expect("a value"));
        check((&map).into());
        for version in Version::ALL {
            let line = message::RequestLine {
                method: b"GET",
                scheme: b"http",
                host: b"a.test",
                path: b"/",
            };
            let mut block = message::request(version, line).with("a", "1");
            block.push_all("cookie", ["x=1", "y=2"]);
            // In version 2 the host is an ordinary field, and is still handled separately.
            check(Fields::of_block(version, &block));
        }
        assert_eq!(Fields::default().iter().count(), 0);
    }
}
