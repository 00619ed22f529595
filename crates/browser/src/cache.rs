//! The browser's cache, as seen by a repeat visit.
//!
//! A page's `cacheable` says whether a browser may answer from its cache without revalidation; this only keeps
//! track of which objects are still in it. It leaves out expiry and eviction: visits of a journey are minutes
//! apart, and caches hold far more than a page.

use std::cell::RefCell;
use std::collections::BTreeSet;

use http::Uri;

/// URLs in a browser's cache. It outlives a visit.
#[derive(Debug, Default)]
pub struct BrowserCache(RefCell<BTreeSet<String>>);

impl BrowserCache {
    pub(crate) fn holds(&self, url: &str) -> bool {
        self.0.borrow().contains(url)
    }

    /// Returns true if it holds the answer to a GET for `uri` by either scheme. A page's URLs have the schemes of
    /// the recording, which may differ from those of the load.
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
