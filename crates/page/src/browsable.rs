//! Files that make a browser load a page in the order of its graph.
//!
//! Documents whose tags end at the bytes after which the graph has their objects discovered, sheets that use their
//! images and fonts, scripts that request the objects which wait for them, redirects, and decodable images: all of
//! the size that the graph states, to be served as they are, without compression.
//!
//! The graph is followed in this order of precedence: every object is requested exactly once; at the time when
//! everything that it waits for has arrived and its compute is over (a timer, as in the loader, where compute delays
//! but occupies no thread); the load event waits for it or does not; its size; its priority, as far as
//! `fetchpriority` goes.
//!
//! Behaviour that a browser has and the graph lacks is left to the browser: its parser stops at a sheet in the body
//! while its preload scanner goes on; it parses, styles, lays out and paints. Deviations from the graph are listed in
//! [`Browsable::notes`]; if the page itself had to change (a size, a method), [`Browsable::page`] is the changed
//! page, so that farlink's own loader can load the very same one.

mod html;
mod image;
mod plan;
mod script;
mod units;

use crate::show::middle_cut;
use crate::{Error, Page};

/// A page with the content of its objects.
#[derive(Clone, Debug)]
pub struct Browsable {
    /// The page as it is served.
    pub page: Page,
    /// One per object, in the page's order.
    pub contents: Vec<Content>,
    /// Differences from the requested page, one line each.
    pub notes: Vec<String>,
    /// True if an object that should delay the load event does not: a browser's load event comes earlier than stated.
    pub is_loaded_early: bool,
}

/// Content of a response, beside the status and size that the page states.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Content {
    /// `Content-Type`.
    pub media_type: &'static str,
    /// Header fields with an effect in browsers: redirect targets, access control, cache lifetime.
    pub fields: Vec<(&'static str, String)>,
    /// The body.
    pub body: Vec<u8>,
}

/// Generates the content of `page`.
///
/// # Errors
/// If the page has no document that a browser could navigate to.
pub fn browsable(page: &Page) -> Result<Browsable, Error> {
    if page.is_transfer() {
        let problem = "it is a bulk transfer without a document".to_owned();
        return Err(Error::NotWritable { page: page.name.clone(), problem });
    }
    let mut notes = Differences::default();
    let page = plan::spelt(page, &mut notes)?;
    plan::BrowsablePlan::new(page, notes).write()
}

/// A kind of difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Difference {
    Origin,
    Spelling,
    Method,
    Larger,
    Bodiless,
    Repeated,
    RedirectMethod,
    LateFetch,
    OtherFrame,
    AfterRedirect,
    AtHead,
    StyleTime,
}

impl Difference {
    fn text(self) -> &'static str {
        match self {
            Difference::Origin => {
                "with an http: origin or a non-default port, moved to a host of their own"
            }
            Difference::Spelling => "with URLs normalised as browsers do",
            Difference::Method => {
                "requested by GET or POST, the only methods allowed without CORS preflight"
            }
            Difference::Larger => "larger than stated, to fit their content",
            Difference::Bodiless => "without a body, which their status forbids",
            Difference::Repeated => {
                "requested more than once: repeated requests use fetch() and do not delay the load event"
            }
            Difference::RedirectMethod => {
                "redirects that are not followed, because a browser would change the method"
            }
            Difference::LateFetch => {
                "fetched by fetch(), which does not delay the load event as stated"
            }
            Difference::OtherFrame => {
                "wait for less than stated, because frames cannot observe each other"
            }
            Difference::AfterRedirect => "wait for the redirect's target instead of the redirect",
            Difference::AtHead => {
                "reveal others at their head, because scripts cannot observe the end of cross-origin responses"
            }
            Difference::StyleTime => {
                "requested when a style sheet is applied, after the browser's own compute time"
            }
        }
    }
}

/// Differences found so far.
#[derive(Debug, Default)]
struct Differences {
    by_kind: std::collections::BTreeMap<Difference, Vec<String>>,
    /// See [`Browsable::is_loaded_early`].
    is_loaded_early: bool,
}

impl Differences {
    fn add(&mut self, difference: Difference, url: &str) {
        self.by_kind.entry(difference).or_default().push(middle_cut(url));
    }

    /// One line per kind, with an example.
    fn lines(self) -> Vec<String> {
        let line = |(difference, urls): (Difference, Vec<String>)| match urls.as_slice() {
            [only] => format!("1 object {}: {only}", difference.text()),
            [first, ..] => format!("{} objects {}: {first}, ...", urls.len(), difference.text()),
            [] => unreachable!("a difference is noted with an object"),
        };
        self.by_kind.into_iter().map(line).collect()
    }
}

/// Appends `bytes` letters that compress badly and are reproducible.
fn filler(text: &mut Vec<u8>, bytes: usize) {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.";
    // Knuth's multiplier (TAOCP 3.3.4); the top bits of a linear congruence are random enough here.
    let mut state = text.len() as u64;
    text.extend((0..bytes).map(|_| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        LETTERS[(state >> 58) as usize]
    }));
}

/// Appends a comment between `open` and `close` up to `bytes` in all, or spaces if none fits.
fn comment(text: &mut Vec<u8>, bytes: usize, open: &str, close: &str) {
    let missing = bytes.saturating_sub(text.len());
    match missing.checked_sub(open.len() + close.len()) {
        Some(inside) => {
            text.extend_from_slice(open.as_bytes());
            filler(text, inside);
            text.extend_from_slice(close.as_bytes());
        }
        None => text.resize(text.len() + missing, b' '),
    }
}

/// Code of CSS or JavaScript, which share a comment syntax, padded to `bytes`.
fn commented(code: String, bytes: u64) -> Vec<u8> {
    let mut text = code.into_bytes();
    comment(&mut text, bytes as usize, "/*", "*/");
    text
}

/// A JSON text of exactly `bytes`: a string, or a digit if not even the quotes fit.
fn json(bytes: u64) -> Vec<u8> {
    let Some(inside) = (bytes as usize).checked_sub(2) else {
        return vec![b'0'; bytes as usize];
    };
    let mut text = vec![b'"'];
    filler(&mut text, inside);
    text.push(b'"');
    text
}

/// A body of filler alone.
fn opaque(bytes: u64) -> Vec<u8> {
    let mut body = Vec::with_capacity(bytes as usize);
    filler(&mut body, bytes as usize);
    body
}
