//! Early hints (RFC 8297) learnt from past loads: what browsers asked for after a document is named in a 103 ahead of the next answer
//! for it. No IO.
//!
//! A document is learnt for some seconds after the first navigation to it: style sheets, scripts and fonts of its origin whose
//! `Referer` it is. Then it is hinted for some minutes, and learnt anew: a browser that follows a hint asks for what it names, whether
//! the document still needs it or not, so hinted loads teach nothing. What a hint names must be in the cache, which holds what is for
//! all.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hashlink::LruCache;
use http::{HeaderMap, HeaderValue, Response, StatusCode};
use units::Time;

/// Span after a document's first navigation in which requests count as its own.
const LEARNING: Duration = Duration::from_secs(10);

/// Span after which a document is learnt anew.
const LIFETIME: Duration = Duration::from_secs(600);

/// Documents and hints that are kept; longer paths are not.
const MOST_DOCUMENTS: usize = 1_024;
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
}

#[derive(Debug)]
struct Document {
    since: Time,
    hints: Vec<Hint>,
}

/// An object that a document needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hint {
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
    /// A script that is not a module: browsers fetch those in another way.
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
}

impl HintKind {
    fn of(request: &BrowserRequest<'_>) -> Option<HintKind> {
        match (request.destination, request.mode) {
            ("style", "no-cors") => Some(HintKind::Style),
            ("script", "no-cors") => Some(HintKind::Script),
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
        EarlyHints { by_document: LruCache::new(MOST_DOCUMENTS) }
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
        let fresh = || Document { since: now, hints: Vec::new() };
        let document = self.by_document.entry(url).or_insert_with(fresh);
        let age = now.since(document.since);
        if age > LIFETIME {
            *document = fresh();
        }
        match age > LEARNING && age <= LIFETIME {
            true => &document.hints,
            false => &[],
        }
    }

    fn learn(&mut self, request: &BrowserRequest<'_>, kind: HintKind, now: Time) {
        let is_own = |referer: &&str| {
            let path = referer.strip_prefix(request.origin);
            path.is_some_and(|path| path.starts_with('/'))
        };
        let Some(referer) = request.referer.filter(is_own) else { return };
        let Some(document) = self.by_document.peek_mut(referer) else { return };
        let is_learning = now.since(document.since) <= LEARNING;
        let has_room = document.hints.len() < MOST_HINTS && request.path.len() <= MOST_PATH_BYTES;
        // A path is written between angle brackets, and its origin before it.
        let is_plain = request.path.starts_with('/')
            && !request.path.starts_with("//")
            && request.path.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'>');
        let is_new = || document.hints.iter().all(|hint| *hint.path != *request.path);
        if is_learning && has_room && is_plain && is_new() {
            document.hints.push(Hint { path: request.path.into(), kind });
        }
    }
}

/// A 103 with these hints; `None` if there are none.
pub fn early_hints<'a>(hints: impl Iterator<Item = &'a Hint>) -> Option<Response<()>> {
    let mut fields = HeaderMap::new();
    for Hint { path, kind } in hints {
        let value = format!("<{path}>; {}", kind.parameters());
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
        BrowserRequest { origin: "https://a.test", path, destination, mode, referer }
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
        hints.see(&request("/other.css", "style", Some("https://a.test/other")), at(1));
        hints.see(&request("/foreign.css", "style", Some("https://a.test.evil/page")), at(1));
        hints.see(&request("/unknown.css", "style", None), at(1));
        assert!(
            hints.see(&request("/page", "document", None), at(9)).is_empty(),
            "it is being learnt"
        );
        hints.see(&request("/late.css", "style", PAGE), at(11));
        let hinted = hints.see(&request("/page", "document", None), at(12));
        assert_eq!(paths(hinted), ["/a.css", "/a.js", "/f.woff2"]);
        let links: Vec<_> =
            early_hints(hinted.iter()).unwrap().headers().get_all("link").iter().cloned().collect();
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
        assert!(early_hints([].iter()).is_none());
    }
}
