//! Quantities of hand-made loads.

use record::{
    Departure, EventKind, Interval, PacketSize, Phases, Proxied, RadioStep, RetransmitDetail,
    Series, TcpEvent, WindowSample,
};

use super::*;
use crate::judge::Clauses;
use crate::shipped;
use store::toy;

const MS: u64 = 1_000_000;

#[test]
fn only_a_single_query_is_a_quantity() {
    let queries = |kind: &str, sql: &str| {
        let terms = format!("statistic = 'median'\n[{kind}]\nown = \"{sql}\"");
        let terms: Terms = toml::from_str(&terms).unwrap();
        Queries::new(&terms).map(|_| ())
    };
    for kind in ["quantity", "view"] {
        assert_eq!(queries(kind, "SELECT plt_ns FROM visit"), Ok(()));
        for sql in [
            "ATTACH DATABASE 'other.db' AS other",
            "SELECT 1; ATTACH DATABASE 'other.db' AS other",
            "VACUUM INTO 'copy.db'",
            "DELETE FROM visit RETURNING 1",
            "SELECT plt FROM visit",
        ] {
            let refused = queries(kind, sql).unwrap_err();
            assert!(refused.starts_with(&format!("[{kind}.own]: ")), "{sql}: {refused}");
        }
    }
}

fn window(connection: u32, at_ms: u64, in_flight: u32, cwnd: u32) -> WindowSample {
    WindowSample {
        connection,
        at_ns: at_ms * MS,
        cwnd,
        ssthresh: Some(40),
        in_flight,
        in_flight_bytes: u64::from(in_flight) * 1000,
        srtt_ns: 100 * MS,
        rto_ns: 300 * MS,
        ..WindowSample::default()
    }
}

fn step(at_ms: u64, from: &str, to: &str, by_packet: bool, quiet_ms: Option<u64>) -> RadioStep {
    let (from, to) = (from.to_owned(), to.to_owned());
    RadioStep { at_ns: at_ms * MS, from, to, by_packet, quiet_ns: quiet_ms.map(|ms| ms * MS) }
}

/// A load from 10 s to 14 s after the journey began; the radio's promotion takes its first 2 s.
fn series() -> Series {
    let fallen = |sample| WindowSample { ssthresh: Some(20), ..sample };
    let slow = |sample| WindowSample { rto_ns: 3000 * MS, ..sample };
    Series {
        since_ns: 5000 * MS,
        windows: vec![
            // Kept from before, with a timeout longer than the promotion: idle for 11 s, which is longer
            // than the timeout.
            slow(window(0, 1000, 0, 40)),
            slow(window(0, 12_000, 8, 10)),
            fallen(window(0, 12_500, 4, 10)),
            fallen(window(0, 13_000, 0, 10)),
            // The load's own connection: new, then idle for 1 s.
            window(1, 12_000, 0, 10),
            window(1, 12_100, 12, 10),
            window(1, 12_500, 0, 12),
            window(1, 13_500, 10, 10),
        ],
        throughput: [
            vec![Interval::default(); 20],
            vec![of_bytes(2000), of_bytes(0), of_bytes(1000)],
        ]
        .concat(),
        packets: vec![size(52, 2, 5), size(79, 0, 1), size(80, 1, 0), size(1452, 10, 1)],
        radio: vec![
            step(6000, "CELL_DCH", "CELL_FACH", false, Some(4950)),
            step(8000, "CELL_FACH", "IDLE", false, Some(6950)),
            step(10_000, "IDLE", "IDLE to DCH", true, Some(8950)),
            step(12_000, "IDLE to DCH", "CELL_DCH", false, Some(10_950)),
        ],
        departures: Vec::new(),
    }
}

fn of_bytes(bytes_down: u64) -> Interval {
    Interval { bytes_down, bytes_up: 9 }
}

fn size(wire_bytes: u32, down: u64, up: u64) -> PacketSize {
    PacketSize { wire_bytes, down, up }
}

fn event(at_ms: u64, kind: EventKind, connection: u32, detail: String) -> TcpEvent {
    TcpEvent { at_ns: at_ms * MS, kind, object: None, connection: Some(connection), detail }
}

fn any() -> (VisitRow, ObjectRecord) {
    let filled = toy::filled_store(&toy::plan(1));
    let visit = filled.store.visits(filled.run).unwrap().remove(0);
    let object = filled.store.objects(visit.key).unwrap().remove(0);
    (visit, object)
}

fn of(study: &str) -> impl Fn(Load<'_>, &str) -> Option<f64> {
    let queries = Clauses::of_study(&shipped(study).unwrap()).unwrap().terms.queries();
    move |load, quantity| {
        assert!(queries.quantities.contains_key(quantity), "{quantity}");
        let wanted = BTreeSet::from([quantity.to_owned()]);
        queries.values(load, &wanted).unwrap().first().map(|(_, value)| *value)
    }
}

fn near(value: Option<f64>, expected: f64, quantity: &str) {
    let value = value.unwrap_or_else(|| panic!("{quantity} is there"));
    assert!((value - expected).abs() < 1e-9, "{quantity}: {value}, not {expected}");
}

#[test]
fn a_load_that_failed_has_no_time() {
    let (mut visit, _) = any();
    let of = of("bth2013");
    let of = |quantity: &str, visit: &VisitRow| {
        of(Load { visit, objects: &[], connections: &[], events: &[], series: None }, quantity)
    };
    assert_eq!(of("failed", &visit), Some(0.0));
    assert_eq!(of("set_up", &visit), None);
    visit.plt_ns = None;
    assert_eq!((of("plt", &visit), of("throughput", &visit)), (None, None));
    assert_eq!(of("failed", &visit), Some(100.0));
}

#[test]
fn objects_by_hand() {
    // A document from 0 to 100 ms, then two requests, at 100 and at 160 ms, that overlap.
    let (mut visit, any) = any();
    (visit.started_at_ns, visit.plt_ns) = (0, Some(1000 * MS));
    let object = |object, discovered_ms: u64, blocked_ms: u64, wait_ms: u64, receive_ms: u64| {
        let [blocked_ns, wait_ns, receive_ns] = [blocked_ms, wait_ms, receive_ms].map(|ms| ms * MS);
        let phases = Phases { blocked_ns, wait_ns, receive_ns, ..Phases::default() };
        ObjectRecord { object, discovered_at_ns: discovered_ms * MS, phases, ..any.clone() }
    };
    let objects = [object(0, 0, 0, 80, 20), object(1, 100, 0, 50, 100), object(2, 100, 60, 40, 10)];
    let load =
        Load { visit: &visit, objects: &objects, connections: &[], events: &[], series: None };
    let (cardaci, erman) = (of("cardaci2015"), of("erman2013"));
    for (quantity, expected) in [
        ("wait", 0.05),
        ("receive", 0.02),
        ("init_and_wait", 0.08),
        ("blocked_below_50ms", 200.0 / 3.0),
        ("half_of_objects", 0.21),
    ] {
        near(cardaci(load, quantity), expected, quantity);
    }
    for (quantity, expected) in [
        ("concurrency", 2.0),
        ("requested_after_document", 0.054),
        ("mean_wait", 0.17 / 3.0),
        ("longest_gap", 62.5),
        ("objects", 3.0),
        ("hosts", 1.0),
    ] {
        near(erman(load, quantity), expected, quantity);
    }
    assert_eq!(erman(load, "request_gaps"), None, "the round trip is not known");
}

#[test]
fn over_time_by_hand() {
    let (mut visit, _) = any();
    (visit.started_at_ns, visit.plt_ns) = (10_000 * MS, Some(4000 * MS));
    let again = RetransmitDetail { sender: "server", cause: "timeout", needless: true }.to_string();
    let promotion = "IDLE to DCH, by a packet of 52 bytes up".to_owned();
    let events = [
        event(10_000, EventKind::Radio, 0, promotion),
        event(12_000, EventKind::Radio, 0, "CELL_DCH, by a timer".to_owned()),
        event(12_900, EventKind::Retransmit, 0, again.clone()),
        event(13_900, EventKind::Retransmit, 1, again),
    ];
    let series = series();
    let load = Load {
        visit: &visit,
        objects: &[],
        connections: &[],
        events: &events,
        series: Some(&series),
    };
    let (cardaci, erman) = (of("cardaci2015"), of("erman2013"));
    for (quantity, expected) in [
        // 8 KB and 4 KB for half a second each; 12 KB for 0.4 s and 10 KB for 0.5 s: in 4 s.
        ("in_flight", (4.0 + 2.0 + 4.8 + 5.0) * 1000.0 / 4.0),
        // At most 20 KB, 8 + 12; half of it is reached with those.
        ("half_of_in_flight", 2.1),
        ("window_filled", 100.0 * 1.4 / 1.9),
        ("window_overfilled", 100.0 * 0.4 / 1.9),
        ("threshold_drops", 1.0),
        ("window_after_idle", 10.0),
        ("threshold_kept", 100.0),
        ("window_after_short_idle", 10.0),
        ("sent_again_after_short_idle", 1.0),
        ("sent_again_despite_timeout", 1.0),
        ("long_timeouts", 1.0),
        ("short_idles", 1.0),
        ("second_1", 0.0),
        ("second_3", 24.0),
        ("second_10", 0.0),
        ("promotion", 2.0),
        ("quiet_before_fach", 4.95),
        ("quiet_in_fach", 2.0),
        ("quiet_before_idle", 6.95),
    ] {
        near(erman(load, quantity), expected, quantity);
        if !quantity.starts_with("sent_again") {
            assert_eq!(erman(Load { series: None, ..load }, quantity), None, "{quantity}");
        }
    }
    for (quantity, expected) in
        [("peak_to_mean", 2.0), ("tiny_packets", 8.0), ("tiny_share", 40.0), ("large_share", 55.0)]
    {
        near(cardaci(load, quantity), expected, quantity);
        assert_eq!(cardaci(Load { series: None, ..load }, quantity), None, "{quantity}");
    }
}

#[test]
fn retransmissions_are_told_by_promotions_and_bursts() {
    let again = |at, connection, detail: &str| {
        event(at, EventKind::Retransmit, connection, detail.to_owned())
    };
    let events = [
        event(0, EventKind::Radio, 0, "IDLE to DCH, by a packet of 52 bytes up".to_owned()),
        event(2000, EventKind::Radio, 0, "CELL_DCH, by a timer".to_owned()),
        again(2500, 0, "server, timeout, needless"),
        again(2600, 1, "server, timeout, needless"),
        again(2700, 1, "client, timeout, needless"),
        again(6000, 1, "server, timeout, needless"),
        again(7500, 2, "server, fast retransmit"),
    ];
    let (visit, _) = any();
    let erman = of("erman2013");
    let of = |events: &[TcpEvent], quantity| {
        erman(
            Load { visit: &visit, objects: &[], connections: &[], events, series: None },
            quantity,
        )
    };
    assert_eq!(of(&events, "sent_again"), Some(4.0));
    assert_eq!(of(&events, "sent_again_needlessly"), Some(3.0));
    assert_eq!(of(&events, "sent_again_after_promotion"), Some(2.0));
    assert_eq!(of(&events, "connections_hit"), Some(1.0));
    assert_eq!(of(&events[..4], "connections_hit"), Some(2.0));
    assert_eq!(of(&[], "connections_hit"), None);
}

#[test]
fn a_proxys_steps_by_hand() {
    let proxied = |object: u32, first: u64, last: u64| {
        let proxied = Proxied {
            url: "http://a.test/".to_owned(),
            outcome: "passed".to_owned(),
            asked_at_ns: 1000 * MS,
            origin_first_ns: Some((1000 + first) * MS),
            origin_last_ns: Some((1000 + last) * MS),
            ..Proxied::default()
        };
        TcpEvent { object: Some(object), ..event(1000, EventKind::Proxied, 0, proxied.detail()) }
    };
    let events = [proxied(0, 10, 14), proxied(1, 10, 18), proxied(2, 14, 20)];
    let left = |object, first: u64, last: u64| {
        let [first_at_ns, last_at_ns] = [first, last].map(|at| (1000 + at) * MS);
        Departure { object, first_at_ns, last_at_ns }
    };
    // The second begins to leave before it is complete.
    let departures = vec![left(0, 64, 100), left(1, 12, 25), left(2, 100, 200)];
    let series = Series { departures, ..Series::default() };
    let (visit, _) = any();
    let load = Load {
        visit: &visit,
        objects: &[],
        connections: &[],
        events: &events,
        series: Some(&series),
    };
    let erman = of("erman2013");
    near(erman(load, "origin_download"), 0.006, "origin_download");
    near(erman(load, "proxy_queue"), 0.05, "proxy_queue");
    near(erman(load, "origin_share"), 18.0, "origin_share");
    assert_eq!(erman(Load { series: None, ..load }, "proxy_queue"), None);
    assert_eq!(of("cardaci2015")(load, "promised"), None);
}

#[test]
fn an_amount_is_spread_over_the_seconds_that_it_takes() {
    let mut seconds = Vec::new();
    spread(&mut seconds, 0.5, 2.5, 100.0);
    spread(&mut seconds, 2.25, 2.25, 7.0);
    assert_eq!(seconds, [25.0, 50.0, 32.0]);
}
