//! Discovery of the objects that documents embed, as by a browser without scripts; without IO.

use std::collections::BTreeSet;

use url::Url;

use super::html::HtmlScanner;

/// Kind of an object, the most urgent first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EmbeddedKind {
    /// A style sheet: rendering waits for it.
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
    /// Its URL; of the scheme `http`, without a fragment.
    pub url: Url,
    /// Its kind.
    pub kind: EmbeddedKind,
}

/// The objects that the document at `base` embeds, each once, in the order of discovery. `media_type` distinguishes HTML and CSS;
/// other types yield nothing.
pub fn discover(media_type: &str, base: &Url, text: &[u8]) -> Vec<Embedded> {
    match media_type {
        "text/html" | "application/xhtml+xml" => {
            let mut reading = HtmlScanner::new(base);
            let mut embedded = reading.piece(text);
            embedded.extend(reading.end());
            embedded
        }
        "text/css" => {
            let mut found = EmbeddedObjects::new(base);
            found.css(&String::from_utf8_lossy(text));
            found.take()
        }
        _ => Vec::new(),
    }
}

/// Objects found in one document.
pub(super) struct EmbeddedObjects {
    base: Url,
    known: BTreeSet<Url>,
    news: Vec<Embedded>,
}

impl EmbeddedObjects {
    pub(super) fn new(base: &Url) -> EmbeddedObjects {
        EmbeddedObjects { base: base.clone(), known: BTreeSet::new(), news: Vec::new() }
    }

    /// Resolves the links from here on against `base`.
    pub(super) fn rebase(&mut self, base: &str) {
        if let Ok(base) = self.base.join(base) {
            self.base = base;
        }
    }

    pub(super) fn add(&mut self, link: &str, kind: EmbeddedKind) {
        let Ok(mut url) = self.base.join(link.trim()) else { return };
        url.set_fragment(None);
        if url.scheme() == "http" && self.known.insert(url.clone()) {
            self.news.push(Embedded { url, kind });
        }
    }

    /// Adds the objects that a style sheet embeds, with kinds by file name: there is nothing else to tell by.
    pub(super) fn css(&mut self, text: &str) {
        for link in embedded(text) {
            self.add(&link, kind_of(&link));
        }
    }

    /// Takes the objects found since the last call.
    pub(super) fn take(&mut self) -> Vec<Embedded> {
        std::mem::take(&mut self.news)
    }
}

fn kind_of(link: &str) -> EmbeddedKind {
    let path = link.split(['?', '#']).next().unwrap_or_default();
    match path.rsplit_once('.').map_or("", |(_, extension)| extension) {
        "css" => EmbeddedKind::Style,
        "woff" | "woff2" | "ttf" | "otf" | "eot" => EmbeddedKind::Font,
        _ => EmbeddedKind::Image,
    }
}

// Style sheets: `url(...)` and `@import "..."` (CSS Syntax Level 3), by a scan that knows comments, strings and escapes.
//
// It ignores which rules apply: an image of a rule that matches nothing is found as well. `@import` without `url` is recognised by the string
// that follows; data URLs and fragments are left out.

/// The URLs in `css`, as written, in order.
pub(super) fn embedded(css: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = css;
    while let Some(at) = rest.find(['/', '"', '\'', 'u', 'U', '@']) {
        rest = &rest[at..];
        if let Some(comment) = rest.strip_prefix("/*") {
            rest = comment.split_once("*/").map_or("", |(_, after)| after);
        } else if rest.starts_with(['"', '\'']) {
            rest = string(rest).1;
        } else if let Some(after) = word(rest, "url(") {
            let (url, after) = url(after);
            found.push(url);
            rest = after;
        } else if let Some(after) = word(rest, "@import") {
            let after = after.trim_start();
            rest = after;
            if after.starts_with(['"', '\'']) {
                let (url, after) = string(after);
                found.push(url);
                rest = after;
            }
        } else {
            let mut chars = rest.chars();
            chars.next();
            rest = chars.as_str();
        }
    }
    found.retain(|url| !url.is_empty() && !url.starts_with('#') && !url.starts_with("data:"));
    found
}

/// The text after `word`, compared case-insensitively.
fn word<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let start = text.get(..word.len())?;
    start.eq_ignore_ascii_case(word).then(|| &text[word.len()..])
}

/// The content of `url(` up to its parenthesis, and the text after it.
fn url(text: &str) -> (String, &str) {
    let text = text.trim_start();
    let (url, after) = if text.starts_with(['"', '\'']) {
        string(text)
    } else {
        let end = text.find(|c: char| c == ')' || c.is_whitespace()).unwrap_or(text.len());
        (unescaped(&text[..end]), &text[end..])
    };
    (url, after.split_once(')').map_or("", |(_, after)| after))
}

/// The string that `text` begins with, and the text after it. An unclosed string ends with its line.
fn string(text: &str) -> (String, &str) {
    let mut chars = text.char_indices();
    let quote = chars.next().map_or('"', |(_, quote)| quote);
    let mut is_escaped = false;
    for (at, c) in chars {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '\n' => return (unescaped(&text[1..at]), &text[at..]),
            _ if c == quote => return (unescaped(&text[1..at]), &text[at + 1..]),
            _ => {}
        }
    }
    (unescaped(&text[1..]), "")
}

/// Removes escapes of single characters; hexadecimal ones do not occur in real URLs.
fn unescaped(text: &str) -> String {
    text.replace('\\', "")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn style_sheets_embed_style_sheets_fonts_and_images() {
        let base = Url::parse("http://a.example/dir/page").unwrap();
        let found = |media_type| {
            let css = b"@import 'm.css'; a{b:url(f.woff?v=1)} c{d:url(i.png)} e{f:url(i.png)}";
            let found = discover(media_type, &base, css);
            found.into_iter().map(|one| one.kind).collect::<Vec<_>>()
        };
        assert_eq!(
            found("text/css"),
            [EmbeddedKind::Style, EmbeddedKind::Font, EmbeddedKind::Image]
        );
        assert_eq!(found("image/png"), []);
    }

    #[test]
    fn what_is_embedded_is_found_in_order() {
        let css = "@import 'base.css'; @import url(\"more.css\") print;
            /* url(not.png) */ a { content: 'url(not.png)'; background: URL( a.png ) }
            @font-face { src: url('f.woff2') format('woff2'), url(data:font/woff,xx) }
            b { mask: url(#here) } c { background: url(";
        assert_eq!(embedded(css), ["base.css", "more.css", "a.png", "f.woff2"]);
    }

    proptest! {
        #[test]
        fn nothing_makes_it_panic(css in "[ -~\u{e9}\n]*") {
            drop(embedded(&css));
        }

        #[test]
        fn nothing_like_css_makes_it_panic(css in "(url\\(|@import|['\"\\\\)/*]|\n|\u{e9}|a)*") {
            drop(embedded(&css));
        }
    }
}
