//! What a browser's connection policy comes to in a load.

mod common;

use common::{bare, visit};
use farlink_lab::scenario::{Protocol, Scenario, Tls};
use farlink_lab::simulate::Simulator;
use record::VisitRecord;

const NETWORK: &str = "rtt=100ms,down=10mbit,up=5mbit,queue=500pkt";

fn load(scenario: Scenario) -> VisitRecord {
    let record = visit(&Simulator::default(), scenario, 1).record;
    assert!(record.plt_ns().is_some(), "{:?}", record.outcome);
    assert!(record.objects.iter().all(|object| object.error.is_none()), "{:?}", record.objects);
    record
}

fn plt_ms(record: &VisitRecord) -> f64 {
    record.plt_ns().unwrap() as f64 / 1e6
}

#[test]
fn http_1_0_opens_a_connection_for_each_request() {
    for tls in [Tls::None, Tls::Tls13] {
        let [old, new] = [Protocol::H10, Protocol::H1]
            .map(|protocol| load(bare("synthetic:30x10KB@2hosts", NETWORK, protocol, tls)));
        assert_eq!(old.connections.len(), old.objects.len());
        for connection in &old.connections {
            assert_eq!((connection.protocol.as_str(), connection.requests), ("h1.0", 1));
            assert!(connection.closed_at_ns.is_some());
        }
        assert!(old.objects.iter().all(|object| !object.reused && object.protocol == "h1.0"));
        assert!(new.connections.len() < old.connections.len());
        assert!(plt_ms(&old) > 1.2 * plt_ms(&new), "{} {}", plt_ms(&old), plt_ms(&new));
    }
}
