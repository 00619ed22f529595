//! A visit's TCP connections as JSON lines: a heading, one line per connection, then samples, the state above
//! the sockets, and retransmissions in order of time.

use serde::Serialize;
use tcp::{Retransmit, SenderSample, Trigger};
use units::Time;
use world::report::{Endpoint, HeldBytes};

use scenario::Scenario;
use testbed::tour::ObservedVisit;

/// Name of the format in the first line.
pub const FORMAT: &str = "farlink tcp trace";
/// Version of the format. A new key alone does not change it.
pub const VERSION: u32 = 1;

/// The first line.
#[derive(Serialize)]
struct Heading<'a> {
    format: &'static str,
    version: u32,
    farlink_version: &'static str,
    view: &'a str,
    seed: u64,
    started_at_ns: u64,
    plt_ns: Option<u64>,
    scenario: &'a Scenario,
}

/// The lines after it.
#[derive(Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
enum TraceLine<'a> {
    Connection {
        connection: usize,
        host: &'a str,
        client: String,
        server: String,
        opened_at_ns: u64,
    },
    Sample {
        at_ns: u64,
        connection: usize,
        end: &'static str,
        trigger: &'static str,
        state: &'static str,
        congestion_state: &'static str,
        cwnd: u32,
        ssthresh: Option<u32>,
        in_flight: u32,
        in_flight_bytes: u64,
        delivered: Option<u64>,
        srtt_ns: Option<u64>,
        rttvar_ns: Option<u64>,
        rto_ns: Option<u64>,
        min_rtt_ns: Option<u64>,
        pacing_bit_per_s: Option<u64>,
        peer_window_bytes: u64,
        unsent_bytes: Option<u64>,
        unacked_bytes: u64,
    },
    Held {
        at_ns: u64,
        connection: usize,
        end: &'static str,
        application_bytes: u64,
        tls_bytes: u64,
        socket_unsent_bytes: u64,
    },
    Retransmit {
        at_ns: u64,
        connection: usize,
        end: &'static str,
        seq: u64,
        cause: &'static str,
        spurious: Option<bool>,
    },
}

/// One end of a connection of the visit.
struct TcpEnd<'a> {
    connection: usize,
    name: &'static str,
    endpoint: &'a Endpoint,
}

/// Contents of the file. The same visit gives the same bytes.
pub fn tcp_lines(visit: &ObservedVisit<'_>) -> String {
    let mut text = String::new();
    let heading = Heading {
        format: FORMAT,
        version: VERSION,
        farlink_version: scenario::VERSION,
        view: &visit.record.view,
        seed: visit.seed(),
        started_at_ns: visit.record.started_at_ns,
        plt_ns: visit.record.plt_ns(),
        scenario: visit.scenario(),
    };
    push(&mut text, &heading);
    let mut ends = Vec::new();
    for (connection, (client, server)) in visit.connections().into_iter().enumerate() {
        push(&mut text, &opening(visit, connection, client));
        ends.push(TcpEnd { connection, name: "client", endpoint: client });
        ends.extend(server.map(|endpoint| TcpEnd { connection, name: "server", endpoint }));
    }
    for (_, line) in events(visit, &ends) {
        push(&mut text, &line);
    }
    text
}

fn push(text: &mut String, line: &impl Serialize) {
    text.push_str(&serde_json::to_string(line).expect("a line is plain data"));
    text.push('\n');
}

fn opening<'a>(visit: &ObservedVisit<'a>, connection: usize, client: &Endpoint) -> TraceLine<'a> {
    TraceLine::Connection {
        connection,
        host: visit.host(client.peer),
        client: client.local.to_string(),
        server: client.peer.to_string(),
        opened_at_ns: client.opened_at.as_nanos(),
    }
}

/// All events of the connections during the visit, in order of time.
fn events<'a>(visit: &ObservedVisit<'_>, ends: &[TcpEnd<'a>]) -> Vec<(Time, TraceLine<'a>)> {
    let mut events = Vec::new();
    for end in ends {
        let sent_again = end.endpoint.retransmits.iter();
        events.extend(sent_again.map(|sent| (sent.at, end.sent_again(sent))));
        events.extend(end.endpoint.series.iter().map(|sample| (sample.at, end.sample(sample))));
        events.extend(end.endpoint.held.iter().map(|held| (held.at, end.held(held))));
    }
    events.retain(|(at, _)| visit.includes(*at));
    events.sort_by_key(|(at, _)| *at);
    events
}

impl TcpEnd<'_> {
    fn sent_again<'a>(&self, sent: &Retransmit) -> TraceLine<'a> {
        TraceLine::Retransmit {
            at_ns: sent.at.as_nanos(),
            connection: self.connection,
            end: self.name,
            seq: sent.seq,
            cause: sent.cause.name(),
            spurious: sent.spurious,
        }
    }

    fn held<'a>(&self, held: &HeldBytes) -> TraceLine<'a> {
        TraceLine::Held {
            at_ns: held.at.as_nanos(),
            connection: self.connection,
            end: self.name,
            application_bytes: held.application_bytes,
            tls_bytes: held.tls_bytes,
            socket_unsent_bytes: held.socket_unsent_bytes,
        }
    }

    fn sample<'a>(&self, sample: &SenderSample) -> TraceLine<'a> {
        let stats = &sample.stats;
        let nanos = |span: std::time::Duration| u64::try_from(span.as_nanos()).unwrap_or(u64::MAX);
        // `tcp_probe` does not report everything.
        let known = |value: u64| (sample.trigger != Trigger::Probe).then_some(value);
        TraceLine::Sample {
            at_ns: sample.at.as_nanos(),
            connection: self.connection,
            end: self.name,
            trigger: sample.trigger.name(),
            state: sample.state.name(),
            congestion_state: stats.congestion_state.name(),
            cwnd: stats.cwnd,
            ssthresh: stats.ssthresh,
            in_flight: stats.in_flight,
            in_flight_bytes: stats.unacknowledged_bytes.saturating_sub(stats.unsent_bytes),
            delivered: known(stats.delivered_segments),
            srtt_ns: stats.srtt.map(nanos),
            rttvar_ns: known(nanos(stats.rttvar)),
            rto_ns: known(nanos(stats.rto)),
            min_rtt_ns: stats.min_rtt.map(nanos),
            pacing_bit_per_s: stats.pacing_rate.map(|rate| rate.0),
            peer_window_bytes: stats.peer_window_bytes,
            unsent_bytes: known(stats.unsent_bytes),
            unacked_bytes: stats.unacknowledged_bytes,
        }
    }
}
