//! References in recorded bodies: the entry that names a URL, the position, and whether it blocks rendering.
//!
//! Only URLs that the page has requested count, so no grammar of CSS or JavaScript is needed: any quoted or bracketed
//! piece of a text that spells such a URL is a reference to it. Documents are parsed by html5gum, because there the
//! element decides whether a reference blocks.

use std::collections::{BTreeMap, BTreeSet};

use html5gum::emitters::default::DefaultEmitter;
use html5gum::{StartTag, Token, Tokenizer};
use url::Url;

use super::entry::{self, HarEntry};
use crate::Kind;

/// A reference in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mention {
    /// Position of its end.
    pub at: usize,
    /// Length of the text.
    pub of: usize,
    /// True for an element's or a style sheet's reference, which a browser follows, false for a script's text.
    pub is_followed: bool,
    /// True if the first paint of this document waits for it, should it be a sheet or a script.
    pub blocks: bool,
}

/// References of all recorded bodies, by entry and by the address that is named.
#[derive(Debug, Default)]
pub(super) struct Mentions(BTreeMap<(usize, String), Mention>);

/// Requested addresses.
pub(super) struct RequestedUrls<'a> {
    addresses: BTreeSet<&'a str>,
    /// Text after the last slash of each: a quick test that a piece of text is none of them.
    endings: BTreeSet<&'a str>,
}

impl Mentions {
    /// Parses the bodies of `entries`; `addresses` are those that were requested.
    pub fn of<'a>(
        entries: &[&HarEntry],
        kinds: &[Kind],
        addresses: impl Iterator<Item = &'a String>,
    ) -> Mentions {
        let requested = RequestedUrls::new(addresses.map(String::as_str));
        let mut mentions = Mentions::default();
        for (index, entry) in entries.iter().enumerate() {
            let (Some(text), Some(base)) = (&entry.body_text, &entry.url) else { continue };
            let found = match kinds[index] {
                Kind::Document => mentions_in_markup(text, base, &requested),
                Kind::Stylesheet => mentions_in_pieces(text, &[base], &requested, true),
                Kind::Script | Kind::Data => {
                    // A script's fetches are relative to its document, its imports to itself.
                    let document = entries[0].url.as_ref().unwrap_or(base);
                    mentions_in_pieces(text, &[document, base], &requested, false)
                }
                _ => continue,
            };
            for (address, mention) in found {
                mentions.0.entry((index, address)).or_insert(mention);
            }
        }
        mentions
    }

    /// First reference of the entry `by` to `address`.
    pub fn get(&self, by: usize, address: &str) -> Option<Mention> {
        self.0.get(&(by, address.to_owned())).copied()
    }

    /// Returns true if no body was recorded, or none names anything.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<'a> RequestedUrls<'a> {
    fn new(addresses: impl Iterator<Item = &'a str>) -> RequestedUrls<'a> {
        let addresses: BTreeSet<&str> = addresses.collect();
        let endings = addresses.iter().map(|address| ending(address)).collect();
        RequestedUrls { addresses, endings }
    }

    /// Address that `link` stands for at `base`, if it was requested.
    fn find(&self, base: &Url, link: &str) -> Option<String> {
        let link = link.trim();
        if link.is_empty() || !self.endings.contains(ending(entry::without_fragment(link))) {
            return None;
        }
        let address = entry::address(base.join(link).ok()?.as_str());
        self.addresses.contains(address.as_str()).then_some(address)
    }
}

fn ending(address: &str) -> &str {
    let path = address.split('?').next().unwrap_or(address);
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests;

// References in texts without a grammar: pieces between quotes, brackets and blanks.

/// Maximum length of URLs that are requested by a literal.
const LONGEST: usize = 2048;

/// Requested addresses that `text` spells, relative to the first of `bases` that yields one.
fn mentions_in_pieces(
    text: &str,
    bases: &[&Url],
    requested: &RequestedUrls<'_>,
    is_followed: bool,
) -> Vec<(String, Mention)> {
    let mut found = Vec::new();
    for piece in text.split(is_separator) {
        if piece.is_empty() || piece.len() > LONGEST || !piece.contains(['/', '.']) {
            continue;
        }
        let link = unescaped(piece);
        if let Some(address) = bases.iter().find_map(|base| requested.find(base, &link)) {
            // A piece lies within the text that it was split from.
            let at = piece.as_ptr() as usize - text.as_ptr() as usize + piece.len();
            found.push((address, Mention { at, of: text.len(), is_followed, blocks: false }));
        }
    }
    found
}

fn is_separator(c: char) -> bool {
    c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '(' | ')' | '<' | '>')
}

/// Undoes escapes: JSON and JavaScript may write a slash as `\/` and an ampersand as `\u0026`.
fn unescaped(piece: &str) -> String {
    piece.replace("\\u0026", "&").replace("\\u002F", "/").replace('\\', "")
}

// References in HTML, and which of them block the first paint.

/// References of the document `text` at `base`, in their order.
fn mentions_in_markup(
    text: &str,
    base: &Url,
    requested: &RequestedUrls<'_>,
) -> Vec<(String, Mention)> {
    let mut reading = MarkupReader {
        requested,
        base: base.clone(),
        has_base: false,
        hidden: 0,
        within: TextContext::Markup,
        shows: false,
        length: text.len(),
        found: Vec::new(),
    };
    let mut emitter = DefaultEmitter::<usize>::new_with_span();
    // Otherwise tags in scripts would count.
    emitter.naively_switch_states(true);
    for token in Tokenizer::new_with_emitter(text, emitter) {
        let Ok(token) = token;
        reading.token(token);
    }
    reading.found
}

/// Element whose text is being read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TextContext {
    Markup,
    Title,
    Style,
    Script,
}

struct MarkupReader<'a> {
    requested: &'a RequestedUrls<'a>,
    base: Url,
    has_base: bool,
    /// Number of open elements that browsers with scripting ignore.
    hidden: u32,
    within: TextContext,
    /// True if content has occurred: what follows no longer holds up the first paint.
    shows: bool,
    length: usize,
    found: Vec<(String, Mention)>,
}

impl MarkupReader<'_> {
    fn token(&mut self, token: Token<usize>) {
        match token {
            Token::StartTag(tag) => match &tag.name[..] {
                b"noscript" | b"template" => self.hidden += 1,
                b"base" if !self.has_base => self.rebase(&tag),
                _ if self.hidden == 0 => self.tag(&tag),
                _ => {}
            },
            Token::EndTag(tag) => match &tag.name[..] {
                b"noscript" | b"template" => self.hidden = self.hidden.saturating_sub(1),
                b"title" | b"style" | b"script" => self.within = TextContext::Markup,
                _ => {}
            },
            Token::String(text) if self.hidden == 0 => {
                let end = text.span.end;
                self.text(&String::from_utf8_lossy(&text), end);
            }
            _ => {}
        }
    }

    /// WHATWG HTML section 4.2.3: the first `<base>` with an address counts.
    fn rebase(&mut self, tag: &StartTag<usize>) {
        if let Some(base) = attribute(tag, "href").and_then(|href| self.base.join(&href).ok()) {
            self.base = base;
            self.has_base = true;
        }
    }

    fn text(&mut self, text: &str, end: usize) {
        match self.within {
            TextContext::Style => {
                let blocks = !self.shows;
                self.pieces(text, end, true, blocks);
            }
            TextContext::Script => self.pieces(text, end, false, false),
            TextContext::Markup => self.shows |= !text.trim().is_empty(),
            TextContext::Title => {}
        }
    }

    /// References in the text of an element that ends at `end`, or in an attribute.
    fn pieces(&mut self, text: &str, end: usize, is_followed: bool, blocks: bool) {
        let start = end.saturating_sub(text.len());
        let found = mentions_in_pieces(text, &[&self.base], self.requested, is_followed);
        self.found.extend(found.into_iter().map(|(address, mention)| {
            let at = (start + mention.at).min(self.length);
            (address, Mention { at, of: self.length, blocks, ..mention })
        }));
    }

    fn tag(&mut self, tag: &StartTag<usize>) {
        let end = tag.span.end;
        if let Some(style) = attribute(tag, "style") {
            self.pieces(&style, end, true, false);
        }
        for name in ["src", "poster", "background"] {
            let blocks = name == "src" && !self.shows && holds_up_the_parser(tag);
            self.link(tag, name, blocks);
        }
        match &tag.name[..] {
            b"link" => self.link(tag, "href", !self.shows && is_applied_sheet(tag)),
            b"image" => self.link(tag, "href", false),
            b"object" => self.link(tag, "data", false),
            _ => {}
        }
        for name in ["srcset", "imagesrcset"] {
            if let Some(candidates) = attribute(tag, name) {
                let links = candidates.split(',').filter_map(|one| one.split_whitespace().next());
                let links: Vec<String> = links.map(str::to_owned).collect();
                links.iter().for_each(|link| self.add(link, end, false));
            }
        }
        self.within = match &tag.name[..] {
            b"title" => TextContext::Title,
            b"style" => TextContext::Style,
            b"script" => TextContext::Script,
            _ => self.within,
        };
        self.shows |= is_content(tag);
    }

    fn link(&mut self, tag: &StartTag<usize>, name: &str, blocks: bool) {
        if let Some(link) = attribute(tag, name) {
            self.add(&link, tag.span.end, blocks);
        }
    }

    fn add(&mut self, link: &str, at: usize, blocks: bool) {
        if let Some(address) = self.requested.find(&self.base, link) {
            let mention = Mention { at, of: self.length, is_followed: true, blocks };
            // A sheet that is preloaded and then linked still blocks.
            match self.found.iter_mut().find(|(known, _)| *known == address) {
                Some((_, known)) => known.blocks |= blocks,
                None => self.found.push((address, mention)),
            }
        }
    }
}

/// Returns true for elements that are painted (Paint Timing, "contentful": text, images, SVG, canvas), and form
/// fields.
fn is_content(tag: &StartTag<usize>) -> bool {
    match &tag.name[..] {
        b"img" | b"svg" | b"canvas" | b"video" | b"object" | b"embed" | b"button" | b"textarea"
        | b"select" => true,
        b"input" => attribute(tag, "type").is_none_or(|kind| !kind.eq_ignore_ascii_case("hidden")),
        _ => false,
    }
}

/// WHATWG HTML section 4.12.1: a classic script with neither `async` nor `defer`.
fn holds_up_the_parser(tag: &StartTag<usize>) -> bool {
    let has = |name: &str| tag.attributes.contains_key(name.as_bytes());
    let kind = attribute(tag, "type").unwrap_or_default().trim().to_ascii_lowercase();
    let is_classic = kind.is_empty() || kind.contains("javascript") || kind.contains("ecmascript");
    tag.name[..] == *b"script" && is_classic && !has("async") && !has("defer") && !has("nomodule")
}

/// Returns true for a sheet that applies to this browser's screen: not alternative, not disabled, not for another
/// medium.
fn is_applied_sheet(tag: &StartTag<usize>) -> bool {
    let relations = attribute(tag, "rel").unwrap_or_default().to_ascii_lowercase();
    let has = |word: &str| relations.split_ascii_whitespace().any(|own| own == word);
    let media = attribute(tag, "media").unwrap_or_default().to_ascii_lowercase();
    // Size conditions are unknown, so the screen is assumed to meet them.
    let other = ["print", "speech", "aural", "braille", "tty", "not all", "not screen", "only x"];
    let applies = media.split(',').any(|query| {
        let query = query.trim();
        query != "none" && !other.iter().any(|medium| query.starts_with(medium))
    });
    let disabled = tag.attributes.contains_key(b"disabled".as_slice());
    has("stylesheet") && !has("alternate") && !disabled && applies
}

fn attribute(tag: &StartTag<usize>, name: &str) -> Option<String> {
    let value = tag.attributes.get(name.as_bytes())?;
    Some(String::from_utf8_lossy(value).into_owned())
}
