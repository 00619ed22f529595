//! Compression of answers (RFC 9110 section 8.4): which are compressed, with which coding, and how their heads change.

mod encoder;

use http::header::{
    ACCEPT_ENCODING, AUTHORIZATION, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE,
    COOKIE, ETAG, HeaderName, IF_NONE_MATCH, RANGE, SET_COOKIE, VARY,
};
use http::{HeaderMap, HeaderValue, Method, Request, Response};

pub use encoder::{Encoder, Transcoder};

/// A content coding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coding {
    /// Brotli (RFC 7932).
    Brotli,
    /// Zstandard (RFC 8878), with a window of at most 8 MB (RFC 9659).
    Zstd,
    /// Gzip (RFC 1952).
    Gzip,
}

impl Coding {
    /// All codings, the densest first.
    pub const ALL: [Coding; 3] = [Coding::Brotli, Coding::Zstd, Coding::Gzip];

    /// Its name in `Content-Encoding`.
    pub fn name(self) -> &'static str {
        match self {
            Coding::Brotli => "br",
            Coding::Zstd => "zstd",
            Coding::Gzip => "gzip",
        }
    }

    /// The coding of this name.
    pub fn named(name: &str) -> Option<Coding> {
        Coding::ALL.into_iter().find(|coding| coding.name() == name)
    }
}

/// Settings of compression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompressionSettings {
    /// The codings, the preferred one first.
    pub codings: Vec<Coding>,
    /// Media types, as `text/html`; `text/*` for all of a kind.
    pub types: Vec<String>,
    /// Size below which a body is left as it is, if its size is known.
    pub least_bytes: u64,
    /// True if answers for one user are compressed, too. The size of a compressed body tells those who can watch it and choose a
    /// part of it about its secrets (BREACH).
    pub private: bool,
    /// True if what its origin coded with gzip is coded again, for clients that prefer another coding.
    pub recode: bool,
}

impl Default for CompressionSettings {
    fn default() -> CompressionSettings {
        CompressionSettings {
            codings: Coding::ALL.to_vec(),
            types: TYPES.map(str::to_owned).to_vec(),
            least_bytes: LEAST_BYTES,
            private: false,
            recode: false,
        }
    }
}

/// Decision on an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// It is compressed.
    Compressed(Coding),
    /// It is left as it is, but would be compressed for another client.
    Unaccepted,
    /// It is left as it is.
    Unsuitable,
}

/// Types that shrink. Of `text/*`, event streams are left out: each event must arrive at once.
const TYPES: [&str; 13] = [
    "text/*",
    "application/javascript",
    "application/json",
    "application/ld+json",
    "application/manifest+json",
    "application/rss+xml",
    "application/atom+xml",
    "application/xml",
    "application/xhtml+xml",
    "application/wasm",
    "application/vnd.ms-fontobject",
    "font/ttf",
    "image/svg+xml",
];

/// A smaller body fits a packet or two either way.
const LEAST_BYTES: u64 = 1_024;

const NEVER: &str = "text/event-stream";

/// Fields with a digest of the body: a compressed one would have another (RFC 9530).
const DIGESTS: [HeaderName; 4] = [
    HeaderName::from_static("content-digest"),
    HeaderName::from_static("repr-digest"),
    HeaderName::from_static("digest"),
    HeaderName::from_static("content-md5"),
];

impl CompressionSettings {
    /// Decides on the answer `head`, whose body has this length if that is known, to `request`.
    pub fn choose(
        &self,
        request: &Request<()>,
        head: &Response<()>,
        length: Option<u64>,
    ) -> Choice {
        let (asked, fields) = (request.headers(), head.headers());
        let is_whole = matches!(head.status().as_u16(), 200 | 203 | 404 | 410);
        let coding = fields.get(CONTENT_ENCODING);
        let is_gzip = coding.is_some_and(|coding| self.recode && is_gzip(coding));
        let is_plain = (coding.is_none() || is_gzip) && is_transformable(request, fields);
        let is_large = length.is_none_or(|length| length >= self.least_bytes);
        let is_allowed = self.private || !is_private(asked, fields);
        if !(is_whole && is_plain && is_large && is_allowed && self.has_type(fields)) {
            return Choice::Unsuitable;
        }
        let accepted = self.accepted(asked).filter(|coding| !(is_gzip && *coding == Coding::Gzip));
        accepted.map_or(Choice::Unaccepted, Choice::Compressed)
    }

    fn has_type(&self, fields: &HeaderMap) -> bool {
        let value = fields.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let essence = value.unwrap_or("").split(';').next().unwrap_or("").trim();
        let is_listed = |listed: &String| match listed.strip_suffix("/*") {
            Some(kind) => {
                essence.split_once('/').is_some_and(|(of, _)| of.eq_ignore_ascii_case(kind))
            }
            None => essence.eq_ignore_ascii_case(listed),
        };
        !essence.eq_ignore_ascii_case(NEVER) && self.types.iter().any(is_listed)
    }

    /// The first coding that the client accepts with the highest weight (RFC 9110 section 12.5.3). A client that lists none gets none.
    fn accepted(&self, asked: &HeaderMap) -> Option<Coding> {
        let lines = asked.get_all(ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
        let members: Vec<(&str, u16)> =
            lines.flat_map(|line| line.split(',')).filter_map(weighted).collect();
        let weight_of = |coding: &Coding| {
            let named = |name: &str| {
                members.iter().find(|(it, _)| it.eq_ignore_ascii_case(name)).map(|(_, it)| *it)
            };
            named(coding.name()).or_else(|| named("*")).unwrap_or(0)
        };
        let best = self.codings.iter().map(weight_of).max().filter(|weight| *weight > 0)?;
        self.codings.iter().find(|coding| weight_of(coding) == best).copied()
    }
}

/// True if the body of such an answer may be changed on its way: it is whole, and nobody forbids it or would notice by a digest.
pub(crate) fn is_transformable(request: &Request<()>, fields: &HeaderMap) -> bool {
    !request.headers().contains_key(RANGE)
        && request.method() != Method::CONNECT
        && !DIGESTS.iter().any(|name| fields.contains_key(name))
        && !has_directive(fields, "no-transform")
}

/// True for gzip alone, as a value of `Content-Encoding`.
pub(crate) fn is_gzip(coding: &HeaderValue) -> bool {
    coding.as_bytes().eq_ignore_ascii_case(b"gzip")
}

/// A member of `Accept-Encoding` or `Accept`, and its weight in thousandths.
pub(crate) fn weighted(member: &str) -> Option<(&str, u16)> {
    let mut parts = member.split(';').map(str::trim);
    let name = parts.next().filter(|name| !name.is_empty())?;
    let weight = parts.find_map(|part| part.strip_prefix("q=").or(part.strip_prefix("Q=")));
    let weight = weight.map_or(Some(1.0), |weight| weight.parse::<f64>().ok())?;
    (0.0..=1.0).contains(&weight).then_some((name, (weight * 1000.0) as u16))
}

fn has_directive(fields: &HeaderMap, directive: &str) -> bool {
    let values = fields.get_all(CACHE_CONTROL).iter().filter_map(|value| value.to_str().ok());
    let mut members = values.flat_map(|value| value.split(','));
    members.any(|member| {
        member.split('=').next().is_some_and(|name| name.trim().eq_ignore_ascii_case(directive))
    })
}

/// True if the answer may be for one user alone: it says so, or it answers a request with credentials and does not say that it is for
/// all (RFC 9111 section 3.5).
fn is_private(asked: &HeaderMap, fields: &HeaderMap) -> bool {
    let says = |directives: &[&str]| directives.iter().any(|it| has_directive(fields, it));
    let is_named = asked.contains_key(AUTHORIZATION) && !says(&["public", "s-maxage"]);
    let is_known = asked.contains_key(COOKIE) && !says(&["public", "s-maxage", "max-age"]);
    is_named || is_known || fields.contains_key(SET_COOKIE) || says(&["private", "no-store"])
}

/// Changes the head of an answer whose body is compressed.
pub fn mark(fields: &mut HeaderMap, coding: Coding) {
    fields.remove(CONTENT_LENGTH);
    // Ranges of the body as it was are not ranges of this one.
    fields.remove(http::header::ACCEPT_RANGES);
    fields.insert(CONTENT_ENCODING, HeaderValue::from_static(coding.name()));
    vary(fields);
    weaken(fields);
}

/// Turns a strong tag into the weak one of the changed body.
pub(crate) fn weaken(fields: &mut HeaderMap) {
    if let Some(weak) = fields.get(ETAG).and_then(weakened) {
        fields.insert(ETAG, weak);
    }
}

/// Adds `Accept-Encoding` to the fields by which the answer was chosen.
pub fn vary(fields: &mut HeaderMap) {
    vary_by(fields, "Accept-Encoding");
}

/// Adds a request field to those by which the answer was chosen.
pub(crate) fn vary_by(fields: &mut HeaderMap, name: &'static str) {
    let values = fields.get_all(VARY).iter().filter_map(|value| value.to_str().ok());
    let mut members = values.flat_map(|value| value.split(',')).map(str::trim);
    if !members.any(|member| member == "*" || member.eq_ignore_ascii_case(name)) {
        fields.append(VARY, HeaderValue::from_static(name));
    }
}

/// The weak form of a strong tag: a compressed body is not the same bytes (RFC 9110 section 8.8.3.3).
fn weakened(tag: &HeaderValue) -> Option<HeaderValue> {
    let is_strong = tag.as_bytes().first() == Some(&b'"');
    is_strong.then(|| HeaderValue::from_bytes(&[b"W/", tag.as_bytes()].concat()).ok()).flatten()
}

/// Changes the head of a 304 that confirms a body which was changed here: its tag is the weak one that `asked` for it. Returns true if it
/// did.
pub fn mark_confirmed(fields: &mut HeaderMap, asked: &HeaderMap) -> bool {
    let Some(weak) = fields.get(ETAG).and_then(weakened) else {
        return false;
    };
    let values = asked.get_all(IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    let mut tags = values.flat_map(|value| value.split(',')).map(str::trim);
    let is_ours = tags.any(|tag| tag.as_bytes() == weak.as_bytes());
    if is_ours {
        fields.insert(ETAG, weak);
    }
    is_ours
}

#[cfg(test)]
mod tests;
