//! Tests of links, one packet at a time.

use std::time::Duration;

use chance::RandomSource;
use units::{BitsPerSec, Time};

use super::*;
use crate::{
    Channels, Codel, Direction, Handover, Jitter, JitterShape, LaneScheduling, LossModel,
    Management, Pie, ProportionalFair, QueueLimit, Rate, Reorder, Trace, TraceOptions,
};

mod emulators;
mod properties;
mod shared;

const MS: u64 = 1_000_000;

fn config() -> LinkConfig {
    LinkConfig::new(BitsPerSec::mbit(12), Duration::from_millis(10), QueueLimit::Packets(2))
}

fn link(config: LinkConfig) -> Link<u32> {
    Link::new(config, &RandomSource::new(1, 0), "test")
}

/// Offers a packet of `bytes`.
fn offer(link: &mut Link<u32>, now: Time, bytes: u32, body: u32) -> Admission {
    link.handle(now, Packet::new(bytes), body)
}

/// A delivered packet that was not marked.
fn arrived<P>(wire_bytes: u32, body: P) -> Option<Delivered<P>> {
    Some(Delivered { wire_bytes, congestion_experienced: false, body })
}

fn at(ms: u64) -> Time {
    Time::from_millis(ms)
}

/// All packets with their arrival times.
fn drain(link: &mut Link<u32>) -> Vec<(Time, u32, u32)> {
    let mut arrivals = Vec::new();
    while let Some(when) = link.deadline() {
        while let Some(packet) = link.poll(when) {
            arrivals.push((when, packet.wire_bytes, packet.body));
        }
    }
    arrivals
}

/// A recorded rate.
fn traced(text: &str, once: bool) -> Rate {
    let options = TraceOptions { unit: None, once };
    let trace = Trace::from_bytes("t", text.as_bytes(), Direction::Down, options);
    Rate::Trace(trace.expect("a trace").into())
}

// A rate, a delay and a droptail queue, and losses.

#[test]
fn a_packet_takes_its_serialisation_and_the_delay() {
    let mut link = link(config());
    assert_eq!(link.deadline(), None);
    assert_eq!(offer(&mut link, at(5), 1500, 7), Admission::Queued);
    // 1500 B at 12 Mbit/s: 1 ms.
    assert_eq!(link.deadline(), Some(at(16)));
    assert_eq!(link.poll(Time::from_nanos(16 * MS - 1)), None);
    assert_eq!(link.poll(at(16)), arrived(1500, 7));
    assert_eq!(link.poll(at(16)), None);
}

#[test]
fn packets_queue_behind_each_other_and_the_tail_is_dropped() {
    let mut link = link(config());
    // One in service, two waiting, no room for the fourth.
    for body in 0..3 {
        assert_eq!(offer(&mut link, at(0), 1500, body), Admission::Queued);
    }
    assert_eq!(offer(&mut link, at(0), 1500, 3), Admission::Dropped(DropCause::QueueFull));
    // At 1 ms the second enters service: there is room for one again.
    assert_eq!(offer(&mut link, at(1), 1500, 4), Admission::Queued);
    assert_eq!(offer(&mut link, at(1), 1500, 5), Admission::Dropped(DropCause::QueueFull));
    assert_eq!(
        drain(&mut link),
        [(at(11), 1500, 0), (at(12), 1500, 1), (at(13), 1500, 2), (at(14), 1500, 4)]
    );
    let stats = link.stats();
    assert_eq!((stats.queue_full_packets, stats.max_queue_packets), (2, 2));
    assert_eq!((stats.waited_packets, stats.waited.total()), (3, Duration::from_millis(5)));
    assert_eq!(stats.service_rate(), Some(BitsPerSec::mbit(12)));
}

#[test]
fn an_idle_link_needs_no_queue() {
    let mut link = link(LinkConfig { queue: QueueLimit::Packets(0), ..config() });
    assert_eq!(offer(&mut link, at(0), 1500, 0), Admission::Queued);
    assert_eq!(offer(&mut link, at(0), 1500, 1), Admission::Dropped(DropCause::QueueFull));
    assert_eq!(offer(&mut link, at(1), 1500, 2), Admission::Queued);
}

#[test]
fn a_byte_queue_counts_whole_packets() {
    let mut link = link(LinkConfig { queue: QueueLimit::Bytes(2000), ..config() });
    assert_eq!(offer(&mut link, at(0), 1500, 0), Admission::Queued);
    assert_eq!(offer(&mut link, at(0), 1500, 1), Admission::Queued);
    assert_eq!(offer(&mut link, at(0), 501, 2), Admission::Dropped(DropCause::QueueFull));
    assert_eq!(offer(&mut link, at(0), 500, 3), Admission::Queued);
    assert_eq!(link.stats().max_queue_bytes, 2000);
}

#[test]
fn a_packet_over_the_mtu_is_refused_and_draws_nothing() {
    let mut link = link(LinkConfig { loss: LossModel::Random(1.0), ..config() });
    assert_eq!(offer(&mut link, at(0), 1501, 0), Admission::Dropped(DropCause::TooBig));
    assert_eq!(offer(&mut link, at(0), 1500, 1), Admission::Dropped(DropCause::Loss));
    assert_eq!(link.stats().dropped_bytes, 3001);
}

#[test]
fn a_lost_packet_takes_no_room_and_no_rate() {
    // Find the losses of this seed, then see that the survivors leave back to back.
    let config =
        LinkConfig { loss: LossModel::Random(0.5), queue: QueueLimit::Unlimited, ..config() };
    let mut link = link(config);
    let survivors =
        (0..100).filter(|body| offer(&mut link, at(0), 1500, *body) == Admission::Queued).count();
    assert!((30..70).contains(&survivors), "{survivors} of 100 at 50 %");
    let arrivals = drain(&mut link);
    assert_eq!(arrivals.len(), survivors);
    assert_eq!(arrivals[survivors - 1].0, at(10 + survivors as u64));
}

#[test]
fn without_a_rate_only_the_delay_remains() {
    let mut link = link(LinkConfig { rate: Rate::UNLIMITED, ..config() });
    for body in 0..100 {
        assert_eq!(offer(&mut link, at(0), 1500, body), Admission::Queued);
    }
    assert!(drain(&mut link).iter().all(|(when, ..)| *when == at(10)));
    assert_eq!(link.stats().service_rate(), None);
}

/// The arithmetic of dummynet's default pipe at 150 kbit/s: 50 slots of 1500 B hold 4.0 s, one
/// packet takes 80 ms.
#[test]
fn fifty_slots_at_150_kbit_drain_in_four_seconds() {
    let mut link = link(LinkConfig {
        rate: BitsPerSec::kbit(150).into(),
        delay: Duration::ZERO,
        queue: QueueLimit::Packets(50),
        ..config()
    });
    let accepted =
        (0..60).filter(|body| offer(&mut link, at(0), 1500, *body) == Admission::Queued).count();
    assert_eq!(accepted, 51, "one in service and 50 slots");
    let arrivals = drain(&mut link);
    assert_eq!(arrivals[0].0, at(80));
    assert_eq!(arrivals[50].0 - arrivals[0].0, Duration::from_secs(4));
}

#[test]
fn the_stats_tell_waiting_from_travelling() {
    let mut link = link(config());
    for n in 0..3 {
        assert_eq!(offer(&mut link, at(0), 1500, n), Admission::Queued);
    }
    let stats = link.stats();
    let ms = Duration::from_millis;
    assert_eq!((stats.waited.least(), stats.waited.most()), (ms(0), ms(2)));
    assert_eq!((stats.unqueued.least(), stats.unqueued.most()), (ms(11), ms(11)));
    assert_eq!((stats.one_way.least(), stats.one_way.most()), (ms(11), ms(13)));
    assert_eq!(stats.mean(&stats.one_way), Some(ms(12)));
}

// Delays that vary: jitter, reordering, repetitions.

#[test]
fn jitter_stays_below_one_serialisation_and_keeps_order() {
    let jittery =
        LinkConfig { processing_jitter: ProcessingJitter::UpToOneSerialisation, ..config() };
    let mut link = link(LinkConfig { queue: QueueLimit::Unlimited, ..jittery });
    for body in 0..1000 {
        let _ = offer(&mut link, at(0), 1500, body);
    }
    let arrivals = drain(&mut link);
    assert!(arrivals.iter().map(|a| a.2).eq(0..1000), "in order");
    let mut delayed = 0;
    for (when, _, body) in arrivals {
        let undisturbed = at(11 + u64::from(body));
        assert!(when >= undisturbed && when - undisturbed < Duration::from_millis(1));
        delayed += usize::from(when > undisturbed);
    }
    assert!(delayed > 990, "only {delayed} of 1000 were delayed");
}

/// On an LTE cell's link packets are late after serialisation, so that a full queue hides none of it, and the rate
/// holds.
#[test]
fn repetitions_come_after_the_queue_and_take_no_rate() {
    let harq = Some(crate::Harq::default());
    let queue = QueueLimit::Unlimited;
    let mut link = link(LinkConfig { harq, queue, ..config() });
    for n in 0..5000 {
        assert_eq!(offer(&mut link, at(0), 1500, n), Admission::Queued);
    }
    let arrivals = drain(&mut link);
    assert!(arrivals.iter().map(|arrival| arrival.2).eq(0..5000), "RLC keeps the order");
    let late = |(when, _, body): &(Time, u32, u32)| *when - at(11 + u64::from(*body));
    // A packet is a block here, and on time if none of the eight blocks up to it failed, nor any of sixteen twice:
    // 0.9^8 * 0.99^8 * 0.999^8 = 39 %.
    let on_time = arrivals.iter().filter(|arrival| late(arrival).is_zero()).count();
    assert!((1700..2300).contains(&on_time), "{on_time} of 5000");
    assert!(arrivals.iter().all(|arrival| late(arrival) < Duration::from_millis(172)));
    assert!(link.stats().service_rate() == Some(BitsPerSec::mbit(12)));
}

#[test]
fn jitter_keeps_order_unless_reordering_is_asked_for() {
    let jitter = Jitter { spread: Duration::from_millis(9), shape: JitterShape::Uniform };
    let calm = LinkConfig { jitter, queue: QueueLimit::Unlimited, ..config() };
    for (reorder, is_reordered) in [(Reorder::Never, false), (Reorder::ByJitter, true)] {
        let mut link = link(LinkConfig { reorder, ..calm.clone() });
        for n in 0..1000 {
            assert_eq!(offer(&mut link, at(2 * u64::from(n)), 1500, n), Admission::Queued);
        }
        let arrivals = drain(&mut link);
        assert_eq!(!arrivals.is_sorted_by_key(|arrival| arrival.2), is_reordered);
        assert_eq!(link.stats().reordered_packets > 0, is_reordered);
        for (when, _, body) in arrivals.into_iter().filter(|_| is_reordered) {
            let sent = at(2 * u64::from(body));
            let delay = (when - sent).as_secs_f64() * 1e3;
            assert!((2.0..20.0).contains(&delay), "1 ms of service and 10 ms +- 9 ms: {delay}");
        }
    }
}

#[test]
fn a_share_of_packets_jumps_ahead() {
    let reorder = Reorder::Jump(0.1);
    let mut link = link(LinkConfig { reorder, queue: QueueLimit::Unlimited, ..config() });
    for n in 0..2000 {
        assert_eq!(offer(&mut link, at(u64::from(n)), 1500, n), Admission::Queued);
    }
    let early =
        drain(&mut link).iter().filter(|(when, _, body)| *when == at(u64::from(*body) + 1)).count();
    assert!((150..250).contains(&early), "{early} of 2000 at 10 %");
}

#[test]
fn normal_jitter_has_its_deviation() {
    let jitter = Jitter { spread: Duration::from_millis(2), shape: JitterShape::Normal };
    let (reorder, queue) = (Reorder::ByJitter, QueueLimit::Unlimited);
    let mut link = link(LinkConfig { jitter, reorder, queue, ..config() });
    for n in 0..5000 {
        assert_eq!(offer(&mut link, at(u64::from(n)), 1500, n), Admission::Queued);
    }
    let delays: Vec<f64> = drain(&mut link)
        .iter()
        .map(|(when, _, body)| (*when - at(u64::from(*body))).as_secs_f64() * 1e3)
        .collect();
    let mean = delays.iter().sum::<f64>() / 5000.0;
    let variance = delays.iter().map(|delay| (delay - mean).powi(2)).sum::<f64>() / 5000.0;
    assert!((mean - 11.0).abs() < 0.15 && (variance.sqrt() - 2.0).abs() < 0.1, "{mean} {variance}");
}

// Recorded rates.

#[test]
fn a_trace_of_opportunities_makes_everybody_wait_for_one() {
    let mut link = link(LinkConfig { rate: traced("5\n10\n", false), ..config() });
    for n in 0..3 {
        let expected =
            [Admission::Queued, Admission::Queued, Admission::Dropped(DropCause::QueueFull)];
        assert_eq!(offer(&mut link, at(0), 1500, n), expected[n as usize]);
    }
    let arrivals: Vec<Time> = drain(&mut link).iter().map(|arrival| arrival.0).collect();
    assert_eq!(arrivals, [at(15), at(20)]);
}

/// A stalled link has no deadline, so nothing waits for it.
#[test]
fn a_stalled_link_has_no_deadline() {
    for management in [Management::DropTail, Management::Codel(Codel::default())] {
        let rate = traced("0 0\n1 0\n", false);
        let mut link = link(LinkConfig { rate, management, ..config() });
        for n in 0..2 {
            assert_eq!(offer(&mut link, at(0), 1500, n), Admission::Queued);
        }
        assert_eq!((link.deadline(), link.in_flight()), (None, 2));
        assert_eq!(link.poll(at(3_600_000)), None);
        assert_eq!(link.stats().served_packets, 0);
    }
    let mut ended = link(LinkConfig { rate: traced("1\n", true), ..config() });
    for n in 0..2 {
        assert_eq!(offer(&mut ended, at(0), 1500, n), Admission::Queued);
    }
    assert_eq!(drain(&mut ended), [(at(11), 1500, 0)]);
    assert_eq!(ended.in_flight(), 1);
}
