//! Destination of a request.

use std::fmt;

use crate::access::Destinations;
use crate::target::{Authority, Scheme, bare};

/// An origin: scheme, host and port (RFC 6454 section 4), each of which tells connections apart.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Destination {
    /// Its scheme.
    pub scheme: Scheme,
    /// Its host in lower case, an IPv6 address in its brackets.
    pub host: String,
    /// Its port.
    pub port: u16,
}

impl Destination {
    /// The origin that `authority` names.
    pub fn new(scheme: Scheme, authority: &Authority<'_>) -> Destination {
        let port = authority.port.unwrap_or(scheme.default_port());
        Destination { scheme, host: authority.host.to_ascii_lowercase(), port }
    }

    /// The host for name lookups: an IPv6 address without its brackets.
    pub fn bare_host(&self) -> &str {
        bare(&self.host)
    }

    /// Its form in `CONNECT`.
    pub fn host_and_port(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }

    /// Its form in `Host`: the default port is left out (RFC 9110 section 7.2).
    pub fn authority(&self) -> String {
        match self.port == self.scheme.default_port() {
            true => self.host.clone(),
            false => format!("{}:{}", self.host, self.port),
        }
    }
}

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}:{}", self.scheme.name(), self.host, self.port)
    }
}

/// Authority behind a request to an origin. Connections of one kind are not reused for requests of the other: clients may
/// not reach everything that the operator's own settings reach.
#[derive(Clone, Copy, Debug)]
pub enum Reach<'a> {
    /// The operator: any address.
    Operator,
    /// A client: addresses that the rules permit.
    Client(&'a Destinations),
}

impl Reach<'_> {
    pub(super) fn is_operator(self) -> bool {
        matches!(self, Reach::Operator)
    }
}
