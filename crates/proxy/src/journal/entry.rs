//! A request and what became of it.

use std::net::SocketAddr;

use http_stack::socks;
use tls::Protocol;
use units::Time;

/// A request and what became of it. Strings are as the client sent them, and are quoted where they are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Who asked.
    pub client: Option<SocketAddr>,
    /// By which name, if that was verified.
    pub user: Option<String>,
    /// `GET`, ...
    pub method: String,
    /// The target as it was asked for; of a request with a host apart from it, both.
    pub url: String,
    /// How it was asked, if not by SOCKS.
    pub protocol: Protocol,
    /// The version of SOCKS that a tunnel was asked for by.
    pub socks: Option<socks::Version>,
    /// The status of the answer; 0 if there was none.
    pub status: u16,
    /// What became of it.
    pub outcome: Outcome,
    /// Bytes of the response's body that went to the client, of a tunnel all.
    pub sent_bytes: u64,
    /// Bytes of the request's body that came from the client, of a tunnel all.
    pub received_bytes: u64,
    /// The origin's address, where a connection was opened for this request.
    pub origin: Option<SocketAddr>,
    /// When what happened.
    pub times: Times,
}

/// What became of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The proxy answered by itself: its own files, `OPTIONS`.
    Own,
    /// It was refused, for this reason (in the words of RFC 9209 section 2.3).
    Refused(&'static str),
    /// It was passed to an origin, whose answer was passed back.
    Passed,
    /// A tunnel was opened.
    Tunnelled,
    /// A tunnel was opened that ends here: what is asked inside of it has entries of its own.
    Intercepted,
    /// It was answered from the cache.
    Hit,
    /// It was answered from the cache after the origin had confirmed what was stored.
    Validated,
    /// The origin gave no whole answer, for this reason (in the words of RFC 9209 section 2.3).
    Failed(&'static str),
    /// The client went away before the end.
    Abandoned,
}

impl Outcome {
    /// What it is called in logs and metrics.
    pub fn name(&self) -> &'static str {
        match self {
            Outcome::Own => "own",
            Outcome::Refused(_) => "refused",
            Outcome::Passed => "passed",
            Outcome::Hit => "hit",
            Outcome::Validated => "validated",
            Outcome::Tunnelled => "tunnelled",
            Outcome::Intercepted => "intercepted",
            Outcome::Failed(_) => "failed",
            Outcome::Abandoned => "abandoned",
        }
    }

    /// Why, where there is a reason.
    pub fn reason(&self) -> Option<&'static str> {
        match self {
            Outcome::Refused(reason) | Outcome::Failed(reason) => Some(reason),
            _ => None,
        }
    }

    /// Names of all outcomes.
    pub const NAMES: [&'static str; 9] = [
        "own",
        "refused",
        "passed",
        "hit",
        "validated",
        "tunnelled",
        "intercepted",
        "failed",
        "abandoned",
    ];
}

/// When what happened; nothing where it did not. What leaves for the client is timed when it is handed to its connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// The request's head was there.
    pub request: Time,
    /// There was a connection to the origin.
    pub connected: Option<Time>,
    /// The first byte of the origin's answer was there.
    pub origin_first: Option<Time>,
    /// The last.
    pub origin_last: Option<Time>,
    /// The answer's head left for the client.
    pub client_first: Option<Time>,
    /// Its last byte did.
    pub client_last: Option<Time>,
}

impl Entry {
    /// What it was asked by, as logs name it: `h1`, ..., `socks5`.
    pub fn spoken(&self) -> &'static str {
        self.socks.map_or(self.protocol.name(), socks::Version::name)
    }

    /// A request that has just come.
    pub fn new(client: Option<SocketAddr>, method: &str, url: String, protocol: Protocol) -> Entry {
        Entry {
            client,
            user: None,
            method: method.to_owned(),
            url,
            protocol,
            socks: None,
            status: 0,
            outcome: Outcome::Abandoned,
            sent_bytes: 0,
            received_bytes: 0,
            origin: None,
            times: Times { request: world::now(), ..Times::default() },
        }
    }
}
