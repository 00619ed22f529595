//! A run as CSV (RFC 4180): a row a visit, with the scenario beside each, or a row a sample of a window.

use std::io::Write;

use record::WindowSample;
use serde::Serialize;
use thiserror::Error;

use crate::store::{JourneyRow, RunId, Store, StoreError, VisitKey, VisitRow};
use scenario::{Push, Scheduler};

/// Failed to write the table.
#[derive(Debug, Error)]
pub enum CsvError {
    /// The visits cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The table cannot be written.
    #[error("the table cannot be written: {0}")]
    Write(#[from] csv::Error),
}

/// A row; the fields are the columns, in order. An empty field is "none".
#[derive(Serialize)]
struct Row<'a> {
    run: i64,
    journey: u64,
    visit: u32,
    client_number: u32,
    cell: u32,
    repetition: u32,
    seed: u64,
    farlink_version: &'a str,
    page: &'a str,
    visited_page: Option<&'a str>,
    network: String,
    protocol: &'a str,
    tls: &'a str,
    connections_per_host: Option<u32>,
    connections_total: Option<u32>,
    pipeline_depth: Option<u32>,
    multiplexing: String,
    tcp_server: String,
    tcp_client: String,
    quic: String,
    priorities: Option<&'a str>,
    scheduler: Option<&'a str>,
    frame_bytes: Option<u32>,
    unsent: Option<String>,
    push: Option<&'a str>,
    device: &'a str,
    cpu_multiplier: f64,
    browser: &'a str,
    blocked_hosts: String,
    origins: &'a str,
    server_workers: Option<u32>,
    service_time_ns: u64,
    keep_alive: String,
    hosting: &'a str,
    route: String,
    nuisance: &'a str,
    world: &'a str,
    clients: u32,
    beside: &'a str,
    start_spacing: String,
    journey_times: u32,
    journey_order: String,
    journey_pace: String,
    journey_keeps: String,
    view: &'a str,
    plt_ns: Option<u64>,
    failure: Option<&'a str>,
    ttfb_ns: Option<u64>,
    floor_graph_ns: Option<u64>,
    floor_oracle_ns: Option<u64>,
    floor_graph_without_compute_ns: Option<u64>,
    floor_oracle_without_compute_ns: Option<u64>,
    requests: u64,
    requests_failed: u64,
    connections: u64,
    connections_flow_limited: u64,
    body_bytes: u64,
    wire_bytes_down: u64,
    wire_bytes_up: u64,
    retransmits: Option<u64>,
    queue_drops: u64,
    losses: u64,
}

/// Writes the visits of `run` to `out`.
pub fn write_visits(store: &Store, run: RunId, out: impl Write) -> Result<(), CsvError> {
    let journeys = store.journeys(run)?;
    let mut writer = csv::Writer::from_writer(out);
    for visit in store.visits(run)? {
        // Journeys come in the plan's order, so they can be searched by position.
        let found = journeys.binary_search_by_key(&visit.key.journey, |j| j.position);
        let journey = found.map(|index| &journeys[index]).map_err(|_| StoreError::Damaged {
            what: format!("a visit belongs to journey {}, which is not there", visit.key.journey),
        })?;
        writer.serialize(row(run, journey, &visit))?;
    }
    writer.flush().map_err(csv::Error::from)?;
    Ok(())
}

/// How a server's end of a connection stood, and whose it was.
#[derive(Serialize)]
struct WindowRow<'a> {
    run: i64,
    journey: u64,
    visit: u32,
    connection: u32,
    host: &'a str,
    at_ns: u64,
    cwnd: u32,
    ssthresh: Option<u32>,
    in_flight: u32,
    in_flight_bytes: u64,
    unsent_bytes: u64,
    peer_window_bytes: u64,
    srtt_ns: u64,
    rto_ns: u64,
    retransmits: u64,
}

/// Writes the windows of the visits of `run` to `out`, a row a sample, as far as they were recorded; gives how many samples there are.
pub fn write_windows(store: &Store, run: RunId, out: impl Write) -> Result<u64, CsvError> {
    let mut writer = csv::Writer::from_writer(out);
    let mut samples = 0;
    for visit in store.visits(run)? {
        let Some(series) = store.series(visit.key)? else { continue };
        let connections = store.connections(visit.key)?;
        for window in &series.windows {
            let host =
                connections.get(window.connection as usize).map_or("", |it| it.host.as_str());
            writer.serialize(window_row(visit.key, host, window))?;
            samples += 1;
        }
    }
    writer.flush().map_err(csv::Error::from)?;
    Ok(samples)
}

fn window_row<'a>(key: VisitKey, host: &'a str, window: &WindowSample) -> WindowRow<'a> {
    let WindowSample {
        connection,
        at_ns,
        cwnd,
        ssthresh,
        in_flight,
        in_flight_bytes,
        unsent_bytes,
        peer_window_bytes,
        srtt_ns,
        rto_ns,
        retransmits,
    } = *window;
    WindowRow {
        run: key.run.0,
        journey: key.journey,
        visit: key.visit,
        connection,
        host,
        at_ns,
        cwnd,
        ssthresh,
        in_flight,
        in_flight_bytes,
        unsent_bytes,
        peer_window_bytes,
        srtt_ns,
        rto_ns,
        retransmits,
    }
}

fn row<'a>(run: RunId, journey: &'a JourneyRow, visit: &'a VisitRow) -> Row<'a> {
    let scenario = &journey.scenario;
    let floors = visit.floors;
    Row {
        run: run.0,
        journey: visit.key.journey,
        visit: visit.key.visit,
        client_number: scenario.who(visit.key.visit).0,
        cell: journey.cell,
        repetition: journey.repetition,
        seed: journey.seed,
        farlink_version: &journey.farlink_version,
        page: &scenario.page.spec,
        visited_page: visit.page.as_deref(),
        network: scenario.network.to_string(),
        protocol: scenario.stack.protocol.name(),
        tls: scenario.stack.tls.name(),
        connections_per_host: scenario.stack.connections_per_host,
        connections_total: scenario.stack.connections_total,
        pipeline_depth: scenario.stack.pipeline_depth,
        multiplexing: scenario.multiplexing.to_string(),
        tcp_server: scenario.transport.server.to_string(),
        tcp_client: scenario.transport.client.to_string(),
        quic: scenario.quic.to_string(),
        priorities: scenario.priorities.as_ref().map(|it| it.name.as_str()),
        scheduler: scenario.serving.scheduler.map(Scheduler::name),
        frame_bytes: scenario.serving.frame_bytes,
        unsent: scenario.serving.unsent.map(|limit| limit.to_string()),
        push: scenario.serving.push.map(Push::name),
        device: &scenario.client.device,
        cpu_multiplier: scenario.client.cpu_multiplier,
        browser: &scenario.client.browser,
        blocked_hosts: scenario.client.blocked_hosts.join(" "),
        origins: scenario.server.origins.name(),
        server_workers: scenario.server.workers,
        service_time_ns: scenario.server.service_time_ns,
        keep_alive: scenario.keep_alive.to_string(),
        hosting: scenario.hosting.name(),
        route: scenario.route.to_string(),
        nuisance: scenario.nuisance.name(),
        world: scenario.world.name(),
        clients: scenario.clients.count,
        beside: scenario.clients.beside.name(),
        start_spacing: scenario.clients.start_spacing.to_string(),
        journey_times: scenario.journey.times,
        journey_order: scenario.journey.order.to_string(),
        journey_pace: scenario.journey.pace.to_string(),
        journey_keeps: scenario.journey.keeps.to_string(),
        view: &visit.view,
        plt_ns: visit.plt_ns,
        failure: visit.failure.as_deref(),
        ttfb_ns: visit.ttfb_ns,
        floor_graph_ns: floors.map(|f| f.graph_ns),
        floor_oracle_ns: floors.map(|f| f.oracle_ns),
        floor_graph_without_compute_ns: floors.map(|f| f.graph_without_compute_ns),
        floor_oracle_without_compute_ns: floors.map(|f| f.oracle_without_compute_ns),
        requests: visit.requests,
        requests_failed: visit.requests_failed,
        connections: visit.connections,
        connections_flow_limited: visit.connections_flow_limited,
        body_bytes: visit.body_bytes,
        wire_bytes_down: visit.wire_bytes_down,
        wire_bytes_up: visit.wire_bytes_up,
        retransmits: visit.retransmits,
        queue_drops: visit.queue_drops,
        losses: visit.losses,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::toy;

    #[test]
    fn one_row_a_visit_with_its_scenario() {
        let plan = toy::plan(2);
        let filled = toy::filled_store(&plan);
        let mut out = Vec::new();
        write_visits(&filled.store, filled.run, &mut out).unwrap();
        let mut reader = csv::Reader::from_reader(out.as_slice());
        let columns = reader.headers().unwrap().clone();
        let column = |name: &str| columns.iter().position(|c| c == name).unwrap();
        let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
        assert_eq!(rows.len(), 8);
        assert_eq!(&rows[0][column("network")], "rtt=50ms,down=10mbit,up=5mbit,queue=100pkt");
        assert_eq!((&rows[0][column("protocol")], &rows[2][column("protocol")]), ("h1", "h2"));
        let plt_ns = filled.store.visits(filled.run).unwrap()[0].plt_ns.unwrap();
        assert_eq!(rows[0][column("plt_ns")], plt_ns.to_string());
    }

    #[test]
    fn one_row_a_sample_of_a_window() {
        let filled = toy::filled_store(&toy::plan(1));
        let mut out = Vec::new();
        let samples = write_windows(&filled.store, filled.run, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len() as u64, samples + 1);
        assert!(lines[0].starts_with("run,journey,visit,connection,host,at_ns,cwnd,ssthresh,"));
        assert!(lines[2].contains(",10,5,0,"), "{}", lines[2]);
    }
}
