use std::time::Duration;

use chance::Source;
use proptest::prelude::*;
use units::{BitsPerSec, Time};

use super::*;
use crate::QueueLimit;

const MS: u64 = 1_000_000;

fn config() -> LinkConfig {
    LinkConfig {
        rate: BitsPerSec::mbit(12),
        delay: Duration::from_millis(10),
        queue: QueueLimit::Packets(2),
        loss: 0.0,
        mtu: 1500,
        processing_jitter: ProcessingJitter::None,
    }
}

fn link(config: LinkConfig) -> Link<u32> {
    let source = Source::new(1, 0);
    Link::new(config, source.stream("loss"), source.stream("jitter"))
}

fn at(ms: u64) -> Time {
    Time::from_millis(ms)
}

/// All packets with their arrival times.
fn drain(link: &mut Link<u32>) -> Vec<(Time, u32, u32)> {
    let mut arrivals = Vec::new();
    while let Some(when) = link.deadline() {
        let (bytes, body) = link.poll(when).expect("a packet arrives at the deadline");
        arrivals.push((when, bytes, body));
    }
    arrivals
}

#[test]
fn a_packet_takes_its_serialisation_and_the_delay() {
    let mut link = link(config());
    assert_eq!(link.deadline(), None);
    assert_eq!(link.handle(at(5), 1500, 7), Verdict::Queued);
    // 1500 B at 12 Mbit/s: 1 ms.
    assert_eq!(link.deadline(), Some(at(16)));
    assert_eq!(link.poll(Time::from_nanos(16 * MS - 1)), None);
    assert_eq!(link.poll(at(16)), Some((1500, 7)));
    assert_eq!(link.poll(at(16)), None);
}

#[test]
fn packets_queue_behind_each_other_and_the_tail_is_dropped() {
    let mut link = link(config());
    // One in service, two waiting, the fourth is too much.
    for body in 0..3 {
        assert_eq!(link.handle(at(0), 1500, body), Verdict::Queued);
    }
    assert_eq!(link.handle(at(0), 1500, 3), Verdict::Dropped(DropCause::QueueFull));
    // At 1 ms the second enters service: there is room for one again.
    assert_eq!(link.handle(at(1), 1500, 4), Verdict::Queued);
    assert_eq!(link.handle(at(1), 1500, 5), Verdict::Dropped(DropCause::QueueFull));
    assert_eq!(
        drain(&mut link),
        [(at(11), 1500, 0), (at(12), 1500, 1), (at(13), 1500, 2), (at(14), 1500, 4)]
    );
    let stats = link.stats();
    assert_eq!((stats.queue_full_packets, stats.max_queue_packets), (2, 2));
    assert_eq!((stats.waited_packets, stats.waited), (3, Duration::from_millis(5)));
    assert_eq!(stats.service_rate(), Some(BitsPerSec::mbit(12)));
}

#[test]
fn an_idle_link_needs_no_queue() {
    let mut link = link(LinkConfig { queue: QueueLimit::Packets(0), ..config() });
    assert_eq!(link.handle(at(0), 1500, 0), Verdict::Queued);
    assert_eq!(link.handle(at(0), 1500, 1), Verdict::Dropped(DropCause::QueueFull));
    assert_eq!(link.handle(at(1), 1500, 2), Verdict::Queued);
}

#[test]
fn a_byte_queue_counts_whole_packets() {
    let mut link = link(LinkConfig { queue: QueueLimit::Bytes(2000), ..config() });
    assert_eq!(link.handle(at(0), 1500, 0), Verdict::Queued);
    assert_eq!(link.handle(at(0), 1500, 1), Verdict::Queued);
    assert_eq!(link.handle(at(0), 501, 2), Verdict::Dropped(DropCause::QueueFull));
    assert_eq!(link.handle(at(0), 500, 3), Verdict::Queued);
    assert_eq!(link.stats().max_queue_bytes, 2000);
}

#[test]
fn a_packet_over_the_mtu_is_refused_and_draws_nothing() {
    let mut link = link(LinkConfig { loss: 1.0, ..config() });
    assert_eq!(link.handle(at(0), 1501, 0), Verdict::Dropped(DropCause::TooBig));
    assert_eq!(link.handle(at(0), 1500, 1), Verdict::Dropped(DropCause::Loss));
    assert_eq!(link.stats().dropped_bytes, 3001);
}

#[test]
fn a_lost_packet_takes_no_room_and_no_rate() {
    // Find the losses of this seed, then see that the survivors leave back to back.
    let config = LinkConfig { loss: 0.5, queue: QueueLimit::Unlimited, ..config() };
    let mut link = link(config);
    let survivors =
        (0..100).filter(|body| link.handle(at(0), 1500, *body) == Verdict::Queued).count();
    assert!((30..70).contains(&survivors), "{survivors} of 100 at 50 %");
    let arrivals = drain(&mut link);
    assert_eq!(arrivals.len(), survivors);
    assert_eq!(arrivals[survivors - 1].0, at(10 + survivors as u64));
}

#[test]
fn without_a_rate_only_the_delay_remains() {
    let mut link = link(LinkConfig { rate: BitsPerSec::UNLIMITED, ..config() });
    for body in 0..100 {
        assert_eq!(link.handle(at(0), 1500, body), Verdict::Queued);
    }
    assert!(drain(&mut link).iter().all(|(when, ..)| *when == at(10)));
    assert_eq!(link.stats().service_rate(), None);
}

/// The arithmetic of dummynet's default pipe at 150 kbit/s: 50 slots of 1500 B hold 4.0 s, one
/// packet takes 80 ms.
#[test]
fn fifty_slots_at_150_kbit_drain_in_four_seconds() {
    let mut link = link(LinkConfig {
        rate: BitsPerSec::kbit(150),
        delay: Duration::ZERO,
        queue: QueueLimit::Packets(50),
        ..config()
    });
    let accepted =
        (0..60).filter(|body| link.handle(at(0), 1500, *body) == Verdict::Queued).count();
    assert_eq!(accepted, 51, "one in service and 50 slots");
    let arrivals = drain(&mut link);
    assert_eq!(arrivals[0].0, at(80));
    assert_eq!(arrivals[50].0 - arrivals[0].0, Duration::from_secs(4));
}

#[test]
fn jitter_stays_below_one_serialisation_and_keeps_order() {
    let jittery =
        LinkConfig { processing_jitter: ProcessingJitter::UpToOneSerialisation, ..config() };
    let mut link = link(LinkConfig { queue: QueueLimit::Unlimited, ..jittery });
    for body in 0..1000 {
        let _ = link.handle(at(0), 1500, body);
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

#[derive(Clone, Debug)]
struct Offer {
    gap_ns: u64,
    bytes: u32,
}

fn offers() -> impl Strategy<Value = Vec<Offer>> {
    let offer = (0..3_000_000u64, 40..=1600u32).prop_map(|(gap_ns, bytes)| Offer { gap_ns, bytes });
    prop::collection::vec(offer, 1..200)
}

fn queues() -> impl Strategy<Value = QueueLimit> {
    prop_oneof![
        (0..20u32).prop_map(QueueLimit::Packets),
        (0..30_000u64).prop_map(QueueLimit::Bytes),
        Just(QueueLimit::Unlimited),
    ]
}

proptest! {
    /// In = out + dropped, order is kept, and no stretch of the output is faster than the rate
    /// (by more than the packet that jitter may bring closer, and rounding).
    #[test]
    fn conserves_orders_and_shapes(
        offers in offers(),
        queue in queues(),
        kbit in 100..100_000u64,
        loss in prop_oneof![Just(0.0), 0.0..0.5f64],
        processing_jitter in prop_oneof![
            Just(ProcessingJitter::None),
            Just(ProcessingJitter::UpToOneSerialisation)
        ],
        seed in any::<u64>(),
    ) {
        let config = LinkConfig {
            rate: BitsPerSec::kbit(kbit), queue, loss, processing_jitter, ..config()
        };
        let source = Source::new(seed, 0);
        let mut link = Link::new(config, source.stream("loss"), source.stream("jitter"));
        let (mut now, mut accepted, mut arrivals) = (Time::ZERO, Vec::new(), Vec::new());
        for (body, offer) in offers.iter().enumerate() {
            now += Duration::from_nanos(offer.gap_ns);
            while let Some(when) = link.deadline().filter(|when| *when <= now) {
                let (bytes, body) = link.poll(now).expect("due");
                arrivals.push((when, bytes, body));
            }
            if link.handle(now, offer.bytes, body) == Verdict::Queued {
                accepted.push((offer.bytes, body));
            }
        }
        while let Some(when) = link.deadline() {
            let (bytes, body) = link.poll(when).expect("due");
            arrivals.push((when, bytes, body));
        }

        let delivered: Vec<_> = arrivals.iter().map(|(_, bytes, body)| (*bytes, *body)).collect();
        prop_assert_eq!(&delivered, &accepted);
        let stats = *link.stats();
        prop_assert_eq!(link.in_flight(), 0);
        prop_assert_eq!(stats.offered_packets, stats.delivered_packets + stats.dropped_packets());
        prop_assert_eq!(stats.offered_bytes, stats.delivered_bytes + stats.dropped_bytes);
        prop_assert!(arrivals.is_sorted_by_key(|(when, ..)| *when));

        let rate = BitsPerSec::kbit(kbit);
        let first = arrivals.first().map_or(Time::ZERO, |a| a.0);
        let mut bytes_since = 0u64;
        for (n, (when, bytes, _)) in arrivals.iter().enumerate().skip(1) {
            bytes_since += u64::from(*bytes);
            let slack = match processing_jitter {
                ProcessingJitter::None => Duration::ZERO,
                ProcessingJitter::UpToOneSerialisation => rate.time_for(1500),
            };
            let rounding = Duration::from_nanos(n as u64);
            prop_assert!(*when - first + slack + rounding >= rate.time_for(bytes_since));
        }
    }
}
