//! A request's fields, shown to the cache.

use http::HeaderMap;
use http_stack::server::Fields;

use crate::fields::OF_CLIENTS;

/// A request's fields as they lie.
#[derive(Clone, Copy, Debug)]
pub struct Shown<'a>(pub Fields<'a>);

impl cache::Fields for Shown<'_> {
    fn each<'a>(&'a self, mut see: impl FnMut(&'a str, &'a [u8])) {
        for (name, value) in self.0.iter() {
            see(name, value);
        }
    }
}

/// The fields of a request that was made ready, as far as its client chose them. What the proxy tells of the client is told by the key
/// already - the host, the scheme - or is nobody's choice: responses are not kept from being stored by it.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// All of them.
    pub fields: &'a HeaderMap,
    /// Whether those that tell of the client are the proxy's own word.
    pub tells_own: bool,
}

impl cache::Fields for Asked<'_> {
    fn each<'a>(&'a self, mut see: impl FnMut(&'a str, &'a [u8])) {
        for (name, value) in self.fields {
            if !(self.tells_own && OF_CLIENTS.contains(name)) {
                see(name.as_str(), value.as_bytes());
            }
        }
    }
}
