//! Counters of requests, and their text for Prometheus (exposition format 0.0.4).
//!
//! Each core has its own counters, so that none waits for another; they are summed on request.

use std::fmt::{Display, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use cache::MemoryTally;
use http_stack::socks;
use tls::Protocol;

use super::{HitSummary, Journal};
use super::{LogEntry, RequestOutcome};
use crate::caching::DiskTally;
use crate::upstream::ServerTally;

/// Upper bounds of the latency buckets, in seconds: the Prometheus client library's defaults.
const BOUNDS: [f64; 11] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

/// Protocols counted separately.
const PROTOCOLS: [&str; 7] = ["h1.0", "h1", "spdy", "h2", "h3", "socks4", "socks5"];

/// The counters of one core.
#[derive(Debug, Default)]
pub struct Metrics {
    outcomes: [AtomicU64; RequestOutcome::NAMES.len()],
    statuses: [AtomicU64; 6],
    protocols: [AtomicU64; PROTOCOLS.len()],
    sent_bytes: AtomicU64,
    received_bytes: AtomicU64,
    compressed_bytes: AtomicU64,
    compressed_from_bytes: AtomicU64,
    hinted: AtomicU64,
    first_byte: LatencyHistogram,
    lost_lines: AtomicU64,
    gauges: Gauges,
}

/// Gauges of one core.
#[derive(Debug, Default)]
pub struct Gauges {
    /// Connections of clients.
    pub clients: AtomicU64,
    /// Connections to origins.
    pub origins: AtomicU64,
    /// Of these, idle ones.
    pub origins_idle: AtomicU64,
    /// Requests waiting for a connection.
    pub waiting: AtomicU64,
}

/// Histogram of the time to the answers' first byte.
#[derive(Debug, Default)]
struct LatencyHistogram {
    classes: [AtomicU64; BOUNDS.len()],
    count: AtomicU64,
    micros: AtomicU64,
}

fn add(counter: &AtomicU64, number: u64) {
    counter.fetch_add(number, Ordering::Relaxed);
}

impl Metrics {
    /// The gauges.
    pub fn gauges(&self) -> &Gauges {
        &self.gauges
    }

    /// Counts a log line that was lost because the writer was too slow.
    pub fn lost_line(&self) {
        add(&self.lost_lines, 1);
    }
}

impl Metrics {
    fn count(&self, outcome: &RequestOutcome, protocol: usize, status: u16, sent_bytes: u64) {
        let outcome = RequestOutcome::NAMES.iter().position(|name| *name == outcome.name());
        add(&self.outcomes[outcome.expect("every outcome has its name")], 1);
        add(&self.statuses[usize::from(status / 100).min(5)], 1);
        add(&self.protocols[protocol], 1);
        add(&self.sent_bytes, sent_bytes);
    }
}

impl Journal for Arc<Metrics> {
    fn wants_hits(&self) -> bool {
        false
    }

    /// Hits in memory count as instantaneous, which saves a look at the clock.
    fn hit(&self, brief: HitSummary) {
        let HitSummary { protocol, status, sent_bytes } = brief;
        self.count(&RequestOutcome::Hit, place(protocol), status, sent_bytes);
        self.first_byte.add(Duration::ZERO);
    }

    fn hinted(&self) {
        add(&self.hinted, 1);
    }

    fn done(&self, entry: &LogEntry) {
        let protocol = entry.socks.map_or_else(|| place(entry.protocol), place_of_socks);
        self.count(&entry.outcome, protocol, entry.status, entry.sent_bytes);
        add(&self.received_bytes, entry.received_bytes);
        if let Some(uncompressed) = entry.uncompressed_bytes {
            add(&self.compressed_bytes, entry.sent_bytes);
            add(&self.compressed_from_bytes, uncompressed);
        }
        if let Some(first) = entry.times.client_first {
            self.first_byte.add(first.since(entry.times.request));
        }
    }
}

/// Index in [`PROTOCOLS`].
fn place(protocol: Protocol) -> usize {
    match protocol {
        Protocol::H10 => 0,
        Protocol::H1 => 1,
        Protocol::Spdy(_) => 2,
        Protocol::H2 => 3,
        Protocol::H3 => 4,
    }
}

fn place_of_socks(version: socks::Version) -> usize {
    match version {
        socks::Version::V4 => 5,
        socks::Version::V5 => 6,
    }
}

impl LatencyHistogram {
    fn add(&self, span: Duration) {
        let class = BOUNDS.iter().position(|bound| span.as_secs_f64() <= *bound);
        if let Some(class) = class {
            add(&self.classes[class], 1);
        }
        add(&self.count, 1);
        add(&self.micros, u64::try_from(span.as_micros()).unwrap_or(u64::MAX));
    }
}

/// All cores' counters as text, and those of the cache, its disk tier and the `servers` of origins, if there are any.
pub fn exposition(
    cores: &[Arc<Metrics>],
    cache: Option<(MemoryTally, Option<DiskTally>)>,
    servers: &[(String, ServerTally)],
) -> String {
    let sum = |counter: &dyn Fn(&Metrics) -> &AtomicU64| -> u64 {
        cores.iter().map(|core| counter(core).load(Ordering::Relaxed)).sum()
    };
    let mut text = ExpositionText(String::new());
    text.family("farlink_requests_total", "counter", "Requests, by what became of them.");
    for (index, name) in RequestOutcome::NAMES.iter().enumerate() {
        let count = sum(&|core| &core.outcomes[index]);
        text.sample("farlink_requests_total", &format!("outcome=\"{name}\""), count);
    }
    text.family("farlink_responses_total", "counter", "Responses, by the class of their status.");
    for (index, class) in ["none", "1xx", "2xx", "3xx", "4xx", "5xx"].iter().enumerate() {
        let count = sum(&|core| &core.statuses[index]);
        text.sample("farlink_responses_total", &format!("class=\"{class}\""), count);
    }
    text.family("farlink_requests_by_protocol_total", "counter", "Requests, by protocol.");
    for (index, name) in PROTOCOLS.iter().enumerate() {
        let count = sum(&|core| &core.protocols[index]);
        text.sample("farlink_requests_by_protocol_total", &format!("protocol=\"{name}\""), count);
    }
    text.singles(
        "farlink_",
        &[
            (
                "sent_bytes_total",
                "Bytes of bodies and tunnels to clients.",
                sum(&|c| &c.sent_bytes),
            ),
            (
                "received_bytes_total",
                "Bytes of bodies and tunnels from clients.",
                sum(&|c| &c.received_bytes),
            ),
            (
                "compressed_bytes_total",
                "Bytes of bodies that were compressed here.",
                sum(&|c| &c.compressed_bytes),
            ),
            (
                "compressed_from_bytes_total",
                "Bytes of the same bodies before compression.",
                sum(&|c| &c.compressed_from_bytes),
            ),
            ("early_hints_total", "103 responses with learnt hints.", sum(&|c| &c.hinted)),
            ("lost_log_lines_total", "Lines of the log that were lost.", sum(&|c| &c.lost_lines)),
            ("client_connections", "Connections of clients.", sum(&|c| &c.gauges.clients)),
            ("origin_connections", "Connections to origins.", sum(&|c| &c.gauges.origins)),
            (
                "origin_connections_idle",
                "Connections to origins that nobody uses.",
                sum(&|c| &c.gauges.origins_idle),
            ),
            (
                "requests_waiting",
                "Requests that wait for a connection.",
                sum(&|c| &c.gauges.waiting),
            ),
        ],
    );
    if let Some((memory, disk)) = cache {
        cache_samples(&mut text, memory);
        disk.into_iter().for_each(|tally| disk_samples(&mut text, tally));
    }
    server_samples(&mut text, servers);
    answer_samples(&mut text, servers);
    let name = "farlink_first_byte_seconds";
    text.family(name, "histogram", "From a request's head to its answer's head.");
    let mut below = 0;
    for (index, bound) in BOUNDS.iter().enumerate() {
        below += sum(&|core| &core.first_byte.classes[index]);
        text.sample(&format!("{name}_bucket"), &format!("le=\"{bound}\""), below);
    }
    let count = sum(&|core| &core.first_byte.count);
    text.sample(&format!("{name}_bucket"), "le=\"+Inf\"", count);
    let seconds = sum(&|core| &core.first_byte.micros) as f64 / 1e6;
    text.sample(&format!("{name}_sum"), "", seconds);
    text.sample(&format!("{name}_count"), "", count);
    text.0
}

fn cache_samples(text: &mut ExpositionText, tally: MemoryTally) {
    let MemoryTally { found, missed, inserted, evicted, removed, entries, bytes } = tally;
    text.singles(
        "farlink_cache_",
        &[
            ("found_total", "Lookups that found an entry, fresh or not.", found),
            ("missed_total", "Lookups that found none.", missed),
            ("inserted_total", "Entries taken in.", inserted),
            ("evicted_total", "Entries that made room for others.", evicted),
            ("removed_total", "Entries invalidated or purged.", removed),
            ("entries", "Entries held.", entries),
            ("bytes", "Bytes held, bookkeeping included.", bytes),
        ],
    );
}

fn server_samples(text: &mut ExpositionText, servers: &[(String, ServerTally)]) {
    type ServerFigure = fn(&ServerTally) -> u64;
    let families: [(&str, &str, &str, ServerFigure); 3] = [
        ("up", "gauge", "Whether a server of an origin takes its turns.", |s| s.is_up.into()),
        ("failures_total", "counter", "Requests and checks that failed there.", |s| s.failures),
        ("ejections_total", "counter", "How often it was ejected or taken down.", |s| s.ejections),
    ];
    for (name, kind, help, figure) in families.iter().filter(|_| !servers.is_empty()) {
        let name = format!("farlink_server_{name}");
        text.family(&name, kind, help);
        for (server, tally) in servers {
            text.sample(&name, &format!("server=\"{server}\""), figure(tally));
        }
    }
}

/// Answers by class, and their times.
fn answer_samples(text: &mut ExpositionText, servers: &[(String, ServerTally)]) {
    if servers.is_empty() {
        return;
    }
    let name = "farlink_server_responses_total";
    text.family(name, "counter", "Answers of a server, by the class of their status.");
    for (server, tally) in servers {
        for (class, count) in (1..).zip(tally.answers) {
            text.sample(name, &format!("server=\"{server}\",class=\"{class}xx\""), count);
        }
    }
    let name = "farlink_server_response_seconds";
    text.family(name, "summary", "From a request to a server to its answer's head.");
    for (server, tally) in servers {
        let label = format!("server=\"{server}\"");
        text.sample(&format!("{name}_sum"), &label, tally.answering.as_secs_f64());
        text.sample(&format!("{name}_count"), &label, tally.answers.iter().sum::<u64>());
    }
}

fn disk_samples(text: &mut ExpositionText, tally: DiskTally) {
    let DiskTally { found, missed, late, written, skipped, failed, entries, bytes } = tally;
    text.singles(
        "farlink_cache_disk_",
        &[
            ("found_total", "Requests that found an entry on disk.", found),
            ("missed_total", "Requests that found none.", missed),
            ("late_total", "Requests that the disk was too slow for.", late),
            ("written_total", "Responses written.", written),
            ("skipped_total", "Responses not written.", skipped),
            ("failed_total", "Writes that failed.", failed),
            ("entries", "Responses on disk.", entries),
            ("bytes", "Bytes in files.", bytes),
        ],
    );
}

struct ExpositionText(String);

impl ExpositionText {
    fn family(&mut self, name: &str, kind: &str, help: &str) {
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    /// Counters (`_total`) and gauges with one sample each: name after `prefix`, help, value.
    fn singles(&mut self, prefix: &str, metrics: &[(&str, &str, u64)]) {
        for (name, help, value) in metrics {
            let kind = if name.ends_with("_total") { "counter" } else { "gauge" };
            let name = format!("{prefix}{name}");
            self.family(&name, kind, help);
            self.sample(&name, "", value);
        }
    }

    fn sample(&mut self, name: &str, labels: &str, value: impl Display) {
        let labels = if labels.is_empty() { String::new() } else { format!("{{{labels}}}") };
        let _ = writeln!(self.0, "{name}{labels} {value}");
    }
}

#[cfg(test)]
mod tests {
    use units::Time;

    use super::super::{LoggedFields, RequestTimes};
    use super::*;

    #[test]
    fn cores_are_summed() {
        let entry = LogEntry {
            client: None,
            user: None,
            method: "GET".to_owned(),
            url: "/".to_owned(),
            protocol: Protocol::H2,
            socks: None,
            status: 204,
            outcome: RequestOutcome::Passed,
            sent_bytes: 10,
            uncompressed_bytes: Some(40),
            received_bytes: 1,
            origin: None,
            fields: LoggedFields::default(),
            times: RequestTimes {
                client_first: Some(Time::from_millis(20)),
                ..RequestTimes::default()
            },
        };
        let cores = [Arc::new(Metrics::default()), Arc::new(Metrics::default())];
        cores.iter().for_each(|core| core.done(&entry));
        cores[1].hinted();
        let up = ServerTally {
            is_up: true,
            failures: 2,
            ejections: 1,
            answers: [0, 7, 0, 2, 0],
            answering: Duration::from_millis(1_500),
        };
        let text = exposition(&cores, None, &[("http://o:1".to_owned(), up)]);
        for line in [
            "farlink_requests_total{outcome=\"passed\"} 2",
            "farlink_responses_total{class=\"2xx\"} 2",
            "farlink_requests_by_protocol_total{protocol=\"h2\"} 2",
            "farlink_sent_bytes_total 20",
            "farlink_compressed_bytes_total 20",
            "farlink_compressed_from_bytes_total 80",
            "farlink_early_hints_total 1",
            "farlink_first_byte_seconds_bucket{le=\"0.01\"} 0",
            "farlink_first_byte_seconds_bucket{le=\"0.025\"} 2",
            "farlink_first_byte_seconds_sum 0.04",
            "farlink_server_up{server=\"http://o:1\"} 1",
            "farlink_server_failures_total{server=\"http://o:1\"} 2",
            "farlink_server_ejections_total{server=\"http://o:1\"} 1",
            "farlink_server_responses_total{server=\"http://o:1\",class=\"2xx\"} 7",
            "farlink_server_responses_total{server=\"http://o:1\",class=\"4xx\"} 2",
            "farlink_server_response_seconds_sum{server=\"http://o:1\"} 1.5",
            "farlink_server_response_seconds_count{server=\"http://o:1\"} 9",
        ] {
            assert!(text.lines().any(|had| had == line), "{line}\n{text}");
        }
    }
}
