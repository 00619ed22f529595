//! Time series of visits: they agree with the visit's counts, and do not affect it.

use crate::common;

use common::{bare, journey};
use farlink_testbed::simulate::Simulator;
use record::{EventKind, Proxied, Series, VisitRecord};
use scenario::{Execute, MeasuredVisit};
use scenario::{Protocol, Scenario, Tls};

const LINK: &str = "rtt=100ms,down=4mbit,up=1mbit,queue=100pkt";
const ALL: &str = "windows,throughput,packets,radio,departures";

fn visits(mut scenario: Scenario, record: &str) -> Vec<VisitRecord> {
    scenario.record = record.parse().unwrap();
    assert_eq!(scenario.contradiction(), None);
    let result = Simulator::default().execute(&journey(scenario, 1));
    assert_eq!(result.failure, None);
    result.visits.into_iter().map(|MeasuredVisit { record, .. }| record).collect()
}

fn series(record: &VisitRecord) -> &Series {
    record.series.as_ref().expect("it was asked for")
}

#[test]
fn what_was_recorded_adds_up_and_changes_nothing() {
    let scenario = bare("synthetic:30x20KB", LINK, Protocol::H1, Tls::None);
    let record = visits(scenario.clone(), ALL).remove(0);
    let recorded = series(&record);
    let sum = |of: fn(&record::Interval) -> u64| recorded.throughput.iter().map(of).sum::<u64>();
    assert_eq!(sum(|it| it.bytes_down), record.wire_bytes_down);
    assert_eq!(sum(|it| it.bytes_up), record.wire_bytes_up);
    let sizes = &recorded.packets;
    let down: u64 = sizes.iter().map(|size| u64::from(size.wire_bytes) * size.down).sum();
    assert_eq!(down, record.wire_bytes_down);
    for (number, connection) in (0..).zip(&record.connections) {
        let mut its = recorded.windows.iter().filter(|window| window.connection == number);
        assert_eq!(its.next_back().map(|window| window.cwnd), Some(connection.cwnd_down));
    }
    assert!(recorded.radio.is_empty(), "there is none");
    let without = visits(scenario, "").remove(0);
    assert_eq!(VisitRecord { series: None, ..record }, without);
}

#[test]
fn responses_leave_a_proxy_after_they_came_and_before_they_arrive() {
    for protocol in [Protocol::H1, Protocol::Spdy] {
        let mut scenario = bare("synthetic:40x20KB", LINK, protocol, Tls::None);
        scenario.route = "proxy,rtt=10ms".parse().unwrap();
        let record = visits(scenario, "departures").remove(0);
        let departures = &series(&record).departures;
        assert_eq!(departures.len(), record.objects.len());
        let mut longest = 0;
        for event in record.events.iter().filter(|event| event.kind == EventKind::Proxied) {
            let proxied = Proxied::read(event.at_ns, &event.detail).unwrap();
            let object = event.object.expect("it is the page's");
            let its = departures.iter().find(|it| it.object == object).unwrap();
            let seen = &record.objects[object as usize];
            let done = seen.discovered_at_ns + seen.phases.total_ns();
            let begun = done - seen.phases.receive_ns;
            assert!(its.first_at_ns >= proxied.origin_first_ns.unwrap(), "{protocol}: {its:?}");
            // Propagation is 50 ms one way; the rest is the link's queue.
            assert!(its.first_at_ns + 50_000_000 <= begun, "{protocol}: {its:?}, {begun}");
            assert!(its.first_at_ns <= its.last_at_ns && its.last_at_ns + 50_000_000 <= done);
            longest = longest.max(its.first_at_ns.saturating_sub(proxied.origin_last_ns.unwrap()));
        }
        // Responses that share a connection wait for each other.
        assert_eq!(longest > 100_000_000, protocol == Protocol::Spdy, "{protocol}: {longest}");
    }
}

#[test]
fn a_radios_timers_show_between_visits() {
    let network = "rtt=100ms,down=8mbit,up=2mbit,queue=100pkt,radio=umts";
    let mut scenario = bare("synthetic:3x5KB", network, Protocol::H1, Tls::None);
    scenario.journey.times = 2;
    scenario.journey.pace = "every=60s".parse().unwrap();
    let records = visits(scenario, "radio,windows");
    let near = |value: u64, expected: f64| (value as f64 / 1e9 / expected - 1.0).abs() < 0.05;
    let steps = &series(&records[1]).radio;
    let changes: Vec<(&str, &str)> =
        steps.iter().map(|step| (step.from.as_str(), step.to.as_str())).collect();
    let expected = [
        ("CELL_DCH", "CELL_FACH"),
        ("CELL_FACH", "IDLE"),
        ("IDLE", "IDLE to DCH"),
        ("IDLE to DCH", "CELL_DCH"),
    ];
    assert_eq!(changes, expected);
    assert!(near(steps[0].quiet_ns.unwrap_or_default(), 5.0), "{steps:?}");
    assert!(near(steps[1].at_ns - steps[0].at_ns, 12.0), "{steps:?}");
    assert!(near(steps[3].at_ns - steps[2].at_ns, 2.0), "{steps:?}");
    assert_eq!(
        steps.iter().map(|step| step.by_packet).collect::<Vec<_>>(),
        [false, false, true, false]
    );
    assert!(series(&records[1]).since_ns > records[0].started_at_ns);
}
