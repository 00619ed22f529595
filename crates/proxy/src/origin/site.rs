//! A page's objects as prepared replies, shared by all its servers, and the selection of objects to push with a document.

use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use http_stack::alt_svc::AltSvc;
use http_stack::server::{Head, Reply};
use page::{Browsable, Content, Kind, Object, ObjectPriority, Page};
use rustc_hash::FxHashMap;

use super::text;

/// Every host of a page with its replies.
pub struct SiteReplies {
    hosts: Vec<HostReplies>,
    not_found: Reply,
    pushable: Option<Pushable>,
}

/// One host: requests mapped to the positions of their replies.
struct HostReplies {
    by_request: FxHashMap<String, usize>,
    /// A request that a page makes several times has several replies, given in turn.
    replies: Vec<Vec<ObjectReply>>,
}

pub(super) struct ObjectReply {
    pub(super) object: usize,
    pub(super) think: Duration,
    pub(super) reply: Reply,
}

impl SiteReplies {
    /// Prepares the replies of `page`. The content of bodies does not matter to farlink's own loader.
    pub fn new(page: &Page) -> SiteReplies {
        let body = BodyPattern::for_page(page);
        SiteReplies::with_bodies(page, |index, object| body.slice(index, object.body_bytes))
    }

    /// Prepares the replies of `page` with given bodies: `body` is called with an object's index and the
    /// object.
    pub fn with_bodies(page: &Page, body: impl Fn(usize, &Object) -> Bytes) -> SiteReplies {
        SiteReplies::with_replies(page, |index, object| {
            reply(index, object, media_type(object.kind), &[], body(index, object))
        })
    }

    /// Like [`new`](Site::new), with each reply advertising its host's alternatives (`Alt-Svc`); heads keep their sizes if they
    /// have room for it.
    pub fn advertising(page: &Page, alternatives: &AltSvc) -> SiteReplies {
        let body = BodyPattern::for_page(page);
        let field = [("alt-svc", alternatives.to_string())];
        SiteReplies::with_replies(page, |index, object| {
            let body = body.slice(index, object.body_bytes);
            reply(index, object, media_type(object.kind), &field, body)
        })
    }

    /// Like [`new`](Site::new), with each reply stating its cacheability: a year for objects that the page marks cacheable, none for others.
    /// Heads keep their sizes if they have room for it.
    pub fn for_caches(page: &Page) -> SiteReplies {
        let body = BodyPattern::for_page(page);
        SiteReplies::with_replies(page, |index, object| {
            let field = [("cache-control", caching_terms(object).to_owned())];
            let body = body.slice(index, object.body_bytes);
            reply(index, object, media_type(object.kind), &field, body)
        })
    }

    /// Like [`for_caches`](Site::for_caches), with texts that shrink as the page's do where its origins send them uncompressed. What
    /// they compress is to stay as it is.
    pub fn for_compression(page: &Page) -> SiteReplies {
        let body = BodyPattern::for_page(page);
        SiteReplies::with_replies(page, |index, object| {
            let terms = caching_terms(object);
            let (terms, body) = match object.compressible_to() {
                Some(share) => (terms.to_owned(), text::text(index, object.body_bytes, share)),
                None => (format!("{terms}, no-transform"), body.slice(index, object.body_bytes)),
            };
            reply(index, object, media_type(object.kind), &[("cache-control", terms)], body)
        })
    }

    /// Lower bounds of the bytes to which a proxy compresses the objects of such replies; `None` for an object that it leaves as it is.
    pub fn least_compressed_bytes(page: &Page) -> Vec<Option<u64>> {
        let objects = page.objects.iter().enumerate();
        objects.map(|(index, object)| text::least_compressed_bytes(index, object)).collect()
    }

    /// Prepares the replies that a browser needs: real bytes, and the fields that it acts on.
    pub fn browsable(browsable: &Browsable) -> SiteReplies {
        SiteReplies::with_replies(&browsable.page, |index, object| {
            let Content { media_type, fields, body } = &browsable.contents[index];
            reply(index, object, media_type, fields, Bytes::copy_from_slice(body))
        })
    }

    fn with_replies(page: &Page, reply: impl Fn(usize, &Object) -> Reply) -> SiteReplies {
        let mut hosts: Vec<HostReplies> = page
            .hosts
            .iter()
            .map(|_| HostReplies { by_request: FxHashMap::default(), replies: Vec::new() })
            .collect();
        for (index, object) in page.objects.iter().enumerate() {
            let host = &mut hosts[object.host.0 as usize];
            let next = host.replies.len();
            let position =
                *host.by_request.entry(key(&object.method, &object.path)).or_insert(next);
            if position == next {
                host.replies.push(Vec::new());
            }
            host.replies[position].push(ObjectReply {
                object: index,
                think: object.think.value,
                reply: reply(index, object),
            });
        }
        let fields = header_map(&[("content-type", "text/plain")]);
        let text = Bytes::from_static(b"not on this page\n");
        let not_found = Reply::new(StatusCode::NOT_FOUND, fields, text);
        SiteReplies { hosts, not_found, pushable: Pushable::of(page) }
    }

    pub(super) fn counters(&self, host: usize) -> Vec<Cell<usize>> {
        vec![Cell::new(0); self.hosts[host].replies.len()]
    }

    pub(super) fn find(
        &self,
        host: usize,
        method: &str,
        target: &str,
        answered: &[Cell<usize>],
    ) -> Option<&ObjectReply> {
        let host = &self.hosts[host];
        let position = *host.by_request.get(&key(method, target))?;
        let replies = &host.replies[position];
        let turn = answered[position].get();
        answered[position].set(turn + 1);
        Some(&replies[turn % replies.len()])
    }

    pub(super) fn pushable(&self) -> Option<&Pushable> {
        self.pushable.as_ref()
    }

    /// Returns true if a request is for this object.
    pub(super) fn is_asked(&self, host: usize, method: &str, target: &str, object: usize) -> bool {
        let host = &self.hosts[host];
        let position = host.by_request.get(&key(method, target));
        position.is_some_and(|at| host.replies[*at].iter().any(|entry| entry.object == object))
    }

    pub(super) fn not_found(&self) -> Reply {
        self.not_found.clone()
    }
}

fn key(method: &str, target: &str) -> String {
    let mut key = String::with_capacity(method.len() + 1 + target.len());
    key.push_str(method);
    key.push(' ');
    key.push_str(target);
    key
}

/// One buffer that every body is a slice of, each from its own offset: their content only has to differ; avoiding copies matters.
struct BodyPattern(Bytes);

/// Distance between the offsets of neighbours, and upper limit of the offsets. Both are primes, as is the length of the pattern's line.
const BODY_STEP: usize = 1_031;
const LAST_PLACE: usize = 65_521;

impl BodyPattern {
    fn for_page(page: &Page) -> BodyPattern {
        let largest = page.objects.iter().map(|o| o.body_bytes).max().unwrap_or(0);
        let largest = usize::try_from(largest).expect("a body fits memory");
        BodyPattern(Bytes::from(
            (0..largest + LAST_PLACE).map(|i| (i * 31 + i / 251) as u8).collect::<Vec<u8>>(),
        ))
    }

    fn slice(&self, index: usize, len: u64) -> Bytes {
        let start = index * BODY_STEP % LAST_PLACE;
        self.0.slice(start..start + len as usize)
    }
}

fn caching_terms(object: &Object) -> &'static str {
    if object.cacheable { "public, max-age=31536000" } else { "no-store" }
}

fn media_type(kind: Kind) -> &'static str {
    match kind {
        Kind::Document => "text/html; charset=utf-8",
        Kind::Stylesheet => "text/css",
        Kind::Script => "application/javascript",
        Kind::Image => "image/png",
        Kind::Font => "font/woff2",
        Kind::Media => "video/mp4",
        Kind::Data => "application/json",
        Kind::Redirect | Kind::Other => "application/octet-stream",
    }
}

/// A reply whose head has the page's size: the fields that every server sends, those that `needed` names, one
/// that is the same for all of a server's replies (policies, cookies) and one that is the object's own (dates, tags).
fn reply(
    index: usize,
    object: &Object,
    media_type: &str,
    needed: &[(&'static str, String)],
    body: Bytes,
) -> Reply {
    let mut fields = vec![("content-type", media_type)];
    fields.extend(needed.iter().map(|(name, value)| (*name, value.as_str())));
    let status = StatusCode::from_u16(object.status).unwrap_or(StatusCode::OK);
    let body_bytes = body.len() as u64;
    let least = Head::new(status, header_map(&fields), body_bytes).h1.len();
    let missing = (object.response_header_bytes as usize).saturating_sub(least);
    let own = filler(index, (missing / 2).min(OWN_BYTES));
    let shared = filler(0, missing - (missing / 2).min(OWN_BYTES));
    for (name, value) in [("etag", &own), ("x-policy", &shared)] {
        let overhead = name.len() + 4;
        if value.len() > overhead {
            fields.push((name, &value[overhead..]));
        }
    }
    Reply { head: Arc::new(Head::new(status, header_map(&fields), body_bytes)), body }
}

fn header_map(fields: &[(&'static str, &str)]) -> HeaderMap {
    let pairs = fields.iter().map(|(name, value)| {
        let value = HeaderValue::from_str(value)
            .expect("fields are written in ASCII, and a place has been through a URL parser");
        (HeaderName::from_static(name), value)
    });
    pairs.collect()
}

/// Bytes of a head that are an object's own (date, last-modified, etag: about this much); the rest repeats
/// from reply to reply, which is the basis of header compression.
const OWN_BYTES: usize = 100;

/// Text that differs from object to object.
fn filler(salt: usize, len: usize) -> String {
    let mut state = salt as u64 + 1;
    (0..len)
        .map(|_| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            char::from(b"0123456789abcdefghijklmnopqrstuv"[(state >> 59) as usize])
        })
        .collect()
}

/// Choice among the objects of a document's own host to push with it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum PushPolicy {
    /// None.
    #[default]
    None,
    /// Style sheets.
    Stylesheets,
    /// Style sheets, and scripts that browsers request ahead of images: render-blocking objects.
    Blocking,
    /// All.
    All,
}

impl PushPolicy {
    fn pushes(self, object: &Object) -> bool {
        match self {
            PushPolicy::None => false,
            PushPolicy::Stylesheets => object.kind == Kind::Stylesheet,
            PushPolicy::Blocking => match object.kind {
                Kind::Stylesheet => true,
                Kind::Script => {
                    matches!(object.priority, ObjectPriority::Highest | ObjectPriority::High)
                }
                _ => false,
            },
            PushPolicy::All => true,
        }
    }
}

/// A page's document, and the objects that can be pushed with it.
#[derive(Debug)]
pub(super) struct Pushable {
    /// The document: the first object that is not a redirect.
    pub(super) document: usize,
    /// Objects of its host that a plain GET would fetch, each once, in the page's order.
    objects: Vec<Object>,
}

impl Pushable {
    pub(super) fn of(page: &Page) -> Option<Pushable> {
        let document = page.objects.iter().position(|object| object.kind != Kind::Redirect)?;
        let host = page.objects[document].host;
        let mut objects: Vec<Object> = Vec::new();
        for object in &page.objects[document + 1..] {
            let is_plain = object.method == "GET" && object.request_body_bytes == 0;
            let is_new = || objects.iter().all(|other| other.path != object.path);
            if object.host == host && is_plain && object.status == 200 && is_new() {
                objects.push(object.clone());
            }
        }
        Some(Pushable { document, objects })
    }

    /// The objects that `policy` pushes.
    pub(super) fn pushed(&self, policy: PushPolicy) -> impl Iterator<Item = &Object> {
        self.objects.iter().filter(move |object| policy.pushes(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_policy_pushes_what_it_says() {
        let mut page = page::open("synthetic:6x1KB@2hosts").expect("a page");
        page.objects[1].host = page.objects[0].host;
        for (index, kind, priority) in [
            (1, Kind::Stylesheet, ObjectPriority::Highest),
            (2, Kind::Script, ObjectPriority::High),
            (3, Kind::Script, ObjectPriority::Low),
        ] {
            let object = &mut page.objects[index];
            (object.kind, object.priority, object.host) = (kind, priority, page::HostId(0));
        }
        page.objects[4].host = page::HostId(1);
        page.objects[5].host = page::HostId(0);
        page.objects[5].method = "POST".to_owned();
        page.objects[6].host = page::HostId(0);
        let pushable = Pushable::of(&page).expect("a document");
        assert_eq!(pushable.document, 0);
        let paths = |policy| pushable.pushed(policy).map(|o| o.path.clone()).collect::<Vec<_>>();
        let path = |index: usize| page.objects[index].path.clone();
        assert!(paths(PushPolicy::None).is_empty());
        assert_eq!(paths(PushPolicy::Stylesheets), [path(1)]);
        assert_eq!(paths(PushPolicy::Blocking), [path(1), path(2)]);
        assert_eq!(paths(PushPolicy::All), [1, 2, 3, 6].map(path));
    }
}
