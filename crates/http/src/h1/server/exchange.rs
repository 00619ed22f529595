//! The properties of a request that determine its answer, and the part kept until its body has arrived.

use std::net::SocketAddr;

use world::now;

use super::core::Settings;
use crate::RequestHead;
use crate::h1::codec::{self, BodyLength, Request, Version};
use crate::server::{Feed, Patience};
use crate::wheel::Timer;
use tls::Protocol;

/// The client's address, and whether its connection is secured.
#[derive(Clone, Copy)]
pub(super) struct Client {
    pub(super) peer: Option<SocketAddr>,
    pub(super) is_secure: bool,
}

/// The properties of a request that determine the form of its response.
#[derive(Clone, Copy)]
pub(super) struct Exchange {
    pub(super) version: Version,
    pub(super) persistent: bool,
    pub(super) method: Method,
    /// True if the client offers to switch protocols.
    pub(super) switches: bool,
}

/// The method, as far as the form of a response depends on it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Method {
    /// The response has no body.
    Head,
    /// The response may be a tunnel.
    Connect,
    Other,
}

/// Reuse of the connection after a response.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Persistence {
    Persists,
    Closes,
}

impl Persistence {
    pub(super) fn of(persists: bool) -> Persistence {
        if persists { Persistence::Persists } else { Persistence::Closes }
    }
}

/// A request's head, kept until its body has arrived.
pub(super) struct Pending {
    method: String,
    authority: String,
    target: String,
    fields: Vec<u8>,
    pub(super) exchange: Exchange,
    pub(super) body_bytes: u64,
    pub(super) patience: Patience,
}

/// A request's body, streamed to the handler that reads it.
pub(super) struct Upload {
    pub(super) feed: Feed,
    pub(super) patience: Patience,
    pub(super) timer: Timer,
    /// The client waits for 100 (Continue).
    pub(super) expects_continue: bool,
    /// All of it has arrived.
    pub(super) is_over: bool,
    /// The client is expected to send.
    is_waiting: bool,
}

impl Exchange {
    pub(super) fn of(request: &Request<'_>) -> Exchange {
        let method = match request.method {
            "HEAD" => Method::Head,
            "CONNECT" => Method::Connect,
            _ => Method::Other,
        };
        // Bytes after a CONNECT belong to the tunnel, granted or not: they are not a request.
        let persistent = request.persistent && method != Method::Connect;
        // RFC 9110 section 7.8: meaningless in HTTP/1.0. A body would have to come first, which only h2c ever did.
        let switches = request.version == Version::V11
            && request.body == BodyLength::None
            && request.fields.get("upgrade").is_some();
        Exchange { version: request.version, persistent, method, switches }
    }
}

impl Pending {
    pub(super) fn of(request: &Request<'_>) -> Pending {
        Pending {
            method: request.method.to_owned(),
            authority: request.authority.to_owned(),
            target: request.target.to_owned(),
            fields: request.fields.text().to_owned(),
            exchange: Exchange::of(request),
            body_bytes: 0,
            patience: Patience::default(),
        }
    }

    pub(super) fn head(&self, client: Client) -> RequestHead<'_> {
        RequestHead {
            scheme: client.scheme(&self.method, &self.target),
            protocol: protocol(self.exchange.version),
            fields: codec::Fields::of_text(&self.fields).into(),
            peer: client.peer,
            body_bytes: self.body_bytes,
            ..RequestHead::new(&self.method, &self.authority, &self.target)
        }
    }
}

impl Upload {
    pub(super) fn new(feed: Feed, timer: Timer, expects_continue: bool) -> Upload {
        Upload {
            feed,
            patience: Patience::default(),
            timer,
            expects_continue,
            is_over: false,
            is_waiting: false,
        }
    }

    /// Starts the timeout for the client.
    pub(super) fn wait(&mut self, settings: &Settings) {
        if !std::mem::replace(&mut self.is_waiting, true) {
            let patience = self.patience.wait(now(), settings.body_pace, settings.idle_timeout);
            self.timer.set(patience);
        }
    }

    /// Notes that bytes have come.
    pub(super) fn end_wait(&mut self) {
        self.is_waiting = false;
        self.patience.took(now(), 0);
    }
}

impl Client {
    pub(super) fn head<'b>(self, request: &Request<'b>) -> RequestHead<'b> {
        RequestHead {
            scheme: self.scheme(request.method, request.target),
            protocol: protocol(request.version),
            fields: request.fields.into(),
            peer: self.peer,
            ..RequestHead::new(request.method, request.authority, request.target)
        }
    }

    /// RFC 9112 section 3.3: the scheme of a target in absolute form is its own.
    fn scheme<'b>(self, method: &str, target: &'b str) -> &'b str {
        let usual = if self.is_secure { "https" } else { "http" };
        match method {
            _ if target.starts_with('/') => usual,
            "CONNECT" => "",
            _ => target.split_once("://").map_or(usual, |(scheme, _)| scheme),
        }
    }
}

fn protocol(version: Version) -> Protocol {
    match version {
        Version::V10 => Protocol::H10,
        Version::V11 => Protocol::H1,
    }
}
