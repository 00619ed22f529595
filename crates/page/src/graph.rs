//! The graph itself: hosts, objects, and edges for their dependencies.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{Caution, RecordedNetwork, Recording};

/// Index of an object in [`Page::objects`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ObjectId(pub u32);

/// Index of a host in [`Page::hosts`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct HostId(pub u32);

/// A page: objects in the order in which they were first seen, the document first.
///
/// Invariants, checked by [`Page::check`]: there is at least one object; an edge names an object that comes earlier
/// in the list (so the graph has no cycles); object 0 has no edges. In a page every other object has edges; in a
/// transfer over several connections none has.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Page {
    /// Display name: `synthetic:100x10KB`, a HAR's file name.
    pub name: String,
    /// Source and inferences, human-readable.
    pub origin: String,
    /// Hosts that serve it.
    pub hosts: Vec<PageHost>,
    /// Its objects.
    pub objects: Vec<Object>,
    /// Entries of the source that are not part of the page, with the reason.
    pub skipped: Vec<Skipped>,
    /// Reasons to distrust the source.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cautions: Vec<Caution>,
    /// Network that it was recorded over, once its think times are fitted to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recorded_network: Option<RecordedNetwork>,
    /// Times of the recording that it was read from.
    #[serde(skip)]
    pub recording: Option<Arc<Recording>>,
}

/// An origin, by which browsers group connections: name, port and scheme (RFC 6454 section 4).
///
/// Hosts of the same name are ports of one [machine](Page::machines).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PageHost {
    /// The name, without a port.
    pub name: String,
    /// The port, if URLs state one other than their scheme's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    /// True for an `http:` origin of a page whose document is reached over TLS: loaded in the clear, whatever secures
    /// the rest. A page whose document is `http:` itself has none.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_clear: bool,
    /// Round-trip time to this host beyond the page's nearest host, as recorded. Used by
    /// `--origins recorded`; zero otherwise.
    pub extra_rtt: SizeEstimate,
    /// Protocol when recorded: `h1`, `h2`, `h3`, `spdy`.
    pub recorded_protocol: Option<String>,
    /// True if it was reached over TLS when recorded.
    pub recorded_tls: bool,
}

/// One request and its response.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Object {
    /// The full URL.
    pub url: String,
    /// Host that serves it.
    pub host: HostId,
    /// Path and query, as in the request line.
    pub path: String,
    /// `GET`, `POST`, ...
    pub method: String,
    /// Kind of the response.
    pub kind: Kind,
    /// The response's status code.
    pub status: u16,
    /// Size of the request head as HTTP/1.1 text (request line, headers, empty line).
    pub request_header_bytes: u32,
    /// Fields of the request in their order, names in lower case, if the source lists them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub request_fields: Vec<(String, String)>,
    /// Size of the request's body.
    pub request_body_bytes: u64,
    /// Size of the response head as HTTP/1.1 text.
    pub response_header_bytes: u32,
    /// Provenance of the two head sizes (the less certain of the two).
    pub header_provenance: Provenance,
    /// Size of the response's body as it crosses the wire (encoded).
    pub body_bytes: u64,
    /// Field of the source that `body_bytes` was taken from.
    pub body_source: BodySource,
    /// The body's content coding.
    #[serde(default, skip_serializing_if = "BodyCoding::is_unknown")]
    pub coding: BodyCoding,
    /// Server think time, from the request's arrival to the first byte of its response.
    pub think: SizeEstimate,
    /// Dependencies, all of which must be met before the object is discovered.
    pub waits_for: Vec<Edge>,
    /// Priority that a browser gave it (or would give it).
    pub priority: ObjectPriority,
    /// True if the load event waits for it.
    pub blocks_load: bool,
    /// True if the first paint waits for it: a style sheet or a synchronous script before the content of the main
    /// document, or an import of such a sheet.
    #[serde(default)]
    pub blocks_render: bool,
    /// True if a browser may answer it from its cache on a second visit, without asking.
    pub cacheable: bool,
}

/// A dependency of an object.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Edge {
    /// The object whose arrival reveals this one.
    pub object: ObjectId,
    /// Part of it that must have arrived.
    pub after: After,
    /// The client's work between that arrival and the request (parsing, a script's run). If an object waits for
    /// several, each edge carries the same span: it runs from the last arrival.
    pub compute: SizeEstimate,
    /// Evidence of the dependency: stated by the source (an initiator, a redirect), read in a recorded body, inferred
    /// (from a Referer or from timings), or our default (the document).
    pub provenance: Provenance,
}

/// A point in the arrival of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum After {
    /// The response's head (which reveals a redirect's target).
    Head,
    /// This many bytes of the body, or all of it if it has fewer.
    Bytes(u64),
    /// The whole body.
    End,
}

/// Field of a source that a body's size was taken from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum BodySource {
    /// Bytes on the wire (`_transferSize`, WebPageTest's `_bytesIn`) less the head.
    TransferSize,
    /// HAR's `response.bodySize`.
    BodySize,
    /// The response's `Content-Length`, if nothing was sent because a cache answered.
    ContentLength,
    /// HAR's `response.content.size`: decoded, hence too large if the body was compressed.
    ContentSize,
    /// The response has no body by its method or status (HEAD, 1xx, 204, 304).
    NoBody,
    /// Not stated: taken as empty.
    Unknown,
    /// Chosen by a generator, or stated by a study.
    Specified,
}

/// A body's content coding (RFC 9110 section 8.4) with its size in the other form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum BodyCoding {
    /// Sent as it is, or unknown.
    #[default]
    Identity,
    /// Sent compressed.
    Compressed {
        /// Its size for the client, decoded.
        decoded_bytes: u64,
    },
    /// Sent as it is, though it was recorded compressed.
    Uncompressed {
        /// Its recorded size.
        compressed_bytes: u64,
    },
}

impl BodyCoding {
    fn is_unknown(&self) -> bool {
        *self == BodyCoding::Identity
    }
}

/// A time span and its provenance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SizeEstimate {
    /// The value.
    #[serde(rename = "value_ns", with = "nanos")]
    pub value: Duration,
    /// Its provenance.
    pub provenance: Provenance,
}

/// Provenance of a value.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
pub enum Provenance {
    /// Stated by the source, or the plain difference of two values that the source states for the same exchange.
    Measured,
    /// Read in the text of a recorded body.
    Read,
    /// Derived from other values that the source states.
    Inferred,
    /// Neither stated nor inferable: our default.
    #[default]
    Defaulted,
}

/// Kind of a response, as far as a browser's scheduling and work depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum Kind {
    Document,
    Stylesheet,
    Script,
    Image,
    Font,
    Media,
    Data,
    Redirect,
    Other,
}

/// A browser's five levels (Chromium's `net::RequestPriority`), the most urgent first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum ObjectPriority {
    Highest,
    High,
    Medium,
    Low,
    Lowest,
}

/// An entry of the source that is not part of the page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Skipped {
    /// Its URL, shortened for display.
    pub url: String,
    /// The reason.
    pub reason: SkipReason,
}

/// Reasons why an entry of the source is not part of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum SkipReason {
    /// `data:`, `blob:`, a WebSocket, an extension: not carried by HTTP.
    NotHttp,
    /// Aborted, blocked or failed before a status of 200 or above arrived.
    NoFinalResponse,
    /// Part of another page of the same file.
    OtherPage,
    /// Answered by the browser's own memory of an earlier entry: no request was made.
    FromCache,
    /// Redirected by the browser itself (HSTS, an extension): no request was made.
    InternalRedirect,
    /// Requested before the page's document (a browser's own traffic).
    BeforeDocument,
    /// A CONNECT to a proxy: it opened a tunnel for requests with entries of their own.
    Tunnel,
    /// A service worker's own request on behalf of the page: one exchange, recorded twice.
    WorkerFetch,
    /// Aborted before its response was complete.
    Aborted,
}

impl fmt::Display for SkipReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SkipReason::NotHttp => "not HTTP(S)",
            SkipReason::NoFinalResponse => "no final response",
            SkipReason::OtherPage => "belongs to another page of the file",
            SkipReason::FromCache => "answered by the browser's cache, nothing was sent",
            SkipReason::InternalRedirect => "redirected inside the browser, nothing was sent",
            SkipReason::BeforeDocument => "requested before the page's document",
            SkipReason::Tunnel => "a tunnel through a proxy (CONNECT)",
            SkipReason::WorkerFetch => "a service worker's own request, counted with the page's",
            SkipReason::Aborted => "aborted",
        })
    }
}

/// Spans as whole nanoseconds.
mod nanos {
    use std::time::Duration;

    use serde::ser::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(span: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        let nanos = u64::try_from(span.as_nanos())
            .map_err(|_| S::Error::custom("a span is longer than 584 years"))?;
        serializer.serialize_u64(nanos)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        u64::deserialize(deserializer).map(Duration::from_nanos)
    }
}

impl SizeEstimate {
    /// A value stated by the source.
    pub fn measured(value: Duration) -> SizeEstimate {
        SizeEstimate { value, provenance: Provenance::Measured }
    }

    /// A value derived from others.
    pub fn inferred(value: Duration) -> SizeEstimate {
        SizeEstimate { value, provenance: Provenance::Inferred }
    }

    /// Our default.
    pub fn defaulted(value: Duration) -> SizeEstimate {
        SizeEstimate { value, provenance: Provenance::Defaulted }
    }
}

impl PageHost {
    /// Authority in requests to this port: with the port, unless that is the scheme's default (RFC 9110 section
    /// 4.2.3).
    pub fn authority(&self, scheme: &str, port: u16) -> String {
        match (scheme, port) {
            ("http", 80) | ("https", 443) => self.name.clone(),
            _ => format!("{}:{port}", self.name),
        }
    }

    /// Returns true if both are one origin.
    pub fn is_same_origin(&self, other: &PageHost) -> bool {
        self.name.eq_ignore_ascii_case(&other.name)
            && (self.port, self.in_clear) == (other.port, other.in_clear)
    }
}

/// Share of its bytes that compression leaves of a text of a kind: the medians of the gzipped bodies of 1 KiB and more in 41 recorded
/// pages of 2010 to 2026 (51 documents, 66 sheets, 484 scripts, 50 of JSON and XML; `scripts/accelerator/shares.py`).
const COMPRESSED_SHARES: [(Kind, f64); 4] =
    [(Kind::Document, 0.36), (Kind::Stylesheet, 0.22), (Kind::Script, 0.35), (Kind::Data, 0.33)];

impl Object {
    /// Share of its bytes that compression would leave of its body: recorded, or typical of its kind. `None` if the body is compressed
    /// already, is empty, or shrinks by next to nothing.
    pub fn compressible_to(&self) -> Option<f64> {
        let typical = || COMPRESSED_SHARES.iter().find(|(kind, _)| *kind == self.kind);
        match self.coding {
            _ if self.body_bytes == 0 => None,
            BodyCoding::Compressed { .. } => None,
            BodyCoding::Uncompressed { compressed_bytes } => {
                Some(compressed_bytes as f64 / self.body_bytes as f64)
            }
            BodyCoding::Identity => typical().map(|(_, share)| *share),
        }
    }
}

impl Page {
    /// The document.
    pub fn root(&self) -> &Object {
        &self.objects[0]
    }

    /// Objects requested at once: the document, or all of a transfer.
    pub fn roots(&self) -> impl Iterator<Item = ObjectId> + '_ {
        let all = self.objects.iter().zip(0..);
        all.filter(|(object, _)| object.waits_for.is_empty()).map(|(_, index)| ObjectId(index))
    }

    /// Returns true if it is a transfer over connections and not a page: no object waits for another.
    pub(crate) fn is_transfer(&self) -> bool {
        self.objects.len() > 1 && self.objects.iter().all(|object| object.waits_for.is_empty())
    }

    /// The host that serves `object`.
    pub fn host_of(&self, object: &Object) -> &PageHost {
        &self.hosts[object.host.0 as usize]
    }

    /// Machine of each host: the first host of the same name, since one name has one address.
    pub fn machines(&self) -> Vec<usize> {
        let mut first = BTreeMap::new();
        let hosts = self.hosts.iter().enumerate();
        hosts
            .map(|(index, host)| *first.entry(host.name.to_ascii_lowercase()).or_insert(index))
            .collect()
    }

    /// Total size of all bodies on the wire.
    pub fn body_bytes(&self) -> u64 {
        self.objects.iter().map(|o| o.body_bytes).sum()
    }

    /// Checks the invariants that other code relies on; the message names the object.
    pub fn check(&self) -> Result<(), String> {
        if self.objects.is_empty() {
            return Err("the page has no objects".to_owned());
        }
        for (index, object) in self.objects.iter().enumerate() {
            if object.host.0 as usize >= self.hosts.len() {
                return Err(format!(
                    "object {index} ({}) names a host that is not listed",
                    object.url
                ));
            }
            if object.waits_for.is_empty() != (index == 0 || self.is_transfer()) {
                return Err(format!(
                    "object {index} ({}) must wait for something unless it is the document, and only then",
                    object.url
                ));
            }
            if let Some(edge) = object.waits_for.iter().find(|e| e.object.0 as usize >= index) {
                return Err(format!(
                    "object {index} ({}) waits for object {}, which does not come before it",
                    object.url, edge.object.0
                ));
            }
        }
        Ok(())
    }
}
