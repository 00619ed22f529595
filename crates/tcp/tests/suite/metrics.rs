//! Metrics that one connection leaves for the next.

use crate::common;

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use common::World;
use farlink_tcp::{Config, Connection, Generation, MetricsCache, Stats};
use units::Time;

const PEER: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// Initial state of a second connection, after one that lost a segment of its first flight.
fn second_start(config: &Config) -> Stats {
    let mut world = World::new(Config::default(), config.clone(), 1);
    world.both(|pipe| pipe.delay = Duration::from_millis(50));
    world.down.drops = vec![3];
    world.fetch(300, 40_000, Time::from_millis(60_000)).expect("it completes");
    let now = world.now;
    world.server.as_mut().expect("a server").close(now);
    world.client.close(now);
    let saved = world.run(Time::from_millis(120_000), |world| {
        world.client.is_closed() || world.server.as_ref().is_some_and(Connection::is_closed)
    });
    saved.expect("they close");
    let saved =
        world.server.as_mut().and_then(Connection::take_saved_metrics).expect("it ended in order");
    let mut cache = MetricsCache::default();
    cache.update(world.now, PEER, config, &saved);

    let mut client = Connection::connect(Arc::new(Config::default()), Time::ZERO);
    let syn = client.poll(Time::ZERO).expect("a SYN");
    let mut server = Connection::accept(Arc::new(config.clone()), Time::ZERO, &syn);
    server.seed_metrics(cache.get(world.now, PEER, config).expect("it was learned"));
    client.handle(Time::from_millis(20), server.poll(Time::ZERO).expect("a SYN-ACK"));
    let answer = client.poll(Time::from_millis(20)).expect("its acknowledgement");
    server.handle(Time::from_millis(40), answer);
    server.stats()
}

#[test]
fn linux_3_starts_with_the_threshold_and_the_round_trip_of_the_last() {
    let stats = second_start(&Config::parse("linux-3.10,hz=exact").expect("a transport"));
    // Two acknowledgements had opened the window to 12 before the loss; 717/1024 of that.
    assert_eq!(stats.ssthresh, Some(8));
    assert!(stats.srtt >= Some(Duration::from_millis(100)), "{:?}", stats.srtt);
}

#[test]
fn linux_6_takes_the_first_timeout_alone() {
    let stats = second_start(&Generation::Linux6.config());
    assert_eq!((stats.ssthresh, stats.srtt), (None, Some(Duration::from_millis(40))));
    // Three times the earlier round trip of 100 ms, where this handshake alone would give 240 ms.
    assert!(stats.rto >= Duration::from_millis(300), "{:?}", stats.rto);
}

#[test]
fn without_metrics_nothing_is_taken() {
    let config = Config::parse("linux-3.10,metrics=off").expect("a transport");
    assert!(MetricsCache::default().get(Time::ZERO, PEER, &config).is_none());
}
