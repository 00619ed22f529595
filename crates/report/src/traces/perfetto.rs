//! A visit as a Perfetto trace, for ui.perfetto.dev and its trace processor: the page's objects, the critical path, connections with their
//! windows, packets on the way, the radio.
//!
//! Times are nanoseconds since the journey's beginning. The messages are the few of `perfetto_trace.proto` that a trace of slices and counters
//! needs, with its field numbers.

use prost::Message;
use record::{CriticalPath, ObjectRecord, VisitRecord};
use tcp::Trigger;
use testbed::tour::{ObservedVisit, Packets};
use world::report::Endpoint;
use world::sim::CapturedPacket;

use crate::mechanism::radio_spans;
use crate::on_the_way::OnTheWay;

/// The trace of a visit; `paths` are its critical paths by the names of their tracks.
pub fn perfetto(visit: &ObservedVisit<'_>, paths: &[(&str, &CriticalPath)]) -> Vec<u8> {
    let mut trace = TraceBuilder::default();
    let scenario = visit.scenario();
    let name =
        format!("{} over {}, {}", scenario.page.spec, scenario.network, scenario.stack.protocol);
    let root = trace.process(&name);
    page(&mut trace, root, visit.record);
    for (name, path) in paths {
        critical_path(&mut trace, root, visit.record, name, path);
    }
    objects(&mut trace, root, visit.record);
    connections(&mut trace, root, visit);
    if let Packets::Simulated(packets) = visit.packets() {
        on_the_way(&mut trace, root, visit, packets);
    }
    radio(&mut trace, root, visit.record);
    trace.finish()
}

/// The load and its moments.
fn page(trace: &mut TraceBuilder, root: TrackId, record: &VisitRecord) {
    let track = trace.track(root, "page");
    let start = record.started_at_ns;
    if let Some(plt) = record.plt_ns() {
        trace.slice(track, "load", start, start + plt);
    }
    if let Some(ttfb) = record.ttfb_ns {
        trace.instant(track, "first byte", start + ttfb);
    }
    let paint = record.paint.unwrap_or_default();
    let moments = [
        ("DOMContentLoaded", paint.dom_content_loaded_ns),
        ("first contentful paint", paint.first_contentful_paint_ns),
        ("largest contentful paint", paint.largest_contentful_paint_ns),
    ];
    for (name, at) in moments {
        if let Some(at) = at {
            trace.instant(track, name, start + at);
        }
    }
}

/// The waits that made the load time or the first render, one after the other.
fn critical_path(
    trace: &mut TraceBuilder,
    root: TrackId,
    record: &VisitRecord,
    name: &str,
    path: &CriticalPath,
) {
    let track = trace.track(root, name);
    for step in &path.steps {
        let url = record.objects.iter().find(|it| it.object == step.object).map(|it| &it.url);
        let from = record.started_at_ns + step.from_ns;
        trace.begin(track, step.cause.name(), from);
        trace.note("excess_ns", Note::Integer(step.excess_ns));
        if let Some(url) = url {
            trace.note("url", Note::Text(url.clone()));
        }
        trace.end(track, record.started_at_ns + step.until_ns);
    }
}

/// A track for each object: its phases, then the client's work on it.
fn objects(trace: &mut TraceBuilder, root: TrackId, record: &VisitRecord) {
    let group = trace.track(root, "objects");
    for object in &record.objects {
        let track = trace.track(group, &object.url);
        let arrived = object.discovered_at_ns + object.phases.total_ns();
        trace.begin(track, &object.kind, object.discovered_at_ns);
        trace.note("url", Note::Text(object.url.clone()));
        trace.note("status", Note::Integer(object.status.into()));
        trace.note("protocol", Note::Text(object.protocol.clone()));
        trace.note("priority", Note::Text(object.priority.clone()));
        trace.note("body_bytes", Note::Integer(object.body_bytes as i64));
        if let Some(connection) = object.connection {
            trace.note("connection", Note::Integer(connection.into()));
        }
        let mut at = object.discovered_at_ns;
        for (name, span) in phases(object) {
            if span > 0 {
                trace.slice(track, name, at, at + span);
            }
            at += span;
        }
        if object.done_at_ns > arrived {
            trace.slice(track, "cpu", arrived, object.done_at_ns);
        }
        trace.end(track, object.done_at_ns.max(arrived));
    }
}

fn phases(object: &ObjectRecord) -> [(&'static str, u64); 7] {
    let phases = &object.phases;
    [
        ("blocked", phases.blocked_ns),
        ("dns", phases.dns_ns),
        ("connect", phases.connect_ns),
        ("tls", phases.tls_ns),
        ("send", phases.send_ns),
        ("wait", phases.wait_ns),
        ("receive", phases.receive_ns),
    ]
}

/// Handshakes of connections as the loader saw them; windows and retransmissions as the servers' ends did.
fn connections(trace: &mut TraceBuilder, root: TrackId, visit: &ObservedVisit<'_>) {
    let group = trace.track(root, "connections");
    for (index, connection) in visit.record.connections.iter().enumerate() {
        let track =
            trace.track(group, &format!("#{index} {} {}", connection.protocol, connection.host));
        let opened = connection.opened_at_ns;
        if let Some(connected) = connection.connected_at_ns {
            trace.slice(track, "transport handshake", opened, connected);
            if let Some(secured) = connection.secured_at_ns.filter(|at| *at > connected) {
                trace.slice(track, "tls handshake", connected, secured);
            }
        }
    }
    let senders = trace.track(root, "servers' senders");
    for (index, (client, server)) in visit.connections().into_iter().enumerate() {
        let name = format!("#{index} {} from {}", visit.host(client.peer), client.local);
        if let Some(server) = server {
            sender(trace, senders, &name, server, visit);
        }
    }
}

fn sender(
    trace: &mut TraceBuilder,
    group: TrackId,
    name: &str,
    server: &Endpoint,
    visit: &ObservedVisit<'_>,
) {
    let group = trace.track(group, name);
    for resent in server.retransmits.iter().filter(|it| visit.includes(it.at)) {
        trace.instant(group, "retransmission", resent.at.as_nanos());
        trace.note("seq", Note::Integer(resent.seq as i64));
    }
    let cwnd = trace.counter(group, "cwnd", "segments");
    let in_flight = trace.counter(group, "in flight", "segments");
    let srtt = trace.counter(group, "srtt", "ms");
    let samples = server.series.iter().filter(|it| it.trigger != Trigger::Probe);
    for sample in samples.filter(|it| visit.includes(it.at)) {
        let at = sample.at.as_nanos();
        trace.value(cwnd, at, sample.stats.cwnd.into());
        trace.value(in_flight, at, sample.stats.in_flight.into());
        if let Some(round_trip) = sample.stats.srtt {
            trace.value(srtt, at, round_trip.as_secs_f64() * 1e3);
        }
    }
}

/// Bytes in queues and on links. Packets that do not arrive are instants.
fn on_the_way(
    trace: &mut TraceBuilder,
    root: TrackId,
    visit: &ObservedVisit<'_>,
    packets: &[CapturedPacket],
) {
    let group = trace.track(root, "packets");
    for (name, is_down) in [("down", true), ("up", false)] {
        let track = trace.track(group, name);
        let counter = trace.counter(group, &format!("{name}, on the way"), "bytes");
        let OnTheWay { held, lost } = OnTheWay::of(visit, packets, is_down);
        for (at, bytes) in lost {
            trace.instant(track, "lost", at.as_nanos());
            trace.note("bytes", Note::Integer(bytes as i64));
        }
        for (at, bytes) in held {
            trace.value(counter, at.as_nanos(), bytes as f64);
        }
    }
}

/// The states of the client's radio and its power.
fn radio(trace: &mut TraceBuilder, root: TrackId, record: &VisitRecord) {
    let spans = radio_spans(record);
    if spans.is_empty() {
        return;
    }
    let ns = |ms: f64| record.started_at_ns + (ms * 1e6).round() as u64;
    let track = trace.track(root, "radio");
    let power = trace.counter(root, "radio power", "W");
    for span in spans {
        trace.begin(track, &span.state, ns(span.from_ms));
        trace.note("cause", Note::Text(span.cause.clone()));
        trace.end(track, ns(span.to_ms));
        trace.value(power, ns(span.from_ms), span.watts);
    }
}

/// Number of a track.
type TrackId = u64;

/// A value beside an event.
enum Note {
    Text(String),
    Integer(i64),
}

/// Writer of tracks and events.
#[derive(Default)]
struct TraceBuilder {
    tracks: Vec<TrackDescriptor>,
    events: Vec<(u64, TrackEvent)>,
}

impl TraceBuilder {
    fn process(&mut self, name: &str) -> TrackId {
        let process = ProcessDescriptor { pid: Some(1), process_name: Some(name.to_owned()) };
        self.describe(TrackDescriptor { process: Some(process), ..TrackDescriptor::default() })
    }

    /// A track of slices below another; tracks are shown in this order.
    fn track(&mut self, parent: TrackId, name: &str) -> TrackId {
        let name = Some(name.to_owned());
        self.describe(TrackDescriptor { name, parent_uuid: Some(parent), ..Default::default() })
    }

    fn counter(&mut self, parent: TrackId, name: &str, unit: &str) -> TrackId {
        let counter = Some(CounterDescriptor { unit_name: Some(unit.to_owned()) });
        let (name, parent_uuid) = (Some(name.to_owned()), Some(parent));
        self.describe(TrackDescriptor { name, parent_uuid, counter, ..Default::default() })
    }

    fn describe(&mut self, track: TrackDescriptor) -> TrackId {
        let place = self.tracks.len();
        let uuid = place as TrackId + 1;
        self.tracks.push(TrackDescriptor {
            uuid: Some(uuid),
            child_ordering: Some(TrackDescriptor::EXPLICIT),
            sibling_order_rank: Some(place as i32),
            ..track
        });
        uuid
    }

    fn event(&mut self, track: TrackId, kind: i32, name: Option<&str>, at: u64) {
        let event = TrackEvent {
            r#type: Some(kind),
            track_uuid: Some(track),
            name: name.map(str::to_owned),
            ..TrackEvent::default()
        };
        self.events.push((at, event));
    }

    fn begin(&mut self, track: TrackId, name: &str, at: u64) {
        self.event(track, TrackEvent::BEGIN, Some(name), at);
    }

    fn end(&mut self, track: TrackId, at: u64) {
        self.event(track, TrackEvent::END, None, at);
    }

    fn slice(&mut self, track: TrackId, name: &str, from: u64, to: u64) {
        self.begin(track, name, from);
        self.end(track, to);
    }

    fn instant(&mut self, track: TrackId, name: &str, at: u64) {
        self.event(track, TrackEvent::INSTANT, Some(name), at);
    }

    fn value(&mut self, counter: TrackId, at: u64, value: f64) {
        self.event(counter, TrackEvent::COUNTER, None, at);
        if let Some((_, event)) = self.events.last_mut() {
            event.double_counter_value = Some(value);
        }
    }

    /// Adds a note to the last event.
    fn note(&mut self, name: &str, note: Note) {
        let (string_value, int_value) = match note {
            Note::Text(text) => (Some(text), None),
            Note::Integer(number) => (None, Some(number)),
        };
        if let Some((_, event)) = self.events.last_mut() {
            let name = Some(name.to_owned());
            event.debug_annotations.push(DebugAnnotation { int_value, string_value, name });
        }
    }

    /// The file. Events at one instant keep their order, in which slices are nested.
    fn finish(mut self) -> Vec<u8> {
        self.events.sort_by_key(|(at, _)| *at);
        let sequence = Some(1);
        let tracks = self.tracks.into_iter().map(|track| TracePacket {
            trusted_packet_sequence_id: sequence,
            track_descriptor: Some(track),
            ..TracePacket::default()
        });
        let events = self.events.into_iter().map(|(at, event)| TracePacket {
            timestamp: Some(at),
            trusted_packet_sequence_id: sequence,
            track_event: Some(event),
            ..TracePacket::default()
        });
        let mut packet = tracks.chain(events).collect::<Vec<TracePacket>>();
        if let Some(first) = packet.first_mut() {
            // SEQ_INCREMENTAL_STATE_CLEARED: the sequence begins here.
            first.sequence_flags = Some(1);
        }
        Trace { packet }.encode_to_vec()
    }
}

#[derive(Clone, PartialEq, Message)]
struct Trace {
    #[prost(message, repeated, tag = "1")]
    packet: Vec<TracePacket>,
}

#[derive(Clone, PartialEq, Message)]
struct TracePacket {
    #[prost(uint64, optional, tag = "8")]
    timestamp: Option<u64>,
    #[prost(uint32, optional, tag = "10")]
    trusted_packet_sequence_id: Option<u32>,
    #[prost(message, optional, tag = "11")]
    track_event: Option<TrackEvent>,
    #[prost(uint32, optional, tag = "13")]
    sequence_flags: Option<u32>,
    #[prost(message, optional, tag = "60")]
    track_descriptor: Option<TrackDescriptor>,
}

#[derive(Clone, PartialEq, Message)]
struct TrackEvent {
    #[prost(message, repeated, tag = "4")]
    debug_annotations: Vec<DebugAnnotation>,
    #[prost(int32, optional, tag = "9")]
    r#type: Option<i32>,
    #[prost(uint64, optional, tag = "11")]
    track_uuid: Option<u64>,
    #[prost(string, optional, tag = "23")]
    name: Option<String>,
    #[prost(double, optional, tag = "44")]
    double_counter_value: Option<f64>,
}

impl TrackEvent {
    const BEGIN: i32 = 1;
    const END: i32 = 2;
    const INSTANT: i32 = 3;
    const COUNTER: i32 = 4;
}

#[derive(Clone, PartialEq, Message)]
struct DebugAnnotation {
    #[prost(int64, optional, tag = "4")]
    int_value: Option<i64>,
    #[prost(string, optional, tag = "6")]
    string_value: Option<String>,
    #[prost(string, optional, tag = "10")]
    name: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
struct TrackDescriptor {
    #[prost(uint64, optional, tag = "1")]
    uuid: Option<u64>,
    #[prost(string, optional, tag = "2")]
    name: Option<String>,
    #[prost(message, optional, tag = "3")]
    process: Option<ProcessDescriptor>,
    #[prost(uint64, optional, tag = "5")]
    parent_uuid: Option<u64>,
    #[prost(message, optional, tag = "8")]
    counter: Option<CounterDescriptor>,
    #[prost(int32, optional, tag = "11")]
    child_ordering: Option<i32>,
    #[prost(int32, optional, tag = "12")]
    sibling_order_rank: Option<i32>,
}

impl TrackDescriptor {
    const EXPLICIT: i32 = 3;
}

#[derive(Clone, PartialEq, Message)]
struct ProcessDescriptor {
    #[prost(int32, optional, tag = "1")]
    pid: Option<i32>,
    #[prost(string, optional, tag = "6")]
    process_name: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
struct CounterDescriptor {
    #[prost(string, optional, tag = "6")]
    unit_name: Option<String>,
}
