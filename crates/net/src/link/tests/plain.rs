//! A rate, a delay and a droptail queue, and losses.

use super::*;

#[test]
fn a_packet_takes_its_serialisation_and_the_delay() {
    let mut link = link(config());
    assert_eq!(link.deadline(), None);
    assert_eq!(offer(&mut link, at(5), 1500, 7), Verdict::Queued);
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
        assert_eq!(offer(&mut link, at(0), 1500, body), Verdict::Queued);
    }
    assert_eq!(offer(&mut link, at(0), 1500, 3), Verdict::Dropped(DropCause::QueueFull));
    // At 1 ms the second enters service: there is room for one again.
    assert_eq!(offer(&mut link, at(1), 1500, 4), Verdict::Queued);
    assert_eq!(offer(&mut link, at(1), 1500, 5), Verdict::Dropped(DropCause::QueueFull));
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
    assert_eq!(offer(&mut link, at(0), 1500, 0), Verdict::Queued);
    assert_eq!(offer(&mut link, at(0), 1500, 1), Verdict::Dropped(DropCause::QueueFull));
    assert_eq!(offer(&mut link, at(1), 1500, 2), Verdict::Queued);
}

#[test]
fn a_byte_queue_counts_whole_packets() {
    let mut link = link(LinkConfig { queue: QueueLimit::Bytes(2000), ..config() });
    assert_eq!(offer(&mut link, at(0), 1500, 0), Verdict::Queued);
    assert_eq!(offer(&mut link, at(0), 1500, 1), Verdict::Queued);
    assert_eq!(offer(&mut link, at(0), 501, 2), Verdict::Dropped(DropCause::QueueFull));
    assert_eq!(offer(&mut link, at(0), 500, 3), Verdict::Queued);
    assert_eq!(link.stats().max_queue_bytes, 2000);
}

#[test]
fn a_packet_over_the_mtu_is_refused_and_draws_nothing() {
    let mut link = link(LinkConfig { loss: LossModel::Random(1.0), ..config() });
    assert_eq!(offer(&mut link, at(0), 1501, 0), Verdict::Dropped(DropCause::TooBig));
    assert_eq!(offer(&mut link, at(0), 1500, 1), Verdict::Dropped(DropCause::Loss));
    assert_eq!(link.stats().dropped_bytes, 3001);
}

#[test]
fn a_lost_packet_takes_no_room_and_no_rate() {
    // Find the losses of this seed, then see that the survivors leave back to back.
    let config =
        LinkConfig { loss: LossModel::Random(0.5), queue: QueueLimit::Unlimited, ..config() };
    let mut link = link(config);
    let survivors =
        (0..100).filter(|body| offer(&mut link, at(0), 1500, *body) == Verdict::Queued).count();
    assert!((30..70).contains(&survivors), "{survivors} of 100 at 50 %");
    let arrivals = drain(&mut link);
    assert_eq!(arrivals.len(), survivors);
    assert_eq!(arrivals[survivors - 1].0, at(10 + survivors as u64));
}

#[test]
fn without_a_rate_only_the_delay_remains() {
    let mut link = link(LinkConfig { rate: Rate::UNLIMITED, ..config() });
    for body in 0..100 {
        assert_eq!(offer(&mut link, at(0), 1500, body), Verdict::Queued);
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
        (0..60).filter(|body| offer(&mut link, at(0), 1500, *body) == Verdict::Queued).count();
    assert_eq!(accepted, 51, "one in service and 50 slots");
    let arrivals = drain(&mut link);
    assert_eq!(arrivals[0].0, at(80));
    assert_eq!(arrivals[50].0 - arrivals[0].0, Duration::from_secs(4));
}

#[test]
fn the_stats_tell_waiting_from_travelling() {
    let mut link = link(config());
    for n in 0..3 {
        assert_eq!(offer(&mut link, at(0), 1500, n), Verdict::Queued);
    }
    let stats = link.stats();
    let ms = Duration::from_millis;
    assert_eq!((stats.waited.least(), stats.waited.most()), (ms(0), ms(2)));
    assert_eq!((stats.unqueued.least(), stats.unqueued.most()), (ms(11), ms(11)));
    assert_eq!((stats.one_way.least(), stats.one_way.most()), (ms(11), ms(13)));
    assert_eq!(stats.mean(&stats.one_way), Some(ms(12)));
}
