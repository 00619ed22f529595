//! References in recorded bodies: the entry that names a URL, the position, and whether it blocks rendering.
//!
//! Only URLs that the page has requested count, so no grammar of CSS or JavaScript is needed: any quoted or bracketed
//! piece of a text that spells such a URL is a reference to it. Documents are parsed by html5gum, because there the
//! element decides whether a reference blocks.

mod markup;
mod pieces;

use std::collections::{BTreeMap, BTreeSet};

use url::Url;

use super::entry::{self, Entry};
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
pub(super) struct Requested<'a> {
    addresses: BTreeSet<&'a str>,
    /// Text after the last slash of each: a quick test that a piece of text is none of them.
    endings: BTreeSet<&'a str>,
}

impl Mentions {
    /// Parses the bodies of `entries`; `addresses` are those that were requested.
    pub fn of<'a>(
        entries: &[&Entry],
        kinds: &[Kind],
        addresses: impl Iterator<Item = &'a String>,
    ) -> Mentions {
        let requested = Requested::new(addresses.map(String::as_str));
        let mut mentions = Mentions::default();
        for (index, entry) in entries.iter().enumerate() {
            let (Some(text), Some(base)) = (&entry.body_text, &entry.url) else { continue };
            let found = match kinds[index] {
                Kind::Document => markup::mentions(text, base, &requested),
                Kind::Stylesheet => pieces::mentions(text, &[base], &requested, true),
                Kind::Script | Kind::Data => {
                    // A script's fetches are relative to its document, its imports to itself.
                    let document = entries[0].url.as_ref().unwrap_or(base);
                    pieces::mentions(text, &[document, base], &requested, false)
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

impl<'a> Requested<'a> {
    fn new(addresses: impl Iterator<Item = &'a str>) -> Requested<'a> {
        let addresses: BTreeSet<&str> = addresses.collect();
        let endings = addresses.iter().map(|address| ending(address)).collect();
        Requested { addresses, endings }
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
