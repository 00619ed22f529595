//! Pushed responses at the client (RFC 9113 section 8.4, SPDY 3.3): promised, and claimed by the matching request.
//!
//! A promise names a GET. When the browser wants exactly that it takes the pushed response, arriving or complete, and
//! no request is sent. An unwanted promise is cancelled at once. An unclaimed response stays until its connection ends.

use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;

use bytes::Bytes;
use http::{Method, Request, Uri};

/// A client's decision on promises; clones share it.
#[derive(Clone)]
pub struct PushFilter(Rc<dyn Fn(&Uri) -> bool>);

impl PushFilter {
    /// Accepts the promises that `wants` selects: usually those that are not cached.
    pub fn new(wants: impl Fn(&Uri) -> bool + 'static) -> PushFilter {
        PushFilter(Rc::new(wants))
    }

    /// Returns true if the response to a GET for `uri` is wanted.
    pub fn wants(&self, uri: &Uri) -> bool {
        (self.0)(uri)
    }
}

impl fmt::Debug for PushFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Wanted(..)")
    }
}

/// A connection's unclaimed promises.
#[derive(Debug)]
pub(crate) struct Promises<T> {
    wanted: PushFilter,
    waiting: BTreeMap<String, T>,
}

impl<T> Promises<T> {
    /// No promises yet.
    pub fn new(wanted: PushFilter) -> Promises<T> {
        Promises { wanted, waiting: BTreeMap::new() }
    }

    /// Returns true if a promise of `uri`, made with the answer to a request of `authority`, is to be kept: it is
    /// wanted, it is not promised already, and the server is authoritative for that host.
    pub fn takes(&self, uri: &Uri, authority: Option<&str>) -> bool {
        let promised = uri.authority().map(|authority| authority.as_str());
        promised.is_some()
            && promised == authority
            && !self.waiting.contains_key(&uri.to_string())
            && self.wanted.wants(uri)
    }

    /// Keeps the promise of `uri`.
    pub fn keep(&mut self, uri: &Uri, promised: T) {
        self.waiting.insert(uri.to_string(), promised);
    }

    /// The promise that matches `request`.
    pub fn claim(&mut self, request: &Request<Bytes>) -> Option<T> {
        let is_plain = request.method() == Method::GET && request.body().is_empty();
        is_plain.then(|| self.waiting.remove(&request.uri().to_string())).flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn get(uri: &str) -> Request<Bytes> {
        Request::get(uri).body(Bytes::new()).expect("a request")
    }

    #[test]
    fn a_promise_is_claimed_once_and_by_a_plain_get() {
        let wanted = PushFilter::new(|uri| uri.path() != "/held");
        let mut promises = Promises::new(wanted);
        let uri = |text: &str| text.parse::<Uri>().expect("a URI");
        let style = uri("https://a.test/style.css");
        assert!(promises.takes(&style, Some("a.test")));
        assert!(!promises.takes(&style, Some("b.test")));
        assert!(!promises.takes(&uri("https://a.test/held"), Some("a.test")));
        assert!(!promises.takes(&uri("/style.css"), None));
        promises.keep(&style, 7);
        assert!(!promises.takes(&style, Some("a.test")), "it is promised already");
        let mut post = get("https://a.test/style.css");
        *post.method_mut() = Method::POST;
        assert_eq!(promises.claim(&post), None);
        assert_eq!(promises.claim(&get("https://a.test/style.css")), Some(7));
        assert_eq!(promises.claim(&get("https://a.test/style.css")), None);
    }
}
