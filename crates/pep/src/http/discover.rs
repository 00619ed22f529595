//! Discovery of the objects that documents embed, as by a browser without scripts; without IO.

use std::collections::BTreeSet;

use url::Url;

use super::html::Reading;
use super::styles;

/// Kind of an object, the most urgent first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
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
    pub kind: Kind,
}

/// The objects that the document at `base` embeds, each once, in the order of discovery. `media_type` distinguishes HTML and CSS;
/// other types yield nothing.
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

/// Objects found in one document.
pub(super) struct Found {
    base: Url,
    known: BTreeSet<Url>,
    news: Vec<Embedded>,
}

impl Found {
    pub(super) fn new(base: &Url) -> Found {
        Found { base: base.clone(), known: BTreeSet::new(), news: Vec::new() }
    }

    /// Resolves the links from here on against `base`.
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

    /// Adds the objects that a style sheet embeds, with kinds by file name: there is nothing else to tell by.
    pub(super) fn css(&mut self, text: &str) {
        for link in styles::embedded(text) {
            self.add(&link, kind_of(&link));
        }
    }

    /// Takes the objects found since the last call.
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
