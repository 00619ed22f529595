//! The running kernel's TCP and the simulated one, over the same link: short flows, compared.

mod inside;
mod patience;

use std::time::Duration;

use congestion::Algorithm;
use farlink_emu::flow::{
    ComparedFlow, FlowBuffers, FlowComparison, RequestResponse, measure, simulate,
};
use net::QueueLimit;
use patience::Attempt;
use tcp::Config;
use units::BitsPerSec;

/// Tolerance of completion times, 15 ms here: the machine's share is a few wake-ups.
const TOLERANCE: f64 = 0.02;
/// Tolerance on a machine that is never on time.
const LOOSE_TOLERANCE: f64 = 0.1;

#[test]
fn as_root() {
    inside::as_root("as_root", compare_flows);
}

#[test]
fn as_an_ordinary_user() {
    inside::as_an_ordinary_user("as_an_ordinary_user", compare_flows);
}

fn flow(congestion: Algorithm, drops: &[u64]) -> ComparedFlow {
    ComparedFlow {
        rate: BitsPerSec::mbit(10),
        rtt: Duration::from_millis(60),
        queue: QueueLimit::Packets(200),
        drops: drops.to_vec(),
        buffers: FlowBuffers::Autotuned,
        congestion,
        exchanges: vec![RequestResponse { think: Duration::ZERO, response_bytes: 600_000 }],
    }
}

fn compare_flows() {
    compare_flow(&flow(Algorithm::Reno, &[]));
    compare_flow(&flow(Algorithm::Cubic, &[60]));
}

fn compare_flow(flow: &ComparedFlow) {
    let simulated = simulate(flow, &Config::default(), 0);
    patience::agree(|| {
        let measured = measure(flow).unwrap_or_else(|error| panic!("{error}"));
        let comparison = FlowComparison {
            kernel: &measured.trace,
            simulated: &simulated,
            total_bytes: flow.total_bytes(),
        };
        let ratio = comparison.ratio().expect("both complete");
        let retransmissions = comparison.retransmissions();
        println!("{:?}: {:?}, {}", flow.congestion, comparison.completion(), measured.punctuality);
        let within = move |tolerance: f64| {
            let holds = (ratio - 1.0).abs() < tolerance;
            holds.then_some(()).ok_or(format!("completion differs by {ratio}"))
        };
        let same = match &retransmissions {
            None => Ok(()),
            Some(differ) => Err(format!("retransmissions differ by {differ:?}")),
        };
        Attempt {
            strictly: within(TOLERANCE).and(same),
            loosely: move || within(LOOSE_TOLERANCE),
            validity: measured.invalid.map_or(Ok(()), Err),
        }
    });
}
