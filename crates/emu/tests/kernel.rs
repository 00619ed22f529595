//! The running kernel's TCP and the simulated one, over the same link: short flows, compared.
//!
//! Each case runs this test program again, in namespaces of its own: as root where the caller is root, and always as root of a new user
//! namespace, which is what an ordinary user gets. Where the machine forbids user namespaces that case is skipped, and says so; in
//! continuous integration it fails instead.

use std::process::Command;
use std::time::Duration;

use congestion::Algorithm;
use farlink_emu::flow::{Buffers, Comparison, Exchange, Flow, measure, simulate};
use farlink_emu::{Privilege, isolated};
use net::QueueLimit;
use tcp::Config;
use units::BitsPerSec;

/// Set in the program that runs inside.
const INSIDE: &str = "FARLINK_EMU_TEST_INSIDE";
/// A machine that is busy for a moment spoils one attempt, not all.
const ATTEMPTS: u32 = 6;
/// Completion may differ by so much, which is 15 ms here: the machine's share is a few wake-ups.
const TOLERANCE: f64 = 0.02;

#[test]
fn as_root() {
    if Privilege::available() == Privilege::Root {
        within("as_root", Privilege::Root);
    } else {
        println!("skipped: not run by root");
    }
}

#[test]
fn as_an_ordinary_user() {
    within("as_an_ordinary_user", Privilege::Rootless);
}

#[expect(clippy::disallowed_methods, reason = "the test tells itself where it runs")]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Runs the flows in namespaces, by way of a second process.
fn within(test: &str, privilege: Privilege) {
    if variable(INSIDE).is_some() {
        return compare_flows();
    }
    let program = std::env::current_exe().expect("a running test has a file");
    let mut command = Command::new(program);
    command.args(["--exact", test, "--nocapture"]).env(INSIDE, "1");
    match isolated(&mut command, privilege).status() {
        Ok(status) => assert!(status.success(), "the flows inside failed: {status}"),
        Err(error) if variable("CI").as_deref() != Some("true") => {
            println!("skipped: no namespaces on this machine ({error})");
        }
        Err(error) => panic!("no namespaces on this machine: {error}"),
    }
}

fn flow(congestion: Algorithm, drops: &[u64]) -> Flow {
    Flow {
        rate: BitsPerSec::mbit(10),
        rtt: Duration::from_millis(60),
        queue: QueueLimit::Packets(200),
        drops: drops.to_vec(),
        buffers: Buffers::Autotuned,
        congestion,
        exchanges: vec![Exchange { think: Duration::ZERO, response_bytes: 600_000 }],
    }
}

fn compare_flows() {
    compare_flow(&flow(Algorithm::Reno, &[]));
    compare_flow(&flow(Algorithm::Cubic, &[60]));
}

/// A late packet can only make a difference, never hide one: an attempt on a busy machine that agrees counts, one that does not is repeated.
fn compare_flow(flow: &Flow) {
    let simulated = simulate(flow, &Config::default(), 0);
    for _ in 0..ATTEMPTS {
        let measured = measure(flow).unwrap_or_else(|error| panic!("{error}"));
        let comparison = Comparison {
            kernel: &measured.trace,
            simulated: &simulated,
            total_bytes: flow.total_bytes(),
        };
        let ratio = comparison.ratio().expect("both complete");
        let retransmissions = comparison.retransmissions();
        println!("{:?}: {:?}, {}", flow.congestion, comparison.completion(), measured.punctuality);
        if (ratio - 1.0).abs() < TOLERANCE && retransmissions.is_none() {
            return;
        }
        if measured.invalid.is_none() {
            panic!("completion differs by {ratio}, retransmissions by {retransmissions:?}");
        }
    }
    panic!("the machine was too busy {ATTEMPTS} times");
}
