//! The requests of a visit, as the browser reports them: their objects of the page, and their connections.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use base64::Engine;
use browser::{ConnectionUse, HostStack, LoadPlan};
use page::Object;
use record::{ObjectRecord, Phases};
use serde_json::Value;
use units::Time;

use super::event::{
    DataReceived, Event, LoadingFailed, LoadingFinished, ProtocolFields, ProtocolResponse,
    RequestWillBeSent, ResourceTiming,
};

/// Conversion of the browser's clock, in seconds, to instants of the world's.
#[derive(Clone, Copy, Debug)]
pub(super) struct MonotonicClock {
    /// Time on `CLOCK_MONOTONIC` at which the world began.
    pub(super) began: Duration,
}

impl MonotonicClock {
    pub(super) fn time(self, seconds: f64) -> Time {
        let since = Duration::try_from_secs_f64(seconds).unwrap_or_default();
        Time::ZERO + since.saturating_sub(self.began)
    }
}

/// One request. A redirect ends one and begins another.
#[derive(Debug)]
pub(super) struct DevToolsRequest {
    pub(super) method: String,
    pub(super) url: String,
    /// Seconds.
    pub(super) discovered: f64,
    pub(super) response: Option<ProtocolResponse>,
    /// Seconds.
    pub(super) ended: Option<f64>,
    pub(super) error: Option<String>,
    from_cache: bool,
    pub(super) priority: String,
    request_head: Option<u64>,
    request_body_bytes: u64,
    response_head: Option<u64>,
    body_bytes: u64,
    /// Head and body with the framing of both.
    pub(super) wire_bytes: u64,
    pub(super) detail: RequestDetail,
}

/// Details of a request that only a recording keeps.
#[derive(Debug, Default)]
pub(super) struct RequestDetail {
    pub(super) id: String,
    pub(super) resource_type: String,
    pub(super) initiator: Value,
    /// Fields of the request, as sent if the network told.
    pub(super) request_fields: ProtocolFields,
    pub(super) request_body: Vec<u8>,
    /// Fields of the response, as received, if the network told.
    pub(super) response_fields: Option<ProtocolFields>,
    has_request_extra: bool,
}

/// All requests in the order in which they were made.
#[derive(Debug, Default)]
pub(super) struct Requests {
    pub(super) all: Vec<DevToolsRequest>,
    /// Requests with an id; a redirected one shares it with its successor.
    by_id: BTreeMap<String, Vec<usize>>,
    /// Number of requests that have not ended.
    pub(super) in_flight: usize,
}

impl Requests {
    /// Records an event of the network; returns true if it began or ended a request.
    pub(super) fn note(&mut self, event: &Event) {
        match event {
            Event::RequestWillBeSent(requested) => self.requested(requested),
            Event::ResponseReceived(responded) => {
                if let Some(request) = self.find(&responded.request_id) {
                    request.response = Some(responded.response.clone());
                }
            }
            Event::RequestExtraInfo(head) => {
                let is_lacking = |request: &DevToolsRequest| !request.detail.has_request_extra;
                if let Some(request) = self.first(&head.request_id, is_lacking) {
                    request.request_head = Some(request.head_bytes(&head.headers));
                    request.detail.request_fields.clone_from(&head.headers);
                    request.detail.has_request_extra = true;
                }
            }
            Event::ResponseExtraInfo(head) => {
                let is_lacking =
                    |request: &DevToolsRequest| request.detail.response_fields.is_none();
                if let Some(request) = self.first(&head.request_id, is_lacking) {
                    request.response_head = head.headers_text.as_ref().map(|it| it.len() as u64);
                    request.detail.response_fields = Some(head.headers.clone());
                }
            }
            Event::DataReceived(DataReceived { request_id, data_length }) => {
                if let Some(request) = self.find(request_id) {
                    request.body_bytes += data_length;
                }
            }
            Event::ServedFromCache(named) => {
                if let Some(request) = self.find(&named.request_id) {
                    request.from_cache = true;
                }
            }
            Event::LoadingFinished(LoadingFinished {
                request_id,
                timestamp,
                encoded_data_length,
            }) => {
                if let Some(request) = self.find(request_id) {
                    request.wire_bytes = *encoded_data_length as u64;
                }
                self.end(request_id, *timestamp, None);
            }
            Event::LoadingFailed(LoadingFailed {
                request_id,
                timestamp,
                error_text,
                blocked_reason,
            }) => {
                let reason = blocked_reason.as_deref().filter(|_| error_text.is_empty());
                self.end(request_id, *timestamp, Some(reason.unwrap_or(error_text).to_owned()));
            }
            _ => {}
        }
    }

    fn requested(&mut self, requested: &RequestWillBeSent) {
        // URLs not carried by HTTP (data:, blob:) are no requests.
        if !requested.request.url.starts_with("http") {
            return;
        }
        if let Some(response) = &requested.redirect_response {
            let has_extra_info = requested.redirect_has_extra_info;
            if let Some(request) = self.find(&requested.request_id) {
                request.response = Some(response.clone());
                request.wire_bytes = response.encoded_data_length as u64;
                if !has_extra_info {
                    request.detail.response_fields.get_or_insert(response.headers.clone());
                }
            }
            self.end(&requested.request_id, requested.timestamp, None);
        }
        self.by_id.entry(requested.request_id.clone()).or_default().push(self.all.len());
        self.all.push(DevToolsRequest::new(requested));
        self.in_flight += 1;
    }

    fn end(&mut self, id: &str, at: f64, error: Option<String>) {
        let Some(request) = self.find(id).filter(|request| request.ended.is_none()) else { return };
        request.ended = Some(at);
        request.error = error;
        self.in_flight -= 1;
    }

    /// The latest request of this id.
    pub(super) fn named(&self, id: &str) -> Option<&DevToolsRequest> {
        self.by_id.get(id)?.last().map(|index| &self.all[*index])
    }

    fn find(&mut self, id: &str) -> Option<&mut DevToolsRequest> {
        self.by_id.get(id)?.last().map(|index| &mut self.all[*index])
    }

    /// The first request of this id that `is_sought`: the network's own events come in order, but late.
    fn first(
        &mut self,
        id: &str,
        is_sought: impl Fn(&DevToolsRequest) -> bool,
    ) -> Option<&mut DevToolsRequest> {
        let index = *self.by_id.get(id)?.iter().find(|index| is_sought(&self.all[**index]))?;
        Some(&mut self.all[index])
    }
}

impl DevToolsRequest {
    fn new(requested: &RequestWillBeSent) -> DevToolsRequest {
        let entries = requested.request.post_data_entries.iter();
        let body: Vec<u8> = entries.flat_map(|entry| decoded(&entry.bytes)).collect();
        DevToolsRequest {
            method: requested.request.method.clone(),
            url: requested.request.url.clone(),
            discovered: requested.timestamp,
            response: None,
            ended: None,
            error: None,
            from_cache: false,
            priority: requested.request.initial_priority.clone(),
            request_head: None,
            request_body_bytes: body.len() as u64,
            response_head: None,
            body_bytes: 0,
            wire_bytes: 0,
            detail: RequestDetail {
                id: requested.request_id.clone(),
                resource_type: requested.resource_type.clone(),
                initiator: requested.initiator.clone(),
                request_fields: requested.request.headers.clone(),
                request_body: body,
                response_fields: None,
                has_request_extra: false,
            },
        }
    }

    /// Size of the head as HTTP/1.1 text: the fields, which for HTTP/2 include pseudo-fields for the request line.
    fn head_bytes(&self, fields: &ProtocolFields) -> u64 {
        if fields.keys().any(|name| name.starts_with(':')) {
            return 0; // What HPACK made of it is not told.
        }
        let target = self.url.splitn(4, '/').nth(3).map_or(0, str::len) + 1;
        let line = self.method.len() + target + "  HTTP/1.1\r\n".len();
        let fields = fields.iter().map(|(name, value)| name.len() + value.len() + ": \r\n".len());
        (line + fields.sum::<usize>() + "\r\n".len()) as u64
    }

    /// Returns true if it was answered from the browser's cache.
    pub(super) fn is_cached(&self) -> bool {
        let response = self.response.as_ref();
        self.from_cache || response.is_some_and(|r| r.from_disk_cache || r.from_prefetch_cache)
    }

    /// The connection that carried it, if one did.
    pub(super) fn connection(&self) -> Option<u64> {
        let id = self.response.as_ref().map_or(0.0, |response| response.connection_id);
        (id > 0.0 && !self.is_cached()).then_some(id as u64)
    }

    /// Remote address, if known: that of its host, or of the proxy in front.
    pub(super) fn answered_by(&self) -> Option<IpAddr> {
        let address = self.response.as_ref()?.remote_address.as_ref()?;
        address.trim_matches(['[', ']']).parse().ok()
    }

    /// The protocol that carried it: `h1`, `h2`; `cache`; empty if nothing is known.
    pub(super) fn protocol(&self) -> &str {
        if self.is_cached() {
            return "cache";
        }
        match self.response.as_ref().and_then(|response| response.protocol.as_deref()) {
            Some("http/1.1") => "h1",
            Some(other) => other,
            None => "",
        }
    }

    /// Time of the first byte of its response, in seconds.
    pub(super) fn first_byte(&self) -> Option<f64> {
        let timing = self.response.as_ref()?.timing.as_ref()?;
        Some(timing.at(timing.receive_headers_start).unwrap_or(timing.request_time))
    }

    /// The record; `end` is the visit's end, for a request that did not end.
    pub(super) fn record(
        &self,
        index: usize,
        object: &Object,
        clock: MonotonicClock,
        end: f64,
    ) -> ObjectRecord {
        let ended = self.ended.unwrap_or(end).max(self.discovered);
        let response = self.response.as_ref();
        let unfinished = self.ended.is_none().then(|| "the visit ended before it did".to_owned());
        // HTTP/1 reports the head; with HTTP/2 it is all but the body: the head and all frames' headers.
        let head = self.response_head.unwrap_or(self.wire_bytes.saturating_sub(self.body_bytes));
        let cached = self.is_cached();
        ObjectRecord {
            object: index as u32,
            url: object.url.clone(),
            method: self.method.clone(),
            kind: format!("{:?}", object.kind),
            status: response.map_or(0, |response| response.status),
            protocol: self.protocol().to_owned(),
            connection: None,
            reused: response.is_some_and(|response| response.connection_reused) && !cached,
            discovered_at_ns: clock.time(self.discovered).as_nanos(),
            revealed_by: None,
            revealed_at_ns: None,
            phases: self.phases(clock, ended),
            done_at_ns: clock.time(ended).as_nanos(),
            request_header_bytes: if cached { 0 } else { self.request_head.unwrap_or(0) },
            request_body_bytes: self.request_body_bytes,
            response_header_bytes: if cached { 0 } else { head },
            body_bytes: if cached { 0 } else { self.body_bytes },
            priority: priority(&self.priority).to_owned(),
            blocks_render: object.blocks_render,
            error: self.failure(object.body_bytes).or(unfinished),
        }
    }

    /// The reason for its failure, if it failed. The browser reports a response without a body to a script's fetch
    /// as aborted, although all of it is there.
    fn failure(&self, body_bytes: u64) -> Option<String> {
        let whole = self.response.is_some() && self.body_bytes == body_bytes;
        self.error.clone().filter(|error| !(whole && error == "net::ERR_ABORTED"))
    }

    /// Breakdown of the time from discovery to `ended`; the spans sum to exactly that.
    pub(super) fn phases(&self, clock: MonotonicClock, ended: f64) -> Phases {
        let start = clock.time(self.discovered);
        let end = clock.time(ended);
        let timing =
            self.response.as_ref().and_then(|r| r.timing.as_ref()).filter(|_| !self.is_cached());
        let Some(timing) = timing else {
            return Phases { blocked_ns: nanos(start, end), ..Phases::default() };
        };
        let at = |ms: f64| timing.at(ms).map(|seconds| clock.time(seconds).clamp(start, end));
        let span = |from, to| Some(nanos(at(from)?, at(to)?));
        let dns_ns = span(timing.dns_start, timing.dns_end).unwrap_or(0);
        let connected = if timing.ssl_start >= 0.0 { timing.ssl_start } else { timing.connect_end };
        let connect_ns = span(timing.connect_start, connected).unwrap_or(0);
        let tls_ns = span(timing.ssl_start, timing.ssl_end).unwrap_or(0);
        let assigned = at(timing.send_start).unwrap_or(end);
        let sent = at(timing.send_end).unwrap_or(end).max(assigned);
        let head = at(timing.receive_headers_start).unwrap_or(end).max(sent);
        Phases {
            blocked_ns: nanos(start, assigned).saturating_sub(dns_ns + connect_ns + tls_ns),
            dns_ns,
            connect_ns,
            tls_ns,
            send_ns: nanos(assigned, sent),
            wait_ns: nanos(sent, head),
            receive_ns: nanos(head, end),
        }
    }
}

impl ResourceTiming {
    /// A point in seconds, if it occurred.
    pub(super) fn at(&self, ms: f64) -> Option<f64> {
        (ms >= 0.0).then_some(self.request_time + ms / 1000.0)
    }
}

fn nanos(from: Time, to: Time) -> u64 {
    to.as_nanos().saturating_sub(from.as_nanos())
}

/// Bytes of base64 text; none if it is not.
fn decoded(text: &str) -> Vec<u8> {
    base64::engine::general_purpose::STANDARD.decode(text).unwrap_or_default()
}

/// The protocol's `ResourcePriority` in the page's vocabulary.
fn priority(name: &str) -> &'static str {
    match name {
        "VeryHigh" => "Highest",
        "High" => "High",
        "Medium" => "Medium",
        "Low" => "Low",
        _ => "Lowest",
    }
}

/// Connections in order of first use, and the positions of their ids.
pub(super) struct VisitConnections {
    pub(super) used: Vec<ConnectionUse>,
    positions: BTreeMap<u64, u32>,
    /// Their local addresses, if known.
    locals: BTreeMap<u64, SocketAddr>,
}

impl VisitConnections {
    pub(super) fn new(locals: BTreeMap<u64, SocketAddr>) -> VisitConnections {
        VisitConnections { used: Vec::new(), positions: BTreeMap::new(), locals }
    }

    /// Adds `request`, of `host`, to its connection; returns the connection's position.
    pub(super) fn count(
        &mut self,
        request: &DevToolsRequest,
        host: &str,
        arm: HostStack,
        clock: MonotonicClock,
    ) -> Option<u32> {
        let id = request.connection()?;
        let position = *self.positions.entry(id).or_insert_with(|| {
            let local = self.locals.get(&id).copied();
            self.used.push(ConnectionUse { local, ..begun(request, host, arm, clock) });
            self.used.len() as u32 - 1
        });
        let connection = &mut self.used[position as usize];
        connection.requests += 1;
        // The request that opened it may have been given another one that was free sooner.
        if connection.connected.is_none() {
            let opened = begun(request, host, arm, clock);
            if opened.connected.is_some() {
                let ConnectionUse { requests, local, .. } = *connection;
                *connection = ConnectionUse { requests, local, ..opened };
            }
        }
        Some(position)
    }
}

/// A connection with the timing of the request that opened it; a later request only knows when it was used.
fn begun(
    request: &DevToolsRequest,
    host: &str,
    arm: HostStack,
    clock: MonotonicClock,
) -> ConnectionUse {
    let timing = request.response.as_ref().and_then(|response| response.timing.as_ref());
    let at = |ms: f64| timing.and_then(|timing| timing.at(ms)).map(|seconds| clock.time(seconds));
    let secured = timing.and_then(|timing| at(timing.ssl_end));
    let connected = timing.and_then(|timing| at(timing.ssl_start).or(at(timing.connect_end)));
    let started = timing.and_then(|timing| at(timing.connect_start));
    ConnectionUse {
        host: arm.peer(host).to_owned(),
        arm,
        local: None,
        started: started.unwrap_or(clock.time(request.discovered)),
        connected,
        secured,
        closed: None,
        requests: 0,
    }
}

/// The objects that have not been requested yet, by method and URL. One that a page requests several times is
/// several objects, found in turn.
pub(super) struct UnmatchedObjects {
    waiting: BTreeMap<(String, String), VecDeque<usize>>,
    left: usize,
}

impl UnmatchedObjects {
    pub(super) fn new(plan: &LoadPlan) -> UnmatchedObjects {
        let mut waiting: BTreeMap<_, VecDeque<usize>> = BTreeMap::new();
        for (index, request) in plan.requests().iter().enumerate() {
            let key = (request.method().to_string(), request.uri().to_string());
            waiting.entry(key).or_default().push_back(index);
        }
        UnmatchedObjects { waiting, left: plan.requests().len() }
    }

    /// The object of a request, if it is one that is still expected.
    pub(super) fn take(&mut self, method: &str, url: &str) -> Option<usize> {
        let key = (method.to_owned(), url.to_owned());
        let index = self.waiting.get_mut(&key)?.pop_front()?;
        self.left -= 1;
        Some(index)
    }

    /// Number of objects not yet requested.
    pub(super) fn left(&self) -> usize {
        self.left
    }

    /// The objects not yet requested, in the page's order.
    pub(super) fn missing(&self) -> impl Iterator<Item = usize> {
        let waiting: BTreeSet<usize> = self.waiting.values().flatten().copied().collect();
        waiting.into_iter()
    }
}
