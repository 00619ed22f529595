//! Early hints (RFC 8297) learnt from past loads: what browsers asked for after a document is named in a 103 ahead of the next answer
//! for it. No IO.
//!
//! A document is learnt for some seconds after the first navigation to it: style sheets, scripts and fonts of its origin whose
//! `Referer` it is, and, where the proxy has the requests to all origins, those of others that its browser asks for on its behalf. It is hinted for some
//! minutes, and learnt anew: a browser that follows a hint asks for what it names, whether the document still needs it or not. What a hint
//! names must be in the cache, which holds what is for all.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hashlink::LruCache;
use http::{HeaderMap, HeaderValue, Response, StatusCode};
use units::Time;

/// Span after a document's first navigation in which requests count as its own.
const LEARNING: Duration = Duration::from_secs(10);

/// Span after which a document is learnt anew.
const LIFETIME: Duration = Duration::from_secs(600);

/// Documents, clients and hints that are kept; longer paths are not.
const MOST_DOCUMENTS: usize = 1_024;
const MOST_CLIENTS: usize = 1_024;
const MOST_HINTS: usize = 16;
const MOST_PATH_BYTES: usize = 512;

/// Documents and what they need; shared by all cores.
#[derive(Clone, Debug, Default)]
pub struct SharedHints(Arc<Mutex<EarlyHints>>);

impl SharedHints {
    /// See [`EarlyHints::see`].
    pub fn see(&self, request: &BrowserRequest<'_>, now: Time) -> Vec<Hint> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).see(request, now).to_vec()
    }
}

/// Documents and what they need.
#[derive(Debug)]
pub struct EarlyHints {
    by_document: LruCache<Box<str>, Document>,
    /// The document that each client navigated to last.
    by_client: LruCache<IpAddr, Visit>,
}

#[derive(Debug)]
struct Visit {
    document: Box<str>,
    since: Time,
}

#[derive(Debug)]
struct Document {
    since: Time,
    hints: Vec<Hint>,
}

/// An object that a document needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hint {
    /// Its URL, without path.
    pub origin: Box<str>,
    /// Path and query.
    pub path: Box<str>,
    /// Its kind.
    pub kind: HintKind,
}

/// Kind of an object that is worth a hint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HintKind {
    /// A style sheet.
    Style,
    /// A script that is not a module, which browsers fetch in another way, and not deferred: it would compete with what the page waits for.
    Script,
    /// A font, which is fetched without credentials.
    Font,
}

/// A browser's request, as far as it matters here.
#[derive(Clone, Copy, Debug)]
pub struct BrowserRequest<'a> {
    /// Its URL, without path.
    pub origin: &'a str,
    /// Path and query.
    pub path: &'a str,
    /// `Sec-Fetch-Dest`.
    pub destination: &'a str,
    /// `Sec-Fetch-Mode`.
    pub mode: &'a str,
    /// `Referer`.
    pub referer: Option<&'a str>,
    /// `Priority` (RFC 9218).
    pub priority: Option<&'a str>,
    /// `Origin`.
    pub initiator: Option<&'a str>,
    /// The client, if its requests to all origins come by here.
    pub client: Option<IpAddr>,
}

/// The least urgent value of what a page waits for, as Chromium sends it: 1 for scripts of the head, 2 for those at the end.
const MOST_URGENCY: u8 = 1;

impl BrowserRequest<'_> {
    /// True if the browser says so, or nothing.
    fn is_urgent(&self) -> bool {
        let Some(priority) = self.priority else { return true };
        let mut members = priority.split(',').map(str::trim);
        let urgency = members.find_map(|member| member.strip_prefix("u=")?.parse().ok());
        urgency.is_some_and(|urgency: u8| urgency <= MOST_URGENCY)
    }
}

impl HintKind {
    fn of(request: &BrowserRequest<'_>) -> Option<HintKind> {
        match (request.destination, request.mode) {
            ("style", "no-cors") => Some(HintKind::Style),
            ("script", "no-cors") if request.is_urgent() => Some(HintKind::Script),
            ("font", "cors") => Some(HintKind::Font),
            _ => None,
        }
    }

    /// The rest of a `Link` field's value after the URL.
    fn parameters(self) -> &'static str {
        match self {
            HintKind::Style => "rel=preload; as=style",
            HintKind::Script => "rel=preload; as=script",
            HintKind::Font => "rel=preload; as=font; crossorigin",
        }
    }
}

impl Default for EarlyHints {
    fn default() -> EarlyHints {
        EarlyHints {
            by_document: LruCache::new(MOST_DOCUMENTS),
            by_client: LruCache::new(MOST_CLIENTS),
        }
    }
}

impl EarlyHints {
    /// Takes in a request by GET. Returns what to hint, if it is a navigation to a document that has been learnt.
    pub fn see(&mut self, request: &BrowserRequest<'_>, now: Time) -> &[Hint] {
        if let ("document", "navigate") = (request.destination, request.mode) {
            return self.navigate(request, now);
        }
        if let Some(kind) = HintKind::of(request) {
            self.learn(request, kind, now);
        }
        &[]
    }

    fn navigate(&mut self, request: &BrowserRequest<'_>, now: Time) -> &[Hint] {
        if request.path.len() > MOST_PATH_BYTES {
            return &[];
        }
        let url = format!("{}{}", request.origin, request.path).into_boxed_str();
        if let Some(client) = request.client {
            self.by_client.insert(client, Visit { document: url.clone(), since: now });
        }
        let fresh = || Document { since: now, hints: Vec::new() };
        let document = self.by_document.entry(url).or_insert_with(fresh);
        if now.since(document.since) > LIFETIME {
            *document = fresh();
        }
        &document.hints
    }

    fn learn(&mut self, request: &BrowserRequest<'_>, kind: HintKind, now: Time) {
        let Some(document) = self.document_of(request, now) else { return };
        let is_learning = now.since(document.since) <= LEARNING;
        let has_room = document.hints.len() < MOST_HINTS && request.path.len() <= MOST_PATH_BYTES;
        // A path is written between angle brackets, and its origin before it.
        let is_plain = request.path.starts_with('/')
            && !request.path.starts_with("//")
            && request.path.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'>');
        let is_known = |hint: &Hint| *hint.path == *request.path && *hint.origin == *request.origin;
        if is_learning && has_room && is_plain && !document.hints.iter().any(is_known) {
            document.hints.push(Hint {
                origin: request.origin.into(),
                path: request.path.into(),
                kind,
            });
        }
    }

    /// The document that needs what a request asks for: its referrer, or what its client navigated to just now, if the request says to come
    /// from that document or its objects. Browsers do not tell other origins more of a document than its origin.
    fn document_of(&mut self, request: &BrowserRequest<'_>, now: Time) -> Option<&mut Document> {
        let referer = request.referer.unwrap_or("");
        let is_own = referer.strip_prefix(request.origin).is_some_and(|it| it.starts_with('/'));
        if is_own && self.by_document.contains_key(referer) {
            return self.by_document.peek_mut(referer);
        }
        let visit = self.by_client.peek(&request.client?)?;
        if now.since(visit.since) > LEARNING {
            return None;
        }
        let own = origin(&visit.document);
        let document = self.by_document.peek_mut(&visit.document)?;
        let from = origin(referer);
        let is_from_it = request.initiator == Some(own)
            || from == own
            || document.hints.iter().any(|hint| *hint.origin == *from);
        is_from_it.then_some(document)
    }
}

/// A URL without its path.
fn origin(url: &str) -> &str {
    let host = url.find("://").map_or(0, |scheme| scheme + 3);
    let end = url[host..].find('/').map_or(url.len(), |path| host + path);
    &url[..end]
}

/// A 103 with these hints for a document of this origin; `None` if there are none.
pub fn early_hints<'a>(own: &str, hints: impl Iterator<Item = &'a Hint>) -> Option<Response<()>> {
    let mut fields = HeaderMap::new();
    for Hint { origin, path, kind } in hints {
        let origin = if **origin == *own { "" } else { origin };
        let value = format!("<{origin}{path}>; {}", kind.parameters());
        fields.append(http::header::LINK, HeaderValue::from_str(&value).ok()?);
    }
    let mut head = Response::new(());
    *head.status_mut() = StatusCode::EARLY_HINTS;
    let is_empty = fields.is_empty();
    *head.headers_mut() = fields;
    (!is_empty).then_some(head)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request<'a>(
        path: &'a str,
        destination: &'a str,
        referer: Option<&'a str>,
    ) -> BrowserRequest<'a> {
        let mode = match destination {
            "document" => "navigate",
            "font" => "cors",
            _ => "no-cors",
        };
        let (priority, initiator, client) = (None, None, None);
        BrowserRequest {
            origin: "https://a.test",
            path,
            destination,
            mode,
            referer,
            priority,
            initiator,
            client,
        }
    }

    fn at(seconds: u64) -> Time {
        Time::ZERO + Duration::from_secs(seconds)
    }

    const PAGE: Option<&str> = Some("https://a.test/page");

    fn paths(hints: &[Hint]) -> Vec<&str> {
        hints.iter().map(|hint| &*hint.path).collect()
    }

    #[test]
    fn the_first_load_teaches_the_next_ones() {
        let mut hints = EarlyHints::default();
        assert!(hints.see(&request("/page", "document", None), at(0)).is_empty());
        for (path, destination) in [
            ("/a.css", "style"),
            ("/a.js", "script"),
            ("/f.woff2", "font"),
            ("/b.png", "image"),
            ("/a.css", "style"),
        ] {
            assert!(hints.see(&request(path, destination, PAGE), at(1)).is_empty());
        }
        for (path, priority) in [("/end.js", "u=2"), ("/async.js", "i"), ("/late.js", "u=4, i")] {
            let script = request(path, "script", PAGE);
            hints.see(&BrowserRequest { priority: Some(priority), ..script }, at(1));
        }
        assert_eq!(hints.see(&request("/page", "document", None), at(2)).len(), 3);
        hints.see(&request("/other.css", "style", Some("https://a.test/other")), at(1));
        hints.see(&request("/foreign.css", "style", Some("https://a.test.evil/page")), at(1));
        hints.see(&request("/unknown.css", "style", None), at(1));
        hints.see(&request("/late.css", "style", PAGE), at(11));
        let hinted = hints.see(&request("/page", "document", None), at(12));
        assert_eq!(paths(hinted), ["/a.css", "/a.js", "/f.woff2"]);
        let links: Vec<_> = early_hints("https://a.test", hinted.iter())
            .unwrap()
            .headers()
            .get_all("link")
            .iter()
            .cloned()
            .collect();
        assert_eq!(
            links,
            [
                "</a.css>; rel=preload; as=style",
                "</a.js>; rel=preload; as=script",
                "</f.woff2>; rel=preload; as=font; crossorigin"
            ]
        );
        // A query makes another document.
        assert!(hints.see(&request("/page?x", "document", None), at(12)).is_empty());
    }

    /// A forward proxy sees what a page takes from other origins, which are told its origin alone.
    #[test]
    fn objects_of_other_origins_are_their_clients_documents() {
        let mut hints = EarlyHints::default();
        let client: IpAddr = "10.0.0.1".parse().unwrap();
        let by = |request| BrowserRequest { client: Some(client), ..request };
        let foreign = |origin, path, destination, referer| BrowserRequest {
            origin,
            ..by(request(path, destination, referer))
        };
        let (own, fonts) = (Some("https://a.test/"), Some("https://fonts.test/"));
        hints.see(&by(request("/page", "document", None)), at(0));
        hints.see(&foreign("https://fonts.test", "/css?f=A", "style", own), at(1));
        let font = foreign("https://files.test", "/a.woff2", "font", fonts);
        hints.see(&BrowserRequest { initiator: Some("https://a.test"), ..font }, at(2));
        hints.see(&foreign("https://files.test", "/b.woff2", "font", fonts), at(2));
        hints.see(&by(request("/own.css", "style", PAGE)), at(2));
        // Another page of the client, another client, and what comes late.
        let other = Some("https://b.test/");
        hints.see(&foreign("https://cdn.test", "/b.js", "script", other), at(3));
        let stranger = Some("10.0.0.2".parse().unwrap());
        let script = foreign("https://cdn.test", "/c.js", "script", own);
        hints.see(&BrowserRequest { client: stranger, ..script }, at(3));
        hints.see(&foreign("https://cdn.test", "/d.js", "script", own), at(11));
        let hinted = hints.see(&by(request("/page", "document", None)), at(20));
        let head = early_hints("https://a.test", hinted.iter()).unwrap();
        let links: Vec<_> = head.headers().get_all("link").iter().collect();
        assert_eq!(
            links,
            [
                "<https://fonts.test/css?f=A>; rel=preload; as=style",
                "<https://files.test/a.woff2>; rel=preload; as=font; crossorigin",
                "<https://files.test/b.woff2>; rel=preload; as=font; crossorigin",
                "</own.css>; rel=preload; as=style"
            ]
        );
        // The same page at a reverse proxy, which has no clients' other origins.
        assert!(hints.see(&request("/", "document", None), at(20)).is_empty());
    }

    #[test]
    fn a_document_is_learnt_anew() {
        let mut hints = EarlyHints::default();
        hints.see(&request("/page", "document", None), at(0));
        hints.see(&request("/old.css", "style", PAGE), at(1));
        assert_eq!(paths(hints.see(&request("/page", "document", None), at(600))), ["/old.css"]);
        assert!(hints.see(&request("/page", "document", None), at(601)).is_empty());
        hints.see(&request("/new.css", "style", PAGE), at(602));
        assert_eq!(paths(hints.see(&request("/page", "document", None), at(700))), ["/new.css"]);
    }

    #[test]
    fn a_field_holds_what_a_path_may() {
        let mut hints = EarlyHints::default();
        hints.see(&request("/page", "document", None), at(0));
        let long = format!("/{}", "x".repeat(600));
        for path in ["/a>b.css", "//evil.test/a.css", "/\u{e9}.css", &long, "*"] {
            hints.see(&request(path, "style", PAGE), at(1));
        }
        for number in 0..40 {
            hints.see(&request(&format!("/{number}.css"), "style", PAGE), at(2));
        }
        let hinted = hints.see(&request("/page", "document", None), at(100));
        assert_eq!(hinted.len(), MOST_HINTS);
        assert_eq!(&*hinted[0].path, "/0.css");
        assert!(early_hints("", [].iter()).is_none());
    }
}
