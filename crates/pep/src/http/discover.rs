//! What documents embed, as a browser finds it without running scripts; without IO.

use std::collections::BTreeSet;

use url::Url;

use super::html::Reading;
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
pub fn discover(media_type: &str, base: &Url, text: &[u8]) -> Vec<Embedded> {
    match media_type {
        "text/html" | "application/xhtml+xml" => {
            let mut reading = Reading::new(base);
            let mut embedded = reading.piece(text);
            embedded.extend(reading.end());
            embedded
        }
        "text/css" => {
            let mut found = Found::new(base);
            found.css(&String::from_utf8_lossy(text));
            found.take()
        }
        _ => Vec::new(),
    }
}

/// What has been found in one document.
pub(super) struct Found {
    base: Url,
    known: BTreeSet<Url>,
    news: Vec<Embedded>,
}

impl Found {
    pub(super) fn new(base: &Url) -> Found {
        Found { base: base.clone(), known: BTreeSet::new(), news: Vec::new() }
    }

    /// From here on, links start at `base`.
    pub(super) fn rebase(&mut self, base: &str) {
        if let Ok(base) = self.base.join(base) {
            self.base = base;
        }
    }

    pub(super) fn add(&mut self, link: &str, kind: Kind) {
        let Ok(mut url) = self.base.join(link.trim()) else { return };
        url.set_fragment(None);
        if url.scheme() == "http" && self.known.insert(url.clone()) {
            self.news.push(Embedded { url, kind });
        }
    }

    /// What a style sheet embeds, by its name: there is nothing else to tell by.
    pub(super) fn css(&mut self, text: &str) {
        for link in styles::embedded(text) {
            self.add(&link, kind_of(&link));
        }
    }

    /// What was found since it was asked last.
    pub(super) fn take(&mut self) -> Vec<Embedded> {
        std::mem::take(&mut self.news)
    }
}

fn kind_of(link: &str) -> Kind {
    let path = link.split(['?', '#']).next().unwrap_or_default();
    match path.rsplit_once('.').map_or("", |(_, extension)| extension) {
        "css" => Kind::Style,
        "woff" | "woff2" | "ttf" | "otf" | "eot" => Kind::Font,
        _ => Kind::Image,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn style_sheets_embed_style_sheets_fonts_and_images() {
        let base = Url::parse("http://a.example/dir/page").unwrap();
        let found = |media_type| {
            let css = b"@import 'm.css'; a{b:url(f.woff?v=1)} c{d:url(i.png)} e{f:url(i.png)}";
            let found = discover(media_type, &base, css);
            found.into_iter().map(|one| one.kind).collect::<Vec<_>>()
        };
        assert_eq!(found("text/css"), [Kind::Style, Kind::Font, Kind::Image]);
        assert_eq!(found("image/png"), []);
    }
}
