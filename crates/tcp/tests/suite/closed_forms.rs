//! Results that can be computed by hand, to within 0.1 %.

use crate::common;

use std::time::Duration;

use common::World;
use farlink_tcp::{AckPolicy, Config, SynLossWindow};
use units::Time;

const MSS: usize = 1448;
const LIMIT: Time = Time::from_millis(60_000);

fn assert_near(what: &str, got: f64, expected: f64) {
    assert!((got / expected - 1.0).abs() < 0.001, "{what}: {got}, by hand {expected}");
}

fn quick() -> Config {
    Config { ack_policy: AckPolicy::EVERY_SEGMENT, ..Config::default() }
}

#[test]
fn sixty_segments_take_a_handshake_and_three_rounds() {
    for rtt_ms in [20, 100, 620] {
        let mut world = World::new(quick(), quick(), 1);
        world.both(|pipe| pipe.delay = Duration::from_millis(rtt_ms) / 2);
        let end = world.fetch(300, 60 * MSS, LIMIT).expect("it completes");
        // 10 + 20 + 30 segments.
        assert_near("60 segments", end.as_secs_f64(), 4.0 * rtt_ms as f64 / 1e3);
    }
}

#[test]
fn the_real_ack_policy_needs_no_more_rounds() {
    let mut world = World::new(Config::default(), Config::default(), 1);
    let end = world.fetch(300, 60 * MSS, LIMIT).expect("it completes");
    assert_near("60 segments", end.as_secs_f64(), 0.4);
}

#[test]
fn the_timeout_of_a_steady_path_is_200_ms_above_the_round_trip() {
    let mut world = World::new(quick(), quick(), 1);
    world.both(|pipe| pipe.delay = Duration::from_millis(75));
    world.fetch(300, 20_000_000, LIMIT).expect("it completes");
    let rto = world.server.as_ref().expect("a server").stats().rto;
    assert_near("RTO", rto.as_secs_f64(), 0.350);
}

#[test]
fn a_lost_syn_costs_one_second() {
    let mut world = World::new(quick(), quick(), 1);
    world.up.drops = vec![0];
    let end = world.fetch(300, 10 * MSS, LIMIT).expect("it completes");
    assert_near("with a lost SYN", end.as_secs_f64(), 1.2);
    let mut world = World::new(quick(), quick(), 1);
    world.down.drops = vec![0];
    let end = world.fetch(300, 10 * MSS, LIMIT).expect("it completes");
    assert_near("with a lost SYN-ACK", end.as_secs_f64(), 1.2);
}

#[test]
fn two_lost_syns_also_cost_the_initial_window() {
    let end = |syn_loss_window| {
        let config = Config { syn_loss_window, ..quick() };
        let mut world = World::new(config.clone(), config, 1);
        world.down.drops = vec![0, 1];
        let end = world.fetch(300, 10 * MSS, LIMIT).expect("it completes");
        let retransmits = world.server.as_ref().expect("a server").stats().retransmitted_segments;
        assert_eq!(retransmits, 2);
        end.as_secs_f64()
    };
    // 2.1 s for the client's third SYN; the server's window is one segment: 1 + 2 + 4 + 3.
    assert_near("with two lost SYN-ACKs", end(SynLossWindow::OneAfterTwo), 2.5);
    // The client's SYNs asked for each SYN-ACK, no timer of the server: it considers none lost.
    assert_near("the same since Linux 5.2", end(SynLossWindow::OneUnlessNeedless), 2.2);
}
