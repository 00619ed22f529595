//! Reports of a connection about itself: its series, and its spurious retransmissions.

use crate::common;

use std::collections::BTreeMap;
use std::time::Duration;

use common::World;
use farlink_tcp::{
    Config, CongestionState, Connection, RetransmitCause, SenderSample, TcpState, Trigger,
};
use units::{BitsPerSec, Time};

const LIMIT: Time = Time::from_millis(600_000);

/// A fetch of 300 KB at 10 Mbit/s and 100 ms on a path that `set` changes; the server records.
fn fetched(config: &Config, set: impl FnOnce(&mut World)) -> World {
    let mut world = World::new(config.clone(), config.clone(), 3);
    world.both(|pipe| pipe.rate = BitsPerSec::mbit(10));
    set(&mut world);
    let connected = world.run(LIMIT, |world| match &mut world.server {
        Some(server) => {
            server.record_series();
            true
        }
        None => false,
    });
    assert!(connected.is_some());
    world.fetch(300, 300_000, LIMIT).expect("the fetch ends");
    // The last acknowledgements are on their way.
    let end = world.now + Duration::from_secs(5);
    while world.step(end) {}
    world
}

fn server(world: &World) -> &Connection {
    world.server.as_ref().unwrap()
}

#[test]
fn samples_follow_a_connection_from_its_handshake() {
    let world = fetched(&Config::default(), |_| {});
    let series = server(&world).series();
    assert!(series.is_sorted_by_key(|sample| sample.at));
    let established = &series[0];
    assert_eq!(established.trigger, Trigger::Segment);
    assert_eq!(established.state, TcpState::Established);
    assert_eq!(established.stats.cwnd, 10);
    assert_eq!(established.stats.ssthresh, None);
    let delivered = |sample: &SenderSample| sample.stats.delivered_segments;
    assert!(series.is_sorted_by_key(delivered));
    // A sample is taken after the segments released by an event have left: the first burst fills the window.
    let first_burst = series.iter().find(|sample| sample.stats.in_flight > 0).unwrap();
    assert_eq!(first_burst.stats.in_flight, 10);
    assert!(series.iter().all(|sample| sample.stats.in_flight <= sample.stats.cwnd));
    let last = &series.last().unwrap().stats;
    assert_eq!((last.in_flight, last.unsent_bytes, last.unacknowledged_bytes), (0, 0, 0));
    assert_eq!(last.delivered_segments, 300_000_u64.div_ceil(1448));
}

#[test]
fn recording_changes_nothing() {
    let watched = fetched(&Config::default(), |world| world.both(|pipe| pipe.loss = 0.02));
    let mut plain = World::new(Config::default(), Config::default(), 3);
    plain.both(|pipe| (pipe.rate, pipe.loss) = (BitsPerSec::mbit(10), 0.02));
    plain.fetch(300, 300_000, LIMIT).unwrap();
    let end = plain.now + Duration::from_secs(5);
    while plain.step(end) {}
    assert_eq!(watched.server_log, plain.server_log);
    assert!(server(&plain).series().is_empty());
}

#[test]
fn what_was_lost_had_to_be_sent_again() {
    let world = fetched(&Config::default(), |world| world.down.drops = vec![12, 30, 31, 90]);
    let server = server(&world);
    let verdicts: Vec<_> = server.retransmits().iter().map(|sent| sent.spurious).collect();
    assert_eq!(verdicts, [Some(false); 4]);
    assert!(server.retransmits().iter().all(|sent| sent.cause == RetransmitCause::FastRetransmit));
    let recovering =
        |sample: &SenderSample| sample.stats.congestion_state == CongestionState::Recovery;
    assert!(server.series().iter().any(recovering));
}

#[test]
fn what_was_only_late_is_found_out() {
    for timestamps in [true, false] {
        let config = Config { timestamps, ..Config::default() };
        // Nothing is ever lost, so every retransmission is spurious.
        let world = fetched(&config, |world| world.down.jitter = Duration::from_millis(200));
        let sent = server(&world).retransmits();
        assert!(sent.len() > 10, "{} retransmissions", sent.len());
        let mut verdicts = BTreeMap::new();
        sent.iter().for_each(|sent| *verdicts.entry(sent.spurious).or_insert(0) += 1);
        assert_eq!(verdicts.keys().collect::<Vec<_>>(), [&Some(true)], "{verdicts:?}");
    }
}

#[test]
fn a_path_that_falls_silent_makes_a_needless_timeout() {
    let mut world = fetched(&Config::default(), |_| {});
    let before = server(&world).retransmits().len();
    // From now on everything takes two seconds longer than it did.
    world.both(|pipe| pipe.delay += Duration::from_secs(2));
    world.fetch(300, 100_000, LIMIT).unwrap();
    let end = world.now + Duration::from_secs(20);
    while world.step(end) {}
    let sent = &server(&world).retransmits()[before..];
    assert!(sent.iter().any(|sent| sent.cause == RetransmitCause::Timeout), "{sent:?}");
    assert!(sent.iter().all(|sent| sent.spurious == Some(true)), "{sent:?}");
    assert!(server(&world).series().iter().any(|sample| sample.trigger == Trigger::Timeout));
}
