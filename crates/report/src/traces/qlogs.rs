//! Connections as qlog 0.3 (draft-ietf-quic-qlog-main-schema-02, draft-ietf-quic-qlog-quic-events-01): one file for each
//! end of each connection, as viewers expect.
//!
//! The format is JSON text sequences (RFC 7464). TCP's events are made in [`tcp_qlogs`]. QUIC's are quinn's, with three repairs: quinn writes round
//! trips in seconds where the schema has milliseconds, a slow start threshold that is not set yet as 2^64 - 1,
//! and each loss as one by reordering, whatever its cause. The first are converted, the others left out. A
//! file's heading states its vantage point and connection. A file covers a whole connection, even if it
//! outlives the visit. Times are milliseconds since the beginning of the journey's world, whose date is the
//! plan's in both worlds.

use serde_json::{Value, json};
use tls::PLAN_START;
use world::report::Endpoint;

use testbed::tour::ObservedVisit;

use super::tcp_qlogs;

/// Begins a text of a sequence (RFC 7464 section 2.2).
const RECORD_SEPARATOR: char = '\u{1e}';

/// Values that quinn writes in seconds.
const ROUND_TRIPS: [&str; 4] = ["min_rtt", "smoothed_rtt", "latest_rtt", "rtt_variance"];

/// One file.
pub struct Qlog {
    /// The index among the visit's connections, and the end: `0.client`.
    pub name: String,
    /// Contents of the file.
    pub text: String,
}

/// The files of a visit, in the order in which its connections were opened. Empty if its ends are not farlink's.
pub fn qlogs(visit: &ObservedVisit<'_>) -> Vec<Qlog> {
    let connections = visit.connections().into_iter().zip(0..);
    let files = connections.flat_map(|((client, server), number)| match client.qlog.is_empty() {
        false => quic_files(visit, number, client, server),
        true if client.series.is_empty() => Vec::new(),
        true => tcp_qlogs::files(visit, number, client, server),
    });
    files.collect()
}

fn quic_files(
    visit: &ObservedVisit<'_>,
    number: u32,
    client: &Endpoint,
    server: Option<&Endpoint>,
) -> Vec<Qlog> {
    let group = group(client);
    let file = |(name, end): (&str, Option<&Endpoint>)| {
        let end = end.filter(|end| !end.qlog.is_empty())?;
        let heading = heading(visit, number, name, client, &group, &["QUIC", "HTTP3"]);
        let text = sequence(&heading, records(end).map(repaired));
        Some(Qlog { name: format!("{number}.{name}"), text })
    };
    [("client", Some(client)), ("server", server)].into_iter().filter_map(file).collect()
}

/// The records that quinn wrote after its own heading.
fn records(end: &Endpoint) -> impl Iterator<Item = Value> {
    let texts = end.qlog.split(RECORD_SEPARATOR).skip(2);
    texts.map(|text| serde_json::from_str(text).expect("quinn writes events as JSON"))
}

/// The identifier by which both ends know the connection: the one that the client first gave its server (RFC
/// 9000 section 7.2).
fn group(client: &Endpoint) -> String {
    let first = records(client).next();
    let group = first.as_ref().and_then(|event| event["group_id"].as_str());
    group.unwrap_or_default().to_owned()
}

pub(super) fn heading(
    visit: &ObservedVisit<'_>,
    number: u32,
    end: &str,
    client: &Endpoint,
    group: &str,
    protocols: &[&str],
) -> Value {
    let title = format!("{} over {}", visit.scenario().page.spec, visit.scenario().network);
    let description = format!(
        "connection {number} with {} ({}), seed {}, farlink {}",
        visit.host(client.peer),
        client.peer,
        visit.seed(),
        scenario::VERSION
    );
    json!({
        "qlog_version": "0.3",
        "qlog_format": "JSON-SEQ",
        "title": title,
        "description": description,
        "trace": {
            "title": title,
            "description": description,
            "vantage_point": { "name": "farlink", "type": end },
            "common_fields": {
                "group_id": group,
                "protocol_type": protocols,
                "reference_time": PLAN_START.as_millis() as u64,
                "time_format": "relative",
            },
        },
    })
}

/// A heading and events as a sequence of JSON texts.
pub(super) fn sequence(heading: &Value, events: impl Iterator<Item = Value>) -> String {
    let mut text = format!("{RECORD_SEPARATOR}{heading}\n");
    for event in events {
        text.push_str(&format!("{RECORD_SEPARATOR}{event}\n"));
    }
    text
}

/// An event as the schema defines it.
fn repaired(mut event: Value) -> Value {
    if let Some(event) = event.as_object_mut() {
        // Already in the heading.
        event.remove("group_id");
    }
    let is_loss = event["name"] == "recovery:packet_lost";
    let Some(data) = event["data"].as_object_mut() else { return event };
    for name in ROUND_TRIPS {
        if let Some(seconds) = data.get(name).and_then(Value::as_f64) {
            // A single-precision float: its precision does not go beyond microseconds.
            data.insert(name.to_owned(), json!((seconds * 1e6).round() / 1e3));
        }
    }
    if data.get("ssthresh").and_then(Value::as_u64) == Some(u64::MAX) {
        data.remove("ssthresh");
    }
    if is_loss {
        data.remove("trigger");
    }
    event
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_the_schemas_and_what_is_not_known_is_left_out() {
        let event = json!({
            "time": 1.5,
            "name": "recovery:metrics_updated",
            "group_id": "00ff",
            "data": { "smoothed_rtt": 0.086_14_f32, "ssthresh": u64::MAX, "congestion_window": 12_000 },
        });
        let data = json!({ "smoothed_rtt": 86.14, "congestion_window": 12_000 });
        let expected = json!({ "time": 1.5, "name": "recovery:metrics_updated", "data": data });
        assert_eq!(repaired(event), expected);
        let lost = json!({ "name": "recovery:packet_lost", "data": { "trigger": "reordering_threshold" } });
        assert_eq!(repaired(lost)["data"], json!({}));
    }
}
