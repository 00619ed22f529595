//! The journal of requests: one [`LogEntry`] each, filled in by a [`RequestNote`], for any implementation of [`Journal`].

mod log;
mod metrics;

use std::net::SocketAddr;
use std::rc::Rc;

use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue, StatusCode};
use http_stack::server::Fields;
use http_stack::socks;
use tls::Protocol;
use units::Time;

pub use self::log::{LogLines, LogMessage, LogSender, common, json, log_channel};
pub use metrics::{Gauges, Metrics, exposition};

/// A request and its outcome. Strings are as the client sent them, and are escaped when they are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogEntry {
    /// Address of the client.
    pub client: Option<SocketAddr>,
    /// Name of the user, if it was verified.
    pub user: Option<String>,
    /// `GET`, ...
    pub method: String,
    /// The target as requested, combined with the host if that is separate.
    pub url: String,
    /// Protocol of the request, if not SOCKS.
    pub protocol: Protocol,
    /// SOCKS version of a request for a tunnel.
    pub socks: Option<socks::Version>,
    /// The status of the answer; 0 if there was none.
    pub status: u16,
    /// Outcome.
    pub outcome: RequestOutcome,
    /// Bytes of the response's body sent to the client; for a tunnel, all bytes.
    pub sent_bytes: u64,
    /// Bytes of the response's body before it was compressed here; `None` if it was not.
    pub uncompressed_bytes: Option<u64>,
    /// Bytes of the request's body received from the client; for a tunnel, all bytes.
    pub received_bytes: u64,
    /// The origin's address, if a connection was opened for this request.
    pub origin: Option<SocketAddr>,
    /// Timeline of the request.
    pub times: RequestTimes,
    /// Fields, if the journal wants them.
    pub fields: LoggedFields,
}

/// Fields of a request and its response for logs that have them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoggedFields {
    /// `Referer` of the request.
    pub referer: Option<String>,
    /// `User-Agent` of the request.
    pub user_agent: Option<String>,
    /// `Content-Type` of the response.
    pub content_type: Option<String>,
}

/// Outcome of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequestOutcome {
    /// Answered by the proxy itself: its own files, `OPTIONS`.
    Own,
    /// Refused, with the reason (error types of RFC 9209 section 2.3).
    Refused(&'static str),
    /// Forwarded to an origin, whose answer was forwarded back.
    Passed,
    /// A tunnel was opened.
    Tunnelled,
    /// A tunnel was opened that ends here: the requests inside it have entries of their own.
    Intercepted,
    /// Answered from the cache.
    Hit,
    /// Answered from the cache after validation by the origin.
    Validated,
    /// The origin gave no whole answer, with the reason (error types of RFC 9209 section 2.3).
    Failed(&'static str),
    /// The client went away before the end.
    Abandoned,
}

impl RequestOutcome {
    /// Its name in logs and metrics.
    pub fn name(&self) -> &'static str {
        match self {
            RequestOutcome::Own => "own",
            RequestOutcome::Refused(_) => "refused",
            RequestOutcome::Passed => "passed",
            RequestOutcome::Hit => "hit",
            RequestOutcome::Validated => "validated",
            RequestOutcome::Tunnelled => "tunnelled",
            RequestOutcome::Intercepted => "intercepted",
            RequestOutcome::Failed(_) => "failed",
            RequestOutcome::Abandoned => "abandoned",
        }
    }

    /// The reason, if there is one.
    pub fn reason(&self) -> Option<&'static str> {
        match self {
            RequestOutcome::Refused(reason) | RequestOutcome::Failed(reason) => Some(reason),
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

/// Timeline of a request; `None` for events that did not happen. Bytes for the client are timed when they are handed to
/// its connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestTimes {
    /// Arrival of the request's head.
    pub request: Time,
    /// Availability of a connection to the origin.
    pub connected: Option<Time>,
    /// Arrival of the first byte of the origin's answer.
    pub origin_first: Option<Time>,
    /// Arrival of the last byte.
    pub origin_last: Option<Time>,
    /// Sending of the answer's head to the client.
    pub client_first: Option<Time>,
    /// Sending of its last byte.
    pub client_last: Option<Time>,
}

impl LogEntry {
    /// Name of its protocol in logs: `h1`, ..., `socks5`.
    pub fn spoken(&self) -> &'static str {
        self.socks.map_or(self.protocol.name(), socks::Version::name)
    }

    /// An entry for a request that has just arrived.
    pub fn new(
        client: Option<SocketAddr>,
        method: &str,
        url: String,
        protocol: Protocol,
    ) -> LogEntry {
        LogEntry {
            client,
            user: None,
            method: method.to_owned(),
            url,
            protocol,
            socks: None,
            status: 0,
            outcome: RequestOutcome::Abandoned,
            sent_bytes: 0,
            uncompressed_bytes: None,
            received_bytes: 0,
            origin: None,
            times: RequestTimes { request: world::now(), ..RequestTimes::default() },
            fields: LoggedFields::default(),
        }
    }
}

/// Receiver of request entries.
pub trait Journal {
    /// Records a finished request.
    fn done(&self, entry: &LogEntry);

    /// Returns true if it wants an entry for each hit in memory, which costs more than the hit itself.
    fn wants_hits(&self) -> bool {
        true
    }

    /// Returns true if it wants [`LoggedFields`].
    fn wants_fields(&self) -> bool {
        false
    }

    /// Records a hit in memory for which no entry is wanted.
    fn hit(&self, _brief: HitSummary) {}

    /// Records a 103 with learnt hints.
    fn hinted(&self) {}
}

/// Summary of a hit in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HitSummary {
    /// Protocol of the request.
    pub protocol: Protocol,
    /// Its status.
    pub status: u16,
    /// Bytes of its body.
    pub sent_bytes: u64,
}

/// Discards everything.
impl Journal for () {
    fn done(&self, _entry: &LogEntry) {}

    fn wants_hits(&self) -> bool {
        false
    }
}

impl<J: Journal> Journal for Option<J> {
    fn done(&self, entry: &LogEntry) {
        if let Some(journal) = self {
            journal.done(entry);
        }
    }

    fn wants_hits(&self) -> bool {
        self.as_ref().is_some_and(Journal::wants_hits)
    }

    fn wants_fields(&self) -> bool {
        self.as_ref().is_some_and(Journal::wants_fields)
    }

    fn hit(&self, brief: HitSummary) {
        if let Some(journal) = self {
            journal.hit(brief);
        }
    }
}

/// The note of one request. Its holder fills it in; dropping it hands it to the journal.
pub struct RequestNote {
    /// The entry so far.
    pub entry: LogEntry,
    journal: Rc<dyn Journal>,
}

impl RequestNote {
    /// A note for `journal`.
    pub fn new(entry: LogEntry, journal: &Rc<dyn Journal>) -> RequestNote {
        RequestNote { entry, journal: Rc::clone(journal) }
    }

    /// Notes the fields of a request, if they are wanted.
    pub fn see_request(&mut self, fields: Fields<'_>) {
        if self.journal.wants_fields() {
            let text = |name| Some(String::from_utf8_lossy(fields.get(name)?).into_owned());
            self.entry.fields.referer = text("referer");
            self.entry.fields.user_agent = text("user-agent");
        }
    }

    /// Notes the head of the response, with its fields if they are wanted.
    pub fn see_response(&mut self, status: StatusCode, fields: &HeaderMap) {
        self.entry.status = status.as_u16();
        if self.journal.wants_fields() {
            let content_type = fields.get(CONTENT_TYPE);
            let text = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
            self.entry.fields.content_type = content_type.map(text);
        }
    }
}

impl Drop for RequestNote {
    fn drop(&mut self) {
        self.journal.done(&self.entry);
    }
}
