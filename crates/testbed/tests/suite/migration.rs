//! A client whose address changes while the page loads.

use crate::common;

use common::{bare, journey};
use farlink_testbed::simulate::Simulator;
use scenario::{Execute, JourneyResult};
use scenario::{Protocol, Tls};

fn load(protocol: Protocol, quic: &str) -> JourneyResult {
    let network = "rtt=80ms,down=8mbit,up=2mbit,queue=100pkt";
    let mut scenario = bare("synthetic:100x10KB", network, protocol, Tls::Tls13);
    scenario.quic = quic.parse().unwrap();
    assert_eq!(scenario.contradiction(), None);
    let result = Simulator::default().execute(&journey(scenario, 1));
    assert_eq!(result.failure, None);
    result
}

#[test]
fn the_page_loads_on_and_the_result_says_why() {
    for protocol in [Protocol::H3Deployed, Protocol::H3Matched] {
        let plt = |of: &JourneyResult| of.visits[0].record.plt_ns().expect("the page loads");
        let (stayed, moved) = (load(protocol, ""), load(protocol, "migrate-at=500ms"));
        assert_ne!(plt(&stayed), plt(&moved), "{protocol}: it makes a difference");
        // Packets in flight to the old port still arrive.
        assert!(plt(&moved) < plt(&stayed) + 160_000_000, "{protocol}");
        assert!(moved.visits[0].record.objects.iter().all(|object| object.error.is_none()));
        let note = |of: &JourneyResult| of.notes.iter().any(|note| note.contains("port"));
        assert!(note(&moved) && !note(&stayed), "{protocol}: {:?}", moved.notes);
        // A migration after the load has no effect.
        assert_eq!(plt(&load(protocol, "migrate-at=1h")), plt(&stayed), "{protocol}");
    }
}
