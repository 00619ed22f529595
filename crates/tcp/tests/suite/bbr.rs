//! BBR over whole paths: 10 Mbit/s with a round trip of 100 ms, which hold 83 packets of 1500 bytes.

use crate::common;

use std::time::Duration;

use common::World;
use congestion::Algorithm;
use farlink_tcp::{Config, Stats};
use units::{BitsPerSec, Time};

const LINE_MBIT: f64 = 10.0 * 1448.0 / 1500.0;

fn world(congestion: Algorithm, queue: usize, loss: f64) -> World {
    let server = Config { congestion, ..Config::default() };
    let mut world = World::new(Config::default(), server, 1);
    world.both(|pipe| {
        pipe.rate = BitsPerSec::mbit(10);
        pipe.delay = Duration::from_millis(50);
        pipe.queue_packets = queue;
    });
    world.down.loss = loss;
    world
}

fn at(ms: u64) -> Time {
    Time::from_millis(ms)
}

/// The server's statistics every 10 ms, and the goodput in Mbit/s.
fn observe(mut world: World, seconds: u64) -> (Vec<(Time, Stats)>, f64) {
    let mut seen = Vec::new();
    let mut next = Time::ZERO;
    let received = world.download_watched(at(1000 * seconds), |world, _| {
        if let Some(server) = &world.server
            && world.now >= next
        {
            seen.push((world.now, server.stats()));
            next = world.now + Duration::from_millis(10);
        }
    });
    (seen, received as f64 * 8.0 / 1e6 / seconds as f64)
}

#[test]
fn the_pipe_is_full_and_the_queue_small() {
    let (seen, goodput) = observe(world(Algorithm::Bbr, 1000, 0.0), 9);
    assert!(goodput > 0.94 * LINE_MBIT, "{goodput} of {LINE_MBIT} Mbit/s, slow start included");
    for (now, stats) in seen.iter().filter(|(now, _)| *now > at(3000)) {
        let srtt = stats.srtt.expect("samples");
        assert!(
            srtt < Duration::from_millis(140),
            "{now:?}: {srtt:?} of which 100 ms are the path"
        );
        assert_eq!(stats.min_rtt.map(|rtt| rtt.as_millis()), Some(100));
        // Twice the capacity of the path, three bursts of two, and the allowance for ACK aggregation.
        assert!((2 * 83..2 * 83 + 24).contains(&stats.cwnd), "{now:?}: {}", stats.cwnd);
    }
    let (_, last) = seen.last().expect("it ran");
    assert_eq!(last.retransmitted_segments, 0);
}

/// CUBIC fills any queue: the reference for what BBR avoids.
#[test]
fn cubic_keeps_the_queue_full() {
    let (seen, _) = observe(world(Algorithm::CubicWithoutHystart, 300, 0.0), 9);
    let slowest = seen.iter().filter_map(|(_, stats)| stats.srtt).max().expect("samples");
    assert!(slowest > Duration::from_millis(400), "{slowest:?}");
}

#[test]
fn one_loss_in_a_hundred_does_not_slow_it() {
    let (seen, goodput) = observe(world(Algorithm::Bbr, 1000, 0.01), 20);
    assert!(goodput > 0.9 * LINE_MBIT, "{goodput} Mbit/s");
    let (_, last) = seen.last().expect("it ran");
    assert!(last.retransmitted_segments > 100, "there were losses");
    let (_, cubic) = observe(world(Algorithm::Cubic, 1000, 0.01), 20);
    assert!(cubic < 0.3 * goodput, "CUBIC makes {cubic} Mbit/s of it");
}

#[test]
fn every_ten_seconds_the_window_dips_to_four_for_200_ms() {
    let (seen, _) = observe(world(Algorithm::Bbr, 1000, 0.0), 32);
    let late = seen.iter().filter(|(now, _)| *now > at(2000));
    let dips: Vec<Time> = late.filter(|(_, stats)| stats.cwnd == 4).map(|(now, _)| *now).collect();
    let mut starts = vec![];
    for (index, now) in dips.iter().enumerate() {
        if index == 0 || *now - dips[index - 1] > Duration::from_secs(1) {
            starts.push(index);
        }
    }
    assert_eq!(starts.len(), 3, "{dips:?}");
    for (n, start) in starts.iter().enumerate() {
        let end = starts.get(n + 1).copied().unwrap_or(dips.len()) - 1;
        let lasted = dips[end] - dips[*start];
        // 200 ms at the minimum, first seen one acknowledgement late, and the rest of a round.
        assert!((200..460).contains(&lasted.as_millis()), "dip {n} lasted {lasted:?}");
        if n > 0 {
            let apart = dips[*start] - dips[starts[n - 1]];
            assert!((10_000..11_000).contains(&apart.as_millis()), "{apart:?}");
        }
    }
}

#[test]
fn segments_are_paced() {
    let mut world = world(Algorithm::Bbr, 1000, 0.0);
    world.download_until(at(5000));
    let sent = &world.server_log;
    let largest = sent
        .chunk_by(|(before, ..), (now, ..)| before == now)
        .skip_while(|burst| burst[0].0 < at(300))
        .map(<[_]>::len)
        .max();
    assert_eq!(largest, Some(2), "a burst is two segments at this rate");
}

/// A connection's random numbers decide the phase in which a cycle begins, and the same numbers give the same run.
#[test]
fn runs_repeat_and_differ_by_what_is_drawn() {
    let run = |seed| {
        let mut world = world(Algorithm::Bbr, 1000, 0.0);
        while world.server.is_none() {
            assert!(world.step(at(1000)), "a SYN arrives");
        }
        if let Some(server) = &mut world.server {
            server.draw_from(world.now, chance::RandomSource::new(seed, 0).stream("bbr"));
        }
        world.download_until(at(5000));
        world.server_log
    };
    assert_eq!(run(1), run(1));
    assert!((2..6).any(|seed| run(seed) != run(1)));
}
