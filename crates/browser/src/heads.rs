//! Request fields: as recorded, or those of a browser. Data, in `data/request-fields.toml`.
//!
//! Header compression depends on repetition, so the fields' contents matter and not only their length. Recorded
//! values that were anonymised (nothing but `x`) are replaced by as many hexadecimal digits: `xxx...` would
//! compress unlike any secret.

use std::collections::BTreeMap;

use http::header::{
    CONNECTION, CONTENT_LENGTH, COOKIE, EXPECT, HOST, HeaderMap, HeaderName, HeaderValue, TE,
    TRANSFER_ENCODING, UPGRADE,
};
use page::{Kind, Object, Page, PageHost};
use serde::Deserialize;

use crate::named_table::{NamedTable, UnknownName};

/// Contents of requests' heads.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum RequestHeaders {
    /// A few fields, and a cookie that fills up the page's size.
    #[default]
    Sized,
    /// The same with a meaningless field instead of the cookie: for intermediaries that look at cookies, which are
    /// the same for all of a host's objects.
    Padded,
    /// The fields that the page records for an object; if it records none, those of a browser.
    Recorded(Typical),
}

/// Fields of a browser, used if none are recorded.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Typical {
    fields: Vec<FieldTemplate>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct FieldTemplate {
    name: String,
    value: Option<String>,
    document: Option<String>,
    stylesheet: Option<String>,
    script: Option<String>,
    image: Option<String>,
    font: Option<String>,
    media: Option<String>,
    data: Option<String>,
}

static TABLE: NamedTable<Typical> = NamedTable::new(
    "browser policy with request fields",
    include_str!("../data/request-fields.toml"),
);

/// Fields of a connection, or written by the sender of the request.
const LEFT_OUT: [HeaderName; 7] =
    [CONNECTION, CONTENT_LENGTH, EXPECT, HOST, TE, TRANSFER_ENCODING, UPGRADE];

impl Typical {
    /// The fields of the browser with the policy `name`.
    ///
    /// # Errors
    /// If there is none; the message lists those that exist.
    pub fn named(name: &str) -> Result<Typical, UnknownName> {
        TABLE.find(name)
    }

    /// All of them, by policy.
    pub fn all() -> &'static BTreeMap<String, Typical> {
        TABLE.all()
    }

    fn fields(&self, page: &Page, object: &Object) -> HeaderMap {
        let mut fields = HeaderMap::new();
        for field in &self.fields {
            let Some(value) = field.value(object.kind) else { continue };
            let value = match value {
                "{referer}" => referrer(page, object).map(|found_in| found_in.url.as_str()),
                "{site}" => Some(site(page, object)),
                plain => Some(plain),
            };
            if let Some(value) = value {
                append(&mut fields, &field.name, value);
            }
        }
        fields
    }
}

impl FieldTemplate {
    fn value(&self, kind: Kind) -> Option<&str> {
        let own = match kind {
            Kind::Document | Kind::Redirect => &self.document,
            Kind::Stylesheet => &self.stylesheet,
            Kind::Script => &self.script,
            Kind::Image => &self.image,
            Kind::Font => &self.font,
            Kind::Media => &self.media,
            Kind::Data => &self.data,
            Kind::Other => &None,
        };
        own.as_ref().or(self.value.as_ref()).map(String::as_str)
    }
}

impl RequestHeaders {
    /// The fields of a request, except those of its connection; none if they are to be made by size.
    pub(crate) fn fields(&self, page: &Page, object: &Object) -> Option<HeaderMap> {
        match self {
            RequestHeaders::Sized | RequestHeaders::Padded => None,
            RequestHeaders::Recorded(typical) if object.request_fields.is_empty() => {
                Some(typical.fields(page, object))
            }
            RequestHeaders::Recorded(_) => Some(recorded(object)),
        }
    }

    /// The field that fills up a request's size, if it is made by size.
    pub(crate) fn padding(&self) -> HeaderName {
        match self {
            RequestHeaders::Sized | RequestHeaders::Recorded(_) => COOKIE,
            RequestHeaders::Padded => HeaderName::from_static("x-padding"),
        }
    }
}

fn recorded(object: &Object) -> HeaderMap {
    let mut fields = HeaderMap::new();
    for (name, value) in &object.request_fields {
        let is_unreadable = value.len() > 3 && value.bytes().all(|byte| byte == b'x');
        match is_unreadable {
            true => append(&mut fields, name, &digits(value.len())),
            false => append(&mut fields, name, value),
        }
    }
    fields
}

/// Adds a field that a request may have; an invalid one is left out.
fn append(fields: &mut HeaderMap, name: &str, value: &str) {
    let name = name.parse::<HeaderName>().ok();
    let name = name.filter(|name| {
        !LEFT_OUT.contains(name) && !["keep-alive", "proxy-connection"].contains(&name.as_str())
    });
    if let (Some(name), Ok(value)) = (name, HeaderValue::from_str(value)) {
        fields.append(name, value);
    }
}

/// The referrer of the object: a style sheet for objects that it refers to, else the document.
fn referrer<'a>(page: &'a Page, object: &Object) -> Option<&'a Object> {
    let first = object.waits_for.first()?;
    let parent = &page.objects[first.object.0 as usize];
    match parent.kind {
        Kind::Stylesheet | Kind::Document => Some(parent),
        Kind::Redirect => None,
        _ => page.objects.iter().find(|object| object.kind == Kind::Document),
    }
}

/// Relation of the object's host to that of the page: `Sec-Fetch-Site`, by whole names.
fn site(page: &Page, object: &Object) -> &'static str {
    let host = |object: &Object| -> &PageHost { page.host_of(object) };
    match object.waits_for.is_empty() {
        true => "none",
        false if host(object).is_same_origin(host(page.root())) => "same-origin",
        false => "cross-site",
    }
}

/// A fixed string of `len` hexadecimal digits.
pub(crate) fn digits(len: usize) -> String {
    let digit = |i: usize| b"0123456789abcdef"[(i.wrapping_mul(i).wrapping_add(i / 16) * 7) % 16];
    (0..len).map(|i| char::from(digit(i))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Policy;

    fn fields(heads: &RequestHeaders, page: &Page, object: usize) -> Vec<(String, String)> {
        let fields = heads.fields(page, &page.objects[object]).unwrap();
        let text = |value: &HeaderValue| value.to_str().unwrap().to_owned();
        fields.iter().map(|(name, value)| (name.to_string(), text(value))).collect()
    }

    #[test]
    fn every_browser_says_something_that_can_be_said() {
        let page = page::open("bth2013").unwrap();
        for name in Policy::all().keys() {
            let heads = RequestHeaders::Recorded(Typical::named(name).unwrap());
            let document = fields(&heads, &page, 0);
            assert!(document.iter().all(|(name, _)| name != "referer"), "{document:?}");
            let image = fields(&heads, &page, 30);
            assert!(image.contains(&("referer".to_owned(), page.objects[0].url.clone())));
            assert!(!image.iter().any(|(_, value)| value.contains('{')), "{image:?}");
        }
        assert!(Typical::all().keys().all(|name| Policy::named(name).is_ok()));
    }

    #[test]
    fn recorded_fields_are_sent_but_for_those_of_a_connection() {
        let mut page = page::open("synthetic:1x1KB").unwrap();
        let field = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        page.objects[0].request_fields = vec![
            field("host", "elsewhere.test"),
            field("connection", "keep-alive"),
            field("cookie", "xxxxxxxx"),
            field("no name", "1"),
            field("accept", "*/*"),
        ];
        let heads = RequestHeaders::Recorded(Typical::named("chrome").unwrap());
        let sent = fields(&heads, &page, 0);
        assert_eq!(sent, [field("cookie", &digits(8)), field("accept", "*/*")]);
        assert!(fields(&heads, &page, 1).len() > 8, "nothing is recorded for the image");
        assert_eq!(RequestHeaders::Sized.fields(&page, &page.objects[0]), None);
    }
}
