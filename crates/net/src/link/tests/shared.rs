//! Links shared by several users, and queues that drop or mark before they are full.

use proptest::prelude::*;

use super::properties::offers;
use super::*;

/// 1500 bytes take 1 ms.
fn shared(scheduler: LaneScheduling) -> LinkConfig {
    LinkConfig { scheduler, queue: QueueLimit::Unlimited, ..config() }
}

const FAIR: LaneScheduling = LaneScheduling::ProportionalFair(ProportionalFair {
    slot: Duration::from_millis(1),
    window: Duration::from_millis(100),
});

fn of_user(user: u32, wire_bytes: u32) -> Packet {
    Packet { user, ..Packet::new(wire_bytes) }
}

/// Bytes that each user has received by `until`, if each has `sizes[user]` packets from the beginning.
fn got(config: LinkConfig, sizes: &[u32], packets: u32, until: Time) -> Vec<u64> {
    let mut link = link(config);
    for _ in 0..packets {
        for (user, bytes) in sizes.iter().enumerate() {
            let _ = link.handle(Time::ZERO, of_user(user as u32, *bytes), user as u32);
        }
    }
    let mut got = vec![0; sizes.len()];
    while let Some(when) = link.deadline().filter(|when| *when <= until) {
        while let Some(packet) = link.poll(when) {
            got[packet.body as usize] += u64::from(packet.wire_bytes);
        }
    }
    got
}

#[test]
fn turns_give_equal_bytes_whatever_users_offer() {
    // After the delay of 10 ms, 100 ms of service.
    let mut link = link(shared(LaneScheduling::RoundRobin));
    for body in 0..100 {
        let _ = link.handle(at(0), of_user(0, 1500), body);
    }
    for body in 100..110 {
        let _ = link.handle(at(0), of_user(1, 1500), body);
    }
    let order: Vec<u32> = drain(&mut link).into_iter().map(|(.., body)| body).collect();
    // The first was in service when the others arrived.
    assert_eq!(order[..5], [0, 100, 1, 101, 2]);
    assert_eq!(order.iter().position(|body| *body == 109), Some(19));
    assert_eq!(order.len(), 110);
}

#[test]
fn schedulers_differ_in_what_they_share_out() {
    let channels = Channels::new(vec![1.0, 0.25]);
    let config = |scheduler| LinkConfig { channels: channels.clone(), ..shared(scheduler) };
    let got = |scheduler| got(config(scheduler), &[1500, 1500], 2000, at(1010));
    // Equal bytes: of five milliseconds one and four.
    let [good, poor] = got(LaneScheduling::RoundRobin)[..] else { unreachable!() };
    assert!(good.abs_diff(poor) <= 1500 && good.abs_diff(300_000) <= 1500, "{good} {poor}");
    // Equal time: half of what each would have alone.
    let [good, poor] = got(FAIR)[..] else { unreachable!() };
    assert!(good.abs_diff(750_000) < 15_000 && poor.abs_diff(187_500) < 15_000, "{good} {poor}");
    // In order of arrival, which is by turns here.
    let [good, poor] = got(LaneScheduling::Fifo)[..] else { unreachable!() };
    assert!(good.abs_diff(poor) <= 1500, "{good} {poor}");
}

#[test]
fn each_user_has_a_queue_of_his_own() {
    let config = LinkConfig { queue: QueueLimit::Packets(2), ..shared(LaneScheduling::RoundRobin) };
    let mut link = link(config);
    for body in 0..4 {
        let _ = link.handle(at(0), of_user(0, 1500), body);
    }
    let first = link.handle(at(0), of_user(1, 1500), 9);
    assert_eq!(first, Admission::Queued, "the other one's queue is full");
    assert_eq!((link.stats().queue_full_packets, link.in_flight()), (1, 4));
}

#[test]
fn a_slot_is_cut_out_of_packets() {
    // At 1 ms a slot and 1500 bytes a ms, packets of 3000 bytes take two slots each, by turns.
    let config = LinkConfig { mtu: 3000, ..shared(FAIR) };
    let mut link = link(config);
    for user in [0, 1] {
        let _ = link.handle(at(0), of_user(user, 3000), user);
    }
    assert_eq!(drain(&mut link), [(at(13), 3000, 0), (at(14), 3000, 1)]);
    let stats = link.stats();
    assert_eq!(
        (stats.waited.total(), stats.busy.span()),
        (Duration::from_millis(3), Duration::from_millis(4))
    );
}

/// The link and all arrivals, if a packet comes every 2 ms for 200 ms.
fn steady(lossless: bool) -> (Link<u32>, Vec<(Time, u32, u32)>) {
    let ms = Duration::from_millis;
    let handover = Handover { every: ms(100), least: ms(30), most: ms(30), lossless };
    let mut link = link(LinkConfig { handover: Some(handover), ..shared(LaneScheduling::Fifo) });
    let mut arrivals = Vec::new();
    for body in 0..100 {
        let now = at(u64::from(body) * 2);
        while let Some(when) = link.deadline().filter(|when| *when <= now) {
            arrivals.extend(link.poll(when).map(|packet| (when, packet.wire_bytes, packet.body)));
        }
        let _ = link.handle(now, of_user(0, 1500), body);
    }
    arrivals.extend(drain(&mut link));
    (link, arrivals)
}

fn interruptions() -> Vec<crate::Interruption> {
    let ms = Duration::from_millis;
    let handover = Handover { every: ms(100), least: ms(30), most: ms(30), lossless: true };
    crate::Handovers::of(handover, RandomSource::new(1, 0), 0)
        .between(Time::ZERO, at(200))
        .collect()
}

#[test]
fn during_a_handover_packets_wait() {
    let (link, arrivals) = steady(true);
    assert_eq!((arrivals.len(), link.stats().lost_packets), (100, 0));
    assert_eq!(interruptions().len(), 2);
    for one in interruptions() {
        // Packets served before are on their way for 10 ms.
        let (begins, ends) = (one.begins + config().delay, one.ends + config().delay);
        let within = arrivals
            .iter()
            .filter(|(when, ..)| *when > begins + Duration::from_nanos(700) && *when < ends);
        assert_eq!(within.count(), 0, "{one:?}: {arrivals:?}");
        let burst = arrivals
            .iter()
            .filter(|(when, ..)| *when >= ends && *when < ends + Duration::from_millis(15));
        assert!(burst.count() >= 14, "the server is busy with what had waited");
    }
}

#[test]
fn a_handover_without_forwarding_loses_what_waits() {
    let (link, arrivals) = steady(false);
    let lost = link.stats().lost_packets;
    assert_eq!(arrivals.len() as u64 + lost, 100);
    // 30 ms of a packet every 2 ms, twice.
    assert!((28..=34).contains(&lost), "{lost}");
    assert_eq!(link.in_flight(), 0);
}

#[test]
fn who_is_away_keeps_nobody_from_being_served() {
    let ms = Duration::from_millis;
    let handover = Handover { every: ms(100), least: ms(99), most: ms(99), lossless: true };
    let config = LinkConfig { handover: Some(handover), ..shared(LaneScheduling::RoundRobin) };
    let of = |user| crate::Handovers::of(handover, RandomSource::new(1, 0), user);
    // User 0 returns while user 1 is away.
    let back = of(0).at(at(500)).expect("he is nearly always away").ends;
    assert!(of(1).at(back).is_some());
    let mut link = link(config);
    let _ = link.handle(at(500), of_user(1, 1500), 1);
    let _ = link.handle(back, of_user(0, 1500), 0);
    let arrivals = drain(&mut link);
    let first = (back.max(at(500)) + ms(11), 1500, 0);
    assert!(arrivals.contains(&first), "{arrivals:?}, {first:?}");
}

proptest! {
    /// With one user every scheduler behaves as the plain queue, to within a nanosecond per slot if slots are cut.
    #[test]
    fn alone_nobody_notices_the_scheduler(
        offers in offers(),
        kbit in 300..100_000u64,
        limit in 1..40u32,
    ) {
        let run = |scheduler, queue| {
            let rate = Rate::from(BitsPerSec::kbit(kbit));
            let mut link = link(LinkConfig { scheduler, rate, queue, ..config() });
            let (mut now, mut arrivals) = (Time::ZERO, Vec::new());
            for (body, offer) in offers.iter().enumerate() {
                now += Duration::from_nanos(offer.gap_ns);
                while let Some(when) = link.deadline().filter(|when| *when <= now) {
                    arrivals.extend(link.poll(when).map(|packet| (when, packet.body)));
                }
                let _ = link.handle(now, Packet::new(offer.bytes), body as u32);
            }
            arrivals.extend(drain(&mut link).into_iter().map(|(when, _, body)| (when, body)));
            arrivals
        };
        let short = QueueLimit::Packets(limit);
        prop_assert_eq!(run(LaneScheduling::RoundRobin, short), run(LaneScheduling::Fifo, short));
        // If the queue is full a packet's fate may depend on that nanosecond.
        let (fair, plain) = (run(FAIR, QueueLimit::Unlimited), run(LaneScheduling::Fifo, QueueLimit::Unlimited));
        prop_assert_eq!(fair.len(), plain.len());
        for ((when, body), (expected, same)) in fair.iter().zip(&plain) {
            prop_assert_eq!(body, same);
            prop_assert!(when.as_nanos().abs_diff(expected.as_nanos()) < 10_000, "{:?}", body);
        }
    }

    /// The server never idles while packets wait: with any scheduler everything is served as early as in one queue.
    #[test]
    fn schedulers_conserve_work(offers in offers(), kbit in 300..100_000u64) {
        let run = |scheduler| {
            let rate = Rate::from(BitsPerSec::kbit(kbit));
            let mut link = link(LinkConfig { rate, ..shared(scheduler) });
            let mut now = Time::ZERO;
            for offer in &offers {
                now += Duration::from_nanos(offer.gap_ns);
                let _ = link.handle(now, of_user(offer.user, offer.bytes), 0);
                while link.poll(now).is_some() {}
            }
            let last = drain(&mut link).last().map_or(now, |last| last.0);
            prop_assert_eq!(link.stats().dropped_packets(), link.stats().too_big_packets);
            Ok((last, link.stats().busy))
        };
        let plain = run(LaneScheduling::Fifo)?;
        prop_assert_eq!(run(LaneScheduling::RoundRobin)?, plain);
        let fair = run(FAIR)?;
        prop_assert!(fair.0.as_nanos().abs_diff(plain.0.as_nanos()) < 50_000, "{:?} {:?}", fair, plain);
    }
}

// Queues that drop or mark before they are full.

#[test]
fn a_managed_queue_serves_as_a_plain_one_until_it_must_act() {
    let plain = LinkConfig { queue: QueueLimit::Packets(50), ..config() };
    let codel = LinkConfig { management: Management::Codel(Codel::default()), ..plain.clone() };
    let run = |config| {
        let mut link = link(config);
        for n in 0..40 {
            assert_eq!(offer(&mut link, at(u64::from(n) / 2), 1500, n), Admission::Queued);
        }
        (drain(&mut link), *link.stats())
    };
    let ((plain, plain_stats), (managed, managed_stats)) = (run(plain), run(codel));
    assert_eq!(plain, managed);
    assert_eq!(plain_stats, managed_stats);
}

#[test]
fn those_dropped_later_are_told() {
    let management = Management::DropHead;
    let mut link = link(LinkConfig { management, ..config() });
    for n in 0..4 {
        assert_eq!(offer(&mut link, at(0), 1500, n), Admission::Queued);
    }
    let dropped = link.poll_dropped().expect("one in service, two wait, one is too much");
    assert_eq!((dropped.at, dropped.body, dropped.cause), (at(0), 1, DropCause::QueueFull));
    assert_eq!(link.poll_dropped(), None);
    assert_eq!(drain(&mut link).iter().map(|arrival| arrival.2).collect::<Vec<_>>(), [0, 2, 3]);
    assert_eq!(link.stats().queue_full_packets, 1);
}

#[test]
fn marks_come_out_with_the_packet() {
    let management = Management::Codel(Codel { ecn: true, ..Codel::default() });
    let queue = QueueLimit::Unlimited;
    let mut link = link(LinkConfig { management, queue, ..config() });
    for n in 0..500u32 {
        let packet = Packet { flow: 1, ect: true, ..Packet::new(1500) };
        let _ = link.handle(at(u64::from(n) / 2), packet, n);
    }
    let mut marks = 0;
    while let Some(when) = link.deadline() {
        while let Some(packet) = link.poll(when) {
            marks += u64::from(packet.congestion_experienced);
        }
    }
    assert!(marks > 5, "{marks} marks");
    assert_eq!((link.stats().marked_packets, link.stats().dropped_packets()), (marks, 0));
}
