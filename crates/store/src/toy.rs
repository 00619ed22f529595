//! A toy executor for tests: deterministic, fast, and with realistic types. Its numbers mean nothing.

use std::sync::atomic::AtomicBool;

use chance::{RandomSource, RandomStream};
use record::{
    ConnectionRecord, EventKind, LinkRecord, ObjectRecord, Phases, TcpEvent, VisitOutcome,
    VisitRecord,
};

use crate::runner;
use crate::{RunFacts, RunId, Store};
use scenario::{Execute, Floors, JourneyPlan, JourneyResult, MeasuredVisit};
use scenario::{NetworkSpec, Noise, Protocol, Scenario, Tls, View};
use scenario::{Order, Plan};

const MS: u64 = 1_000_000;
const BODY_BYTES: u64 = 10_000;

/// Two protocols over two round-trip times.
pub fn plan(repetitions: u32) -> Plan {
    Plan::new("toy", 1, repetitions, Order::Blocked, cells(&["synthetic:24x10KB"], &[50, 200]))
}

/// Two protocols per page and round-trip time.
pub fn cells(pages: &[&str], rtts_ms: &[u64]) -> Vec<Scenario> {
    let mut cells = Vec::new();
    for page in pages {
        for rtt_ms in rtts_ms {
            for protocol in [Protocol::H1, Protocol::H2] {
                let text = format!("rtt={rtt_ms}ms,down=10mbit,up=5mbit,queue=100pkt");
                let network = NetworkSpec::parse(&text).expect("a network");
                let mut scenario = Scenario::new(*page, network);
                scenario.stack.protocol = protocol;
                cells.push(scenario);
            }
        }
    }
    cells
}

/// Loads a page of equal images by rules of thumb.
pub struct Toy;

impl Execute for Toy {
    fn execute(&self, journey: &JourneyPlan) -> JourneyResult {
        let views = match journey.scenario.client.view {
            View::Both => vec!["cold", "warm"],
            one => vec![one.name(); journey.scenario.visits_each() as usize],
        };
        let mut pages = journey.scenario.page.pages.iter().cycle();
        let mut visits = Vec::new();
        for (index, view) in (0..).zip(views) {
            let mut visit = visit(journey, index, view);
            visit.record.page = pages.next().cloned();
            visits.push(visit);
        }
        let notes = vec!["toy network: no packets are simulated".to_owned()];
        JourneyResult { visits, notes, failure: None }
    }
}

/// One visit under construction.
struct ToyLoad {
    rtt_ns: u64,
    serialisation_ns: u64,
    host: String,
    object_count: u32,
    page_bytes: u64,
    protocol: Protocol,
    tls: Tls,
    noise: RandomStream,
    noisy: bool,
}

impl ToyLoad {
    /// `ns`, five per cent up or down.
    fn vary(&mut self, ns: u64) -> u64 {
        let factor = 1.0 + 0.05 * (2.0 * self.noise.unit() - 1.0);
        if self.noisy { (ns as f64 * factor) as u64 } else { ns }
    }

    fn tls_ns(&self) -> u64 {
        match self.tls {
            Tls::None => 0,
            Tls::Tls10 | Tls::Tls12 => 2 * self.rtt_ns,
            Tls::Tls13 => self.rtt_ns,
        }
    }
}

fn visit(journey: &JourneyPlan, index: u32, view: &str) -> MeasuredVisit {
    let scenario = &journey.scenario;
    let mut load = ToyLoad {
        rtt_ns: scenario.network.rtt_ns.unwrap_or(100 * MS),
        serialisation_ns: 8 * MS,
        host: "toy.test".to_owned(),
        object_count: object_count(&scenario.page.spec),
        page_bytes: 1_000 * scenario.page.spec.len() as u64,
        protocol: scenario.stack.protocol,
        tls: scenario.stack.tls,
        noise: RandomSource::new(journey.seed, u64::from(index)).stream("toy"),
        noisy: scenario.noise == Noise::On,
    };
    let is_h1 = matches!(load.protocol, Protocol::H10 | Protocol::H1 | Protocol::H1Pipelined);
    let lanes = if is_h1 { 6 } else { 1 };
    let objects = objects(&mut load, lanes);
    let record = record(&load, index, view, lanes, objects);
    let graph_ns = 3 * load.rtt_ns / 2 + u64::from(load.object_count) * load.serialisation_ns;
    let floors = Floors {
        graph_ns,
        oracle_ns: graph_ns - load.rtt_ns / 2,
        graph_without_compute_ns: graph_ns - MS,
        oracle_without_compute_ns: graph_ns - load.rtt_ns / 2 - MS,
    };
    let plt_ns = record.plt_ns().unwrap_or_default();
    let step = record::PathStep {
        object: 0,
        cause: record::PathCause::Handshake,
        from_ns: 0,
        until_ns: plt_ns,
        excess_ns: plt_ns as i64 - floors.graph_ns as i64,
    };
    let critical_path = Some(record::CriticalPath { steps: vec![step] });
    MeasuredVisit { floors: Some(floors), critical_path, ..MeasuredVisit::new(record) }
}

/// The first number in a page's name, from 2 on; 24 if there is none.
fn object_count(spec: &str) -> u32 {
    let digits = spec.split(|c: char| !c.is_ascii_digit()).find(|part| !part.is_empty());
    digits.and_then(|number| number.parse().ok()).unwrap_or(24).max(2)
}

fn objects(load: &mut ToyLoad, lanes: u32) -> Vec<ObjectRecord> {
    let document_phases = Phases {
        dns_ns: 2 * MS,
        connect_ns: load.rtt_ns,
        tls_ns: load.tls_ns(),
        send_ns: MS / 10,
        wait_ns: load.vary(load.rtt_ns + 20 * MS),
        receive_ns: load.vary(10 * MS),
        ..Phases::default()
    };
    let mut objects = vec![object(load, 0, 0, document_phases)];
    let discovered = document_phases.total_ns();
    let mut free_at = vec![discovered; lanes as usize];
    for index in 1..load.object_count {
        let lane = index % lanes;
        let opens = lanes > 1 && lane != 0 && index < lanes;
        let (connect_ns, tls_ns) = if opens { (load.rtt_ns, load.tls_ns()) } else { (0, 0) };
        let queue_ns = u64::from(index) * load.serialisation_ns;
        let blocked_ns = if lanes == 1 { 0 } else { free_at[lane as usize] - discovered };
        let wait_ns = if lanes == 1 { load.rtt_ns + queue_ns } else { load.rtt_ns };
        let phases = Phases {
            blocked_ns,
            connect_ns,
            tls_ns,
            send_ns: MS / 10,
            wait_ns: load.vary(wait_ns),
            receive_ns: load.vary(load.serialisation_ns * u64::from(lanes)),
            ..Phases::default()
        };
        free_at[lane as usize] = discovered + phases.total_ns();
        let mut object = object(load, index, discovered, phases);
        object.connection = Some(lane);
        object.reused = !opens;
        objects.push(object);
    }
    objects
}

fn object(load: &ToyLoad, index: u32, discovered_at_ns: u64, phases: Phases) -> ObjectRecord {
    let scheme = if load.tls == Tls::None { "http" } else { "https" };
    let path = if index == 0 { String::new() } else { format!("image-{index:02}.png") };
    ObjectRecord {
        object: index,
        url: format!("{scheme}://{}/{path}", load.host),
        method: "GET".to_owned(),
        kind: if index == 0 { "Document" } else { "Image" }.to_owned(),
        status: 200,
        protocol: load.protocol.name().to_owned(),
        connection: Some(0),
        reused: false,
        discovered_at_ns,
        revealed_by: None,
        revealed_at_ns: None,
        phases,
        done_at_ns: discovered_at_ns + phases.total_ns() + MS,
        request_header_bytes: 180,
        request_body_bytes: 0,
        response_header_bytes: 240,
        body_bytes: if index == 0 { load.page_bytes } else { BODY_BYTES },
        priority: if index == 0 { "Highest" } else { "Low" }.to_owned(),
        blocks_render: false,
        error: None,
    }
}

fn series(plt_ns: u64) -> record::Series {
    let window = record::WindowSample { at_ns: plt_ns / 3, cwnd: 10, ..Default::default() };
    record::Series {
        windows: vec![window, record::WindowSample { ssthresh: Some(5), ..window }],
        packets: vec![record::PacketSize { wire_bytes: 1500, down: plt_ns / 1_000_000, up: 3 }],
        ..record::Series::default()
    }
}

fn record(
    load: &ToyLoad,
    index: u32,
    view: &str,
    lanes: u32,
    objects: Vec<ObjectRecord>,
) -> VisitRecord {
    let plt_ns = objects.iter().map(|o| o.done_at_ns).max().expect("there are objects");
    let first = objects[0].phases;
    let event = |at_ns, kind, connection| TcpEvent {
        at_ns,
        kind,
        object: None,
        connection,
        detail: "toy".to_owned(),
    };
    VisitRecord {
        index,
        view: view.to_owned(),
        page: None,
        activity: record::NetworkActivity::default(),
        started_at_ns: 0,
        outcome: VisitOutcome::Loaded { plt_ns },
        ttfb_ns: Some(first.total_ns() - first.receive_ns),
        connections: (0..lanes).map(|lane| connection(load, lane, &objects, plt_ns)).collect(),
        links: vec![link("down"), link("up")],
        wire_bytes_down: objects.iter().map(|o| o.body_bytes + o.response_header_bytes + 400).sum(),
        wire_bytes_up: objects.iter().map(|o| o.request_header_bytes + 200).sum(),
        objects,
        events: vec![
            event(0, EventKind::Start, None),
            event(plt_ns / 2, EventKind::Retransmit, Some(0)),
            event(plt_ns, EventKind::Load, None),
        ],
        queue_drops: 1,
        losses: 0,
        trace_digest: Some(plt_ns.rotate_left(40)),
        emulation: Some(record::EmulationRecord {
            delivered_packets: plt_ns / 1_000_000,
            late_p50_ns: 20_000,
            late_p99_ns: 300_000,
            late_max_ns: 2_000_000,
            realtime: true,
            attempts: 1,
            kernel: "toy".to_owned(),
        }),
        paint: Some(record::Paint {
            first_paint_ns: Some(plt_ns / 3),
            first_contentful_paint_ns: Some(plt_ns / 2),
            ..record::Paint::default()
        }),
        radio: Some(record::RadioRecord {
            radio: "radio=umts".to_owned(),
            promotions: 1,
            energy_uj: plt_ns / 1000,
            tail_uj: 6_000_000,
            states: vec![record::RadioStateRecord {
                state: "CELL_DCH".to_owned(),
                span_ns: plt_ns,
                energy_uj: plt_ns / 1000,
            }],
            ..record::RadioRecord::default()
        }),
        series: Some(series(plt_ns)),
    }
}

/// A link that carried one packet.
fn link(name: &str) -> LinkRecord {
    LinkRecord {
        name: name.to_owned(),
        configured_bit_per_s: Some(10_000_000),
        offered_packets: 1,
        delivered_packets: 1,
        ..LinkRecord::default()
    }
}

fn connection(
    load: &ToyLoad,
    lane: u32,
    objects: &[ObjectRecord],
    plt_ns: u64,
) -> ConnectionRecord {
    let carried = || objects.iter().filter(move |o| o.connection == Some(lane));
    let opened_at_ns = if lane == 0 { 2 * MS } else { objects[1].discovered_at_ns };
    let connected_at_ns = opened_at_ns + load.rtt_ns;
    ConnectionRecord {
        host: load.host.clone(),
        protocol: load.protocol.name().to_owned(),
        tls: load.tls.name().to_owned(),
        opened_at_ns,
        connected_at_ns: Some(connected_at_ns),
        secured_at_ns: (load.tls != Tls::None).then(|| connected_at_ns + load.tls_ns()),
        closed_at_ns: None,
        requests: carried().count() as u32,
        bytes_up: carried().map(|o| o.request_header_bytes).sum(),
        bytes_down: carried().map(|o| o.response_header_bytes + o.body_bytes).sum(),
        retransmits_down: Some(u32::from(lane == 0)),
        retransmits_up: Some(0),
        timeouts_down: 0,
        srtt_down_ns: load.rtt_ns,
        cwnd_down: 20,
        busy_ns: plt_ns / 2,
        flow_limited_ns: 0,
    }
}

/// A store in a temporary directory that is removed with it.
pub struct FilledStore {
    _directory: tempfile::TempDir,
    /// The store.
    pub store: Store,
    /// Its only run.
    pub run: RunId,
}

/// Facts for a toy run's `run` row.
pub fn facts() -> RunFacts {
    RunFacts {
        experiment: None,
        command: "farlink run toy.toml".to_owned(),
        machine: "a test".to_owned(),
        workers: 2,
        started_at: "2026-01-01T00:00:00Z".to_owned(),
    }
}

/// A store that holds a finished toy run of `plan`.
pub fn filled_store(plan: &Plan) -> FilledStore {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let mut store = Store::create(&directory.path().join("store")).expect("a store");
    let run = finish(&mut store, plan);
    FilledStore { _directory: directory, store, run }
}

/// Runs a plan into a store, to its end.
pub fn finish(store: &mut Store, plan: &Plan) -> RunId {
    let run = store.begin_run(plan, &facts()).expect("a run");
    let idle = AtomicBool::new(false);
    runner::run(store, run, plan, &Toy, 2, &idle, &mut |_| {}).expect("journeys stored");
    store.finish_run(run, "2026-01-01T00:00:01Z").expect("a finished run");
    run
}
