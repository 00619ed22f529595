//! Effect on loads of packet-based and timed bursts with the same mean loss.

use crate::common;

use common::{bare, visit};

use farlink_testbed::simulate::Simulator;
use scenario::{Protocol, Tls};

const LOADS: u64 = 150;
const LINK: &str = "rtt=40ms,down=10mbit,up=5mbit,queue=100pkt";

/// The load times of a page in seconds, by seed; infinite for a failed load.
fn loads(bursts: &str) -> Vec<f64> {
    let load = |seed| {
        let network = format!("{LINK},{bursts}");
        let scenario = bare("synthetic:6x300KB", &network, Protocol::H2, Tls::Tls13);
        let plt_ns = visit(&Simulator::default(), scenario, seed).record.plt_ns();
        plt_ns.map_or(f64::INFINITY, |ns| ns as f64 / 1e9)
    };
    (0..LOADS).map(load).collect()
}

fn longer_than(seconds: f64, loads: &[f64]) -> usize {
    loads.iter().filter(|plt| **plt > seconds).count()
}

/// A burst of four packets, at 1.2 ms a packet, lasts for 4.8 ms. A flow that has backed off outlasts a timed
/// burst; if only packets end a burst, it spends its retries in it.
#[test]
fn a_flow_that_backs_off_outlasts_a_burst_of_time_and_not_one_of_packets() {
    let of_packets = loads("gemodel=1% 25%");
    assert!(longer_than(60.0, &of_packets) >= 5, "{of_packets:?}");
    assert!(longer_than(600.0, &of_packets) >= 1, "some do not load at all: {of_packets:?}");
    // The same mean loss, in equally short bursts and ones twenty times as long.
    for of_time in ["gemodel-time=120ms 4.8ms", "gemodel-time=2400ms 96ms"] {
        let plts = loads(of_time);
        assert_eq!(longer_than(60.0, &plts), 0, "{of_time}: {plts:?}");
    }
}
