//! What a page embeds, as a browser finds it without running scripts; without IO.
//!
//! HTML by html5gum's tokenizer (WHATWG HTML section 13.2.5). What it leaves out: everything that scripts add, `srcset` (the client chooses),
//! lazy images, frames, and what stands in `<noscript>` and `<template>`.

use html5gum::emitters::default::DefaultEmitter;
use html5gum::{StartTag, Token, Tokenizer};
use url::Url;

use super::styles;

/// What kind of object it is, the most urgent first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A style sheet: nothing is painted without.
    Style,
    /// A script: the parser waits for it.
    Script,
    /// A font.
    Font,
    /// An image, or anything else.
    Image,
}

/// An object that a page or a style sheet embeds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Embedded {
    /// Where it is; of the scheme `http`, without a fragment.
    pub url: Url,
    /// What it is.
    pub kind: Kind,
}

/// What the document at `base` embeds, each once, in the order in which it is found. `media_type` says whether it is HTML or CSS; of
/// anything else nothing is known.
pub fn discover(media_type: &str, base: &Url, text: &str) -> Vec<Embedded> {
    let mut found = Found { base: base.clone(), embedded: Vec::new() };
    match media_type {
        "text/html" | "application/xhtml+xml" => found.html(text),
        "text/css" => found.css(text),
        _ => {}
    }
    found.embedded
}

struct Found {
    base: Url,
    embedded: Vec<Embedded>,
}

impl Found {
    fn add(&mut self, link: &str, kind: Kind) {
        let Ok(mut url) = self.base.join(link.trim()) else { return };
        url.set_fragment(None);
        if url.scheme() == "http" && !self.embedded.iter().any(|other| other.url == url) {
            self.embedded.push(Embedded { url, kind });
        }
    }

    fn css(&mut self, text: &str) {
        for link in styles::embedded(text) {
            self.add(&link, kind_of(&link));
        }
    }

    fn html(&mut self, text: &str) {
        let mut emitter = DefaultEmitter::default();
        // Else tags in scripts would count.
        emitter.naively_switch_states(true);
        let (mut hidden, mut in_style, mut has_base) = (0_u32, false, false);
        for token in Tokenizer::new_with_emitter(text, emitter) {
            let Ok(token) = token;
            match token {
                Token::StartTag(tag) => match &tag.name[..] {
                    b"noscript" | b"template" => hidden += 1,
                    b"style" => in_style = true,
                    b"base" if !has_base => has_base = self.rebase(&tag),
                    _ if hidden == 0 => self.tag(&tag),
                    _ => {}
                },
                Token::EndTag(tag) => match &tag.name[..] {
                    b"noscript" | b"template" => hidden = hidden.saturating_sub(1),
                    b"style" => in_style = false,
                    _ => {}
                },
                Token::String(text) if in_style && hidden == 0 => {
                    self.css(&String::from_utf8_lossy(&text));
                }
                _ => {}
            }
        }
    }

    /// WHATWG HTML section 4.2.3: the first `<base>` with an address counts.
    fn rebase(&mut self, tag: &StartTag<()>) -> bool {
        let Some(base) = attribute(tag, "href") else { return false };
        if let Ok(base) = self.base.join(&base) {
            self.base = base;
        }
        true
    }

    fn tag(&mut self, tag: &StartTag<()>) {
        if let Some(style) = attribute(tag, "style") {
            self.css(&style);
        }
        match &tag.name[..] {
            b"script" => self.linked(tag, "src", Kind::Script),
            b"img" if attribute(tag, "loading").as_deref() != Some("lazy") => {
                self.linked(tag, "src", Kind::Image);
            }
            b"input" | b"embed" => self.linked(tag, "src", Kind::Image),
            b"video" => self.linked(tag, "poster", Kind::Image),
            b"body" | b"table" | b"td" => self.linked(tag, "background", Kind::Image),
            b"link" => {
                if let Some(kind) = link_kind(tag) {
                    self.linked(tag, "href", kind);
                }
            }
            _ => {}
        }
    }

    fn linked(&mut self, tag: &StartTag<()>, name: &str, kind: Kind) {
        if let Some(link) = attribute(tag, name).filter(|link| !link.trim().is_empty()) {
            self.add(&link, kind);
        }
    }
}

/// What a `<link>` makes a browser load, if anything.
fn link_kind(tag: &StartTag<()>) -> Option<Kind> {
    let rel = attribute(tag, "rel")?.to_ascii_lowercase();
    let mut words = rel.split_ascii_whitespace();
    if words.clone().any(|word| word == "alternate") {
        return None;
    }
    words.find_map(|word| match word {
        "stylesheet" => Some(Kind::Style),
        "icon" => Some(Kind::Image),
        "modulepreload" => Some(Kind::Script),
        "preload" => match attribute(tag, "as").as_deref() {
            Some("style") => Some(Kind::Style),
            Some("script") => Some(Kind::Script),
            Some("font") => Some(Kind::Font),
            Some("image") => Some(Kind::Image),
            _ => None,
        },
        _ => None,
    })
}

/// What a style sheet embeds, by its name: there is nothing else to tell by.
fn kind_of(link: &str) -> Kind {
    let path = link.split(['?', '#']).next().unwrap_or_default();
    match path.rsplit_once('.').map_or("", |(_, extension)| extension) {
        "css" => Kind::Style,
        "woff" | "woff2" | "ttf" | "otf" | "eot" => Kind::Font,
        _ => Kind::Image,
    }
}

fn attribute(tag: &StartTag<()>, name: &str) -> Option<String> {
    let value = tag.attributes.get(name.as_bytes())?;
    Some(String::from_utf8_lossy(value).into_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn found(media_type: &str, text: &str) -> Vec<(String, Kind)> {
        let base = Url::parse("http://a.example/dir/page").unwrap();
        let found = discover(media_type, &base, text);
        found.into_iter().map(|one| (one.url.to_string(), one.kind)).collect()
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
            (at("/s.css"), Kind::Style),
            (at("/dir/f.woff2"), Kind::Font),
            (at("/dir/bg.png"), Kind::Image),
            (at("/dir/j.js"), Kind::Script),
            (at("/dir/i.png?a=1&b=2"), Kind::Image),
            (at("/dir/p.gif"), Kind::Image),
            ("http://c.example/c.png".to_owned(), Kind::Image),
        ];
        assert_eq!(found("text/html", html), expected);
    }

    #[test]
    fn the_first_base_counts() {
        let html = "<base href='http://b.example/x/'><base href=/no/><img src=i>";
        assert_eq!(found("text/html", html), [("http://b.example/x/i".to_owned(), Kind::Image)]);
    }

    #[test]
    fn style_sheets_embed_style_sheets_fonts_and_images() {
        let css = "@import 'm.css'; a{b:url(f.woff?v=1)} c{d:url(i.png)}";
        let kinds: Vec<Kind> = found("text/css", css).into_iter().map(|(_, kind)| kind).collect();
        assert_eq!(kinds, [Kind::Style, Kind::Font, Kind::Image]);
        assert_eq!(found("image/png", css), []);
    }

    proptest! {
        #[test]
        fn nothing_makes_it_panic(text: String) {
            drop(found("text/html", &text));
            drop(found("text/css", &text));
        }

        #[test]
        fn nothing_like_html_makes_it_panic(
            text in "(<(img|link|base|style|noscript|/style|script)|src=|href=|rel=stylesheet|['\">/ ]|url\\()*"
        ) {
            drop(found("text/html", &text));
        }
    }
}
