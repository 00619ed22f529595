//! Adapters that show a request's fields to the cache.

use http::HeaderMap;
use http_stack::server::Fields;

use crate::fields::OF_CLIENTS;

/// A request's fields, without a copy.
#[derive(Clone, Copy, Debug)]
pub struct Shown<'a>(pub Fields<'a>);

impl cache::FieldLines for Shown<'_> {
    fn each<'a>(&'a self, mut see: impl FnMut(&'a str, &'a [u8])) {
        for (name, value) in self.0.iter() {
            see(name, value);
        }
    }
}

/// The fields of a prepared request, as far as its client chose them. Fields in which the proxy describes the client are covered by
/// the key (host, scheme) or beyond anyone's control, so they do not prevent storing.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// All fields.
    pub fields: &'a HeaderMap,
    /// True if those that describe the client are the proxy's own.
    pub tells_own: bool,
}

impl cache::FieldLines for Asked<'_> {
    fn each<'a>(&'a self, mut see: impl FnMut(&'a str, &'a [u8])) {
        for (name, value) in self.fields {
            if !(self.tells_own && OF_CLIENTS.contains(name)) {
                see(name.as_str(), value.as_bytes());
            }
        }
    }
}
