//! A recorded load and its exchanges.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Header fields in the order of their source; a name may occur several times.
pub type Fields = Vec<(String, String)>;

/// First value of a field; names have no case.
pub(crate) fn first<'a>(fields: &'a Fields, name: &str) -> Option<&'a str> {
    let found = fields.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
    found.map(|(_, value)| value.as_str())
}

/// A span in milliseconds.
pub(crate) fn millis(span: Duration) -> f64 {
    span.as_nanos() as f64 / 1e6
}

/// A load of a page as a browser made it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecordedLoad {
    /// URL of the navigation.
    pub url: String,
    /// Name and version of the browser: `Chrome/156.0.8078.79`.
    pub browser: String,
    /// The document's title.
    pub title: String,
    /// Start of the navigation, since 1970.
    pub began: Duration,
    /// The `DOMContentLoaded` event, since the start.
    pub content_loaded: Option<Duration>,
    /// The load event, since the start; `None` if the page had not loaded when the recording ended.
    pub loaded: Option<Duration>,
    /// First contentful paint, since the start.
    pub first_contentful_paint: Option<Duration>,
    /// Largest contentful paint, since the start.
    pub largest_contentful_paint: Option<Duration>,
    /// Requests in the order in which they were made.
    pub exchanges: Vec<Exchange>,
    /// Certificates of the hosts, as far as the browser told them.
    pub certificates: Vec<RecordedCertificate>,
}

/// Content of a recording.
#[derive(Debug)]
pub struct Archive {
    /// Loads of pages in the order of their time; at least one.
    pub loads: Vec<RecordedLoad>,
    /// Name and version of the recorder, or the kind of the file.
    pub software: String,
    /// Number of records that are no part of a load, by their type.
    pub skipped: Vec<(String, usize)>,
    /// Why it is incomplete, if it is.
    pub damage: Option<String>,
}

impl Archive {
    /// All exchanges as those of the first load.
    pub fn merged(self) -> RecordedLoad {
        let mut loads = self.loads.into_iter();
        let mut all = loads.next().unwrap_or_default();
        for load in loads {
            let offset = load.began.saturating_sub(all.began);
            all.exchanges.extend(
                load.exchanges
                    .into_iter()
                    .map(|exchange| Exchange { started: exchange.started + offset, ..exchange }),
            );
            let known = |one: &RecordedCertificate| all.certificates.iter().any(|it| it == one);
            let new: Vec<_> = load.certificates.into_iter().filter(|it| !known(it)).collect();
            all.certificates.extend(new);
        }
        all
    }
}

/// The certificate of a host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RecordedCertificate {
    /// The host, with its port unless that is 443.
    pub host: String,
    /// The names that it holds for: a browser may share a connection between them (RFC 9113 section 9.1.1).
    pub names: Vec<String>,
    /// Bytes of the certificates that the server sent; 0: unknown.
    pub chain_bytes: u64,
}

/// One request, with its response if there was one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Exchange {
    /// The request.
    pub request: RecordedRequest,
    /// The response, as far as it arrived.
    pub response: Option<RecordedResponse>,
    /// Discovery, since the start of the navigation.
    pub started: Duration,
    /// Division of the time since then.
    pub phases: ExchangePhases,
    /// Its use, in DevTools' words: `Document`, `Stylesheet`, `Fetch`, ...
    pub resource_type: String,
    /// Its priority, in DevTools' words: `VeryHigh`, ...
    pub priority: String,
    /// Its cause, in DevTools' form: `{"type": "parser", "url": ..., "lineNumber": ...}`.
    pub initiator: Value,
    /// Number of the connection that carried it.
    pub connection: Option<u64>,
    /// True if the browser's cache answered.
    pub from_cache: bool,
    /// Why it failed, if it did.
    pub error: Option<String>,
}

/// A request.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecordedRequest {
    /// `GET`, ...
    pub method: String,
    /// The full URL, without a fragment.
    pub url: String,
    /// Header fields as sent.
    pub fields: Fields,
    /// The body.
    pub body: Vec<u8>,
}

/// A response.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecordedResponse {
    /// Status code.
    pub status: u16,
    /// Reason phrase of HTTP/1; empty otherwise.
    pub reason: String,
    /// ALPN name of the protocol: `http/1.1`, `h2`, `h3`.
    pub protocol: String,
    /// Header fields as received.
    pub fields: Fields,
    /// Media type, without parameters.
    pub media_type: String,
    /// The body without content coding; `None` if it could not be had.
    pub body: Option<Vec<u8>>,
    /// Bytes of the head as transferred, if known.
    pub head_bytes: Option<u64>,
    /// Bytes of the whole response as transferred, with framing and content coding.
    pub transferred_bytes: u64,
    /// Address of the server, or of the proxy before it.
    pub server: Option<String>,
}

/// Spans of an exchange; `None` for those that did not occur.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExchangePhases {
    /// In the browser's queue, or waiting for a connection.
    pub blocked: Duration,
    /// DNS lookup.
    pub dns: Option<Duration>,
    /// TCP's handshake, or QUIC's with its TLS.
    pub connect: Option<Duration>,
    /// TLS's handshake over TCP.
    pub tls: Option<Duration>,
    /// Sending the request.
    pub send: Duration,
    /// From there to the first byte of the response.
    pub wait: Duration,
    /// From there to its last byte.
    pub receive: Duration,
}

impl ExchangePhases {
    /// The whole time, from discovery to the last byte.
    pub fn total(&self) -> Duration {
        let optional = [self.dns, self.connect, self.tls].into_iter().flatten();
        optional.sum::<Duration>() + self.blocked + self.send + self.wait + self.receive
    }
}

impl RecordedLoad {
    /// Number of responses whose body could not be had.
    pub fn missing_bodies(&self) -> usize {
        let responses = self.exchanges.iter().filter_map(|exchange| exchange.response.as_ref());
        responses.filter(|response| response.body.is_none()).count()
    }

    /// Bytes of all responses as transferred.
    pub fn transferred_bytes(&self) -> u64 {
        let responses = self.exchanges.iter().filter_map(|exchange| exchange.response.as_ref());
        responses.map(|response| response.transferred_bytes).sum()
    }
}
