//! The browser's cache, as far as a second visit sees it.
//!
//! A page's `cacheable` says whether a browser may answer from its cache without asking; whether it
//! then still has the object is the only thing kept here. It leaves out expiry and eviction: visits of
//! a journey lie minutes apart, caches hold far more than a page.

use std::cell::RefCell;
use std::collections::BTreeSet;

use http::Uri;

/// URLs that a browser holds. It outlives a visit.
#[derive(Debug, Default)]
pub struct Cache(RefCell<BTreeSet<String>>);

impl Cache {
    pub(crate) fn holds(&self, url: &str) -> bool {
        self.0.borrow().contains(url)
    }

    /// Whether it holds the answer to a GET for `uri`. A page's URLs have the schemes that they were recorded with, which are not always
    /// those that they are loaded with.
    pub(crate) fn holds_either(&self, uri: &Uri) -> bool {
        let rest = uri.to_string();
        let rest = rest.split_once("://").map_or(rest.as_str(), |(_, rest)| rest);
        ["http", "https"].iter().any(|scheme| self.holds(&format!("{scheme}://{rest}")))
    }

    pub(crate) fn empty(&self) {
        self.0.borrow_mut().clear();
    }

    pub(crate) fn keep(&self, url: &str) {
        if !self.holds(url) {
            self.0.borrow_mut().insert(url.to_owned());
        }
    }
}
