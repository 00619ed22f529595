//! TCP connections as qlog 0.3, one file for each end, for viewers that draw windows and packets over time.
//!
//! The schema has no events of TCP (draft-ietf-quic-qlog-quic-events-01 names its vocabulary QUIC's). Those that mean the same for TCP are used
//! with the same names and units: windows in bytes, times in milliseconds, a segment's sequence number as the number of its packet. The type of
//! packet is `unknown`, and `protocol_type` says TCP.

use serde_json::{Map, Value, json};
use tcp::{RetransmitCause, SenderSample, Trigger};
use testbed::tour::{ObservedVisit, Packets};
use units::Time;
use world::report::Endpoint;
use world::sim::{CaptureContent, CapturedPacket, InterfaceDirection};

use super::qlogs::{Qlog, heading, sequence};

/// The files of a connection with this number, an end each. Packets are those of simulated visits.
pub(super) fn files(
    visit: &ObservedVisit<'_>,
    number: u32,
    client: &Endpoint,
    server: Option<&Endpoint>,
) -> Vec<Qlog> {
    let transport = &visit.scenario().transport;
    let ends = [
        ("client", Some(client), transport.client.config().mss),
        ("server", server, transport.server.config().mss),
    ];
    let group = client.local.to_string();
    let file = |(name, end, mss): (&str, Option<&Endpoint>, u32)| {
        let heading = heading(visit, number, name, client, &group, &["TCP"]);
        let events = events(visit, end?, mss.into()).into_iter().map(|(_, event)| event);
        Some(Qlog { name: format!("{number}.{name}"), text: sequence(&heading, events) })
    };
    ends.into_iter().filter_map(file).collect()
}

/// The events of one end during the visit, in order of time.
fn events(visit: &ObservedVisit<'_>, end: &Endpoint, mss: u64) -> Vec<(Time, Value)> {
    let mut events = vec![(end.opened_at, opened(end))];
    // Samples of the kernel's tracepoint show the state before a segment.
    let samples = end.series.iter().filter(|sample| sample.trigger != Trigger::Probe);
    let mut before = Map::new();
    for sample in samples {
        let metrics = metrics(sample, mss);
        let changed: Map<String, Value> = metrics
            .iter()
            .filter(|(name, value)| before.get(*name) != Some(*value))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        if !changed.is_empty() {
            events
                .push((sample.at, json!({ "name": "recovery:metrics_updated", "data": changed })));
        }
        before = metrics;
    }
    for lost in &end.retransmits {
        let mut data = json!({ "header": { "packet_type": "unknown", "packet_number": lost.seq } });
        if let Some(trigger) = trigger(lost.cause) {
            data["trigger"] = json!(trigger);
        }
        events.push((lost.at, json!({ "name": "recovery:packet_lost", "data": data })));
    }
    if let Packets::Simulated(packets) = visit.packets() {
        events
            .extend(packets.iter().filter_map(|packet| Some((packet.at, crossing(end, packet)?))));
    }
    events.retain(|(at, _)| visit.includes(*at) || *at == end.opened_at);
    events.sort_by_key(|(at, _)| *at);
    for (at, event) in &mut events {
        event["time"] = json!(at.as_nanos() as f64 / 1e6);
    }
    events
}

fn opened(end: &Endpoint) -> Value {
    let data = json!({
        "ip_version": "v4",
        "src_ip": end.local.ip().to_string(),
        "src_port": end.local.port(),
        "dst_ip": end.peer.ip().to_string(),
        "dst_port": end.peer.port(),
        "protocol": "TCP",
    });
    json!({ "name": "connectivity:connection_started", "data": data })
}

/// A sample as the schema's metrics.
fn metrics(sample: &SenderSample, mss: u64) -> Map<String, Value> {
    let stats = &sample.stats;
    let ms = |span: std::time::Duration| json!(span.as_nanos() as f64 / 1e6);
    let known = [
        ("congestion_window", Some(json!(u64::from(stats.cwnd) * mss))),
        ("ssthresh", stats.ssthresh.map(|segments| json!(u64::from(segments) * mss))),
        (
            "bytes_in_flight",
            Some(json!(stats.unacknowledged_bytes.saturating_sub(stats.unsent_bytes))),
        ),
        ("packets_in_flight", Some(json!(stats.in_flight))),
        ("smoothed_rtt", stats.srtt.map(ms)),
        ("min_rtt", stats.min_rtt.map(ms)),
        ("rtt_variance", stats.srtt.map(|_| ms(stats.rttvar))),
    ];
    known.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

/// The schema's trigger of a loss; it has none for handshakes.
fn trigger(cause: RetransmitCause) -> Option<&'static str> {
    match cause {
        RetransmitCause::FastRetransmit => Some("reordering_threshold"),
        RetransmitCause::Timeout | RetransmitCause::TailLossProbe => Some("pto_expired"),
        RetransmitCause::Handshake | RetransmitCause::Unknown => None,
    }
}

/// A segment that leaves this end or reaches it.
fn crossing(end: &Endpoint, packet: &CapturedPacket) -> Option<Value> {
    let CaptureContent::Tcp(segment) = &packet.content else { return None };
    let name = match packet.crossing {
        InterfaceDirection::Left if (packet.from, packet.to) == (end.local, end.peer) => {
            "transport:packet_sent"
        }
        InterfaceDirection::Reached if (packet.from, packet.to) == (end.peer, end.local) => {
            "transport:packet_received"
        }
        _ => return None,
    };
    let data = json!({
        "header": { "packet_type": "unknown", "packet_number": segment.seq },
        "raw": { "length": segment.wire_bytes(), "payload_length": segment.payload.len() },
    });
    Some(json!({ "name": name, "data": data }))
}
