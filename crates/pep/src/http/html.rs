//! Scanner of an HTML page as it arrives; without IO.
//!
//! It uses html5gum's tokenizer (WHATWG HTML section 13.2.5), which needs a complete text. So the input is cut after the last tag that text or
//! another tag may follow; the part before is scanned, and the rest waits. An unfinished script or comment waits as a whole, and is scanned again
//! when the rest has doubled: the work stays linear in the page's size.
//!
//! Not covered: everything that scripts add, `srcset` (the client chooses), lazy images, frames, and the content of `<noscript>` and
//! `<template>`.

use html5gum::emitters::default::DefaultEmitter;
use html5gum::{StartTag, Token, Tokenizer, naive_next_state};
use url::Url;

use super::discover::{Embedded, EmbeddedKind, EmbeddedObjects};

/// A page that is being read.
pub struct HtmlScanner {
    found: EmbeddedObjects,
    /// Input that has not been scanned.
    rest: Vec<u8>,
    /// Size of the rest at which it is scanned.
    due_bytes: usize,
    /// Number of open elements that show nothing.
    hidden: u32,
    in_style: bool,
    has_base: bool,
}

impl HtmlScanner {
    /// A scanner for the page at `base`.
    pub fn new(base: &Url) -> HtmlScanner {
        let (found, rest) = (EmbeddedObjects::new(base), Vec::new());
        HtmlScanner { found, rest, due_bytes: 0, hidden: 0, in_style: false, has_base: false }
    }

    /// The objects found with `piece`.
    pub fn piece(&mut self, piece: &[u8]) -> Vec<Embedded> {
        self.rest.extend_from_slice(piece);
        if self.rest.len() >= self.due_bytes {
            let mut text = std::mem::take(&mut self.rest);
            let (cut, _) = self.look(&text);
            text.drain(..cut);
            self.due_bytes = 2 * text.len();
            self.rest = text;
        }
        self.found.take()
    }

    /// The objects found at the page's end.
    pub fn end(mut self) -> Vec<Embedded> {
        let text = std::mem::take(&mut self.rest);
        let (_, last) = self.look(&text);
        last.into_iter().for_each(|token| self.token(token));
        self.found.take()
    }

    /// Scans `text` up to the last place where it may be cut. Returns that place, and the tokens behind it, which count if nothing
    /// more comes.
    fn look(&mut self, text: &[u8]) -> (usize, Vec<Token<usize>>) {
        let mut emitter = DefaultEmitter::<usize>::new_with_span();
        // Otherwise tags in scripts would count.
        emitter.naively_switch_states(true);
        let (mut cut, mut behind) = (0, Vec::new());
        for token in Tokenizer::new_with_emitter(text, emitter) {
            let Ok(token) = token;
            let may_cut_at = match &token {
                Token::StartTag(tag) if naive_next_state(&tag.name).is_none() => Some(tag.span.end),
                Token::EndTag(tag) => Some(tag.span.end),
                Token::Error(_) => continue,
                _ => None,
            };
            behind.push(token);
            if let Some(at) = may_cut_at {
                cut = at;
                behind.drain(..).for_each(|token| self.token(token));
            }
        }
        (cut, behind)
    }

    fn token(&mut self, token: Token<usize>) {
        match token {
            Token::StartTag(tag) => match &tag.name[..] {
                b"noscript" | b"template" => self.hidden += 1,
                b"style" => self.in_style = true,
                b"base" if !self.has_base => self.rebase(&tag),
                _ if self.hidden == 0 => self.tag(&tag),
                _ => {}
            },
            Token::EndTag(tag) => match &tag.name[..] {
                b"noscript" | b"template" => self.hidden = self.hidden.saturating_sub(1),
                b"style" => self.in_style = false,
                _ => {}
            },
            Token::String(text) if self.in_style && self.hidden == 0 => {
                self.found.css(&String::from_utf8_lossy(&text));
            }
            _ => {}
        }
    }

    /// WHATWG HTML section 4.2.3: the first `<base>` with an address counts.
    fn rebase(&mut self, tag: &StartTag<usize>) {
        if let Some(base) = attribute(tag, "href") {
            self.found.rebase(&base);
            self.has_base = true;
        }
    }

    fn tag(&mut self, tag: &StartTag<usize>) {
        if let Some(style) = attribute(tag, "style") {
            self.found.css(&style);
        }
        match &tag.name[..] {
            b"script" => self.linked(tag, "src", EmbeddedKind::Script),
            b"img" if attribute(tag, "loading").as_deref() != Some("lazy") => {
                self.linked(tag, "src", EmbeddedKind::Image);
            }
            b"input" | b"embed" => self.linked(tag, "src", EmbeddedKind::Image),
            b"video" => self.linked(tag, "poster", EmbeddedKind::Image),
            b"body" | b"table" | b"td" => self.linked(tag, "background", EmbeddedKind::Image),
            b"link" => {
                if let Some(kind) = link_kind(tag) {
                    self.linked(tag, "href", kind);
                }
            }
            _ => {}
        }
    }

    fn linked(&mut self, tag: &StartTag<usize>, name: &str, kind: EmbeddedKind) {
        if let Some(link) = attribute(tag, name).filter(|link| !link.trim().is_empty()) {
            self.found.add(&link, kind);
        }
    }
}

/// Kind of the object that a `<link>` makes a browser load, if any.
fn link_kind(tag: &StartTag<usize>) -> Option<EmbeddedKind> {
    let rel = attribute(tag, "rel")?.to_ascii_lowercase();
    let mut words = rel.split_ascii_whitespace();
    if words.clone().any(|word| word == "alternate") {
        return None;
    }
    words.find_map(|word| match word {
        "stylesheet" => Some(EmbeddedKind::Style),
        "icon" => Some(EmbeddedKind::Image),
        "modulepreload" => Some(EmbeddedKind::Script),
        "preload" => match attribute(tag, "as").as_deref() {
            Some("style") => Some(EmbeddedKind::Style),
            Some("script") => Some(EmbeddedKind::Script),
            Some("font") => Some(EmbeddedKind::Font),
            Some("image") => Some(EmbeddedKind::Image),
            _ => None,
        },
        _ => None,
    })
}

fn attribute(tag: &StartTag<usize>, name: &str) -> Option<String> {
    let value = tag.attributes.get(name.as_bytes())?;
    Some(String::from_utf8_lossy(value).into_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn base() -> Url {
        Url::parse("http://a.example/dir/page").unwrap()
    }

    /// The objects found in a page that comes in pieces of `cut` bytes.
    fn found(html: &[u8], cut: usize) -> Vec<(String, EmbeddedKind)> {
        let mut reading = HtmlScanner::new(&base());
        let mut found: Vec<Embedded> =
            html.chunks(cut).flat_map(|piece| reading.piece(piece)).collect();
        found.extend(reading.end());
        found.into_iter().map(|one| (one.url.to_string(), one.kind)).collect()
    }

    fn whole(html: &str) -> Vec<(String, EmbeddedKind)> {
        found(html.as_bytes(), usize::MAX)
    }

    #[test]
    fn a_page_embeds_what_a_browser_would_load() {
        let html = r#"<!doctype html><html><head>
            <link rel=stylesheet href="/s.css"><link rel="alternate stylesheet" href=no.css>
            <link rel=canonical href=no><link rel=preload as=font href=f.woff2>
            <style>body { background: url(bg.png) }</style>
            <script src="j.js">if (1) "<img src=no.png>"</script></head>
            <body><img src="i.png?a=1&amp;b=2#x"><img src=i.png?a=1&b=2><img loading=lazy src=no>
            <noscript><img src=no></noscript><p style="background:url('p.gif')">
            <img src="https://b.example/no"><img src="//c.example/c.png"><img src="data:,x"></body>"#;
        let at = |path: &str| format!("http://a.example{path}");
        let expected = [
            (at("/s.css"), EmbeddedKind::Style),
            (at("/dir/f.woff2"), EmbeddedKind::Font),
            (at("/dir/bg.png"), EmbeddedKind::Image),
            (at("/dir/j.js"), EmbeddedKind::Script),
            (at("/dir/i.png?a=1&b=2"), EmbeddedKind::Image),
            (at("/dir/p.gif"), EmbeddedKind::Image),
            ("http://c.example/c.png".to_owned(), EmbeddedKind::Image),
        ];
        for cut in (1..html.len()).chain([usize::MAX]) {
            assert_eq!(found(html.as_bytes(), cut), expected, "in pieces of {cut}");
        }
    }

    #[test]
    fn the_first_base_counts() {
        let html = "<base href='http://b.example/x/'><base href=/no/><img src=i>";
        assert_eq!(whole(html), [("http://b.example/x/i".to_owned(), EmbeddedKind::Image)]);
    }

    #[test]
    fn an_object_is_found_when_its_tag_has_come() {
        let mut reading = HtmlScanner::new(&base());
        assert_eq!(reading.piece(b"<p>text <img src=i.p"), []);
        assert_eq!(reading.piece(b"ng").len(), 0);
        assert_eq!(reading.piece(b"><img src=j.png>and so on, and so on").len(), 2);
        assert_eq!(reading.end(), []);
    }

    /// Each byte is scanned a few times at most, even in a construct that never ends.
    #[test]
    fn a_script_without_an_end_is_no_work() {
        let mut reading = HtmlScanner::new(&base());
        let mut looks = 0;
        reading.piece(b"<script>");
        for _ in 0..100_000 {
            let due_bytes = reading.due_bytes;
            reading.piece(b"let x = 1;");
            looks += u32::from(reading.due_bytes != due_bytes);
        }
        assert!(looks < 25, "{looks}");
    }

    const LIKE_HTML: &str = "(<(img|link|base|style|noscript|!--|/style|script|/script|title|/title|template|p)|src=|href=|rel=stylesheet|a|\u{e9}|&amp;|--|['\">/ ]|\r|\n|url\\()*";

    proptest! {
        #[test]
        fn nothing_makes_it_panic(bytes: Vec<u8>, cut in 1usize..20) {
            drop(found(&bytes, cut));
        }

        #[test]
        fn pieces_change_nothing(html in LIKE_HTML, cut in 1usize..20) {
            prop_assert_eq!(found(html.as_bytes(), cut), whole(&html));
        }
    }
}
