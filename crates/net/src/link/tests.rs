use std::time::Duration;

use chance::Source;
use proptest::prelude::*;
use units::{BitsPerSec, Time};

use super::*;
use crate::{
    Channels, Codel, Direction, Handover, Jitter, JitterShape, LossModel, Management, Pie,
    ProportionalFair, QueueLimit, Rate, Reorder, Scheduler, Trace, TraceOptions,
};

mod shared;

const MS: u64 = 1_000_000;

fn config() -> LinkConfig {
    LinkConfig::new(BitsPerSec::mbit(12), Duration::from_millis(10), QueueLimit::Packets(2))
}

fn link(config: LinkConfig) -> Link<u32> {
    Link::new(config, &Source::new(1, 0), "test")
}

/// Offers a packet of so many bytes.
fn offer(link: &mut Link<u32>, now: Time, bytes: u32, body: u32) -> Verdict {
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
    // One in service, two waiting, the fourth is too much.
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

/// Dummynet's own clock: the timer runs every 4 ms and then sees all ticks since.
mod dummynet {
    use super::*;

    fn pipe(kbit: u64, delay_ms: u64, timer_ms: u64) -> Link<u32> {
        let timer = Duration::from_millis(timer_ms);
        let plain = LinkConfig::new(
            BitsPerSec::kbit(kbit),
            Duration::from_millis(delay_ms),
            QueueLimit::Packets(50),
        );
        let tick = Duration::from_millis(1);
        link(LinkConfig { emulator: Emulator::Dummynet { tick, timer }, ..plain })
    }

    /// One 1500-byte packet at 150 kbit/s takes 80 ms; 50 slots and the one in service drain in 4 s more.
    #[test]
    fn fifty_slots_at_150_kbit_drain_in_four_seconds() {
        for timer_ms in [1, 4] {
            let mut link = pipe(150, 0, timer_ms);
            let accepted =
                (0..60).filter(|n| offer(&mut link, at(0), 1500, *n) == Verdict::Queued).count();
            assert_eq!(accepted, 51, "one in service and 50 slots");
            let arrivals = drain(&mut link);
            assert_eq!(arrivals[0].0, at(80));
            assert_eq!(arrivals[50].0, at(4080));
            assert_eq!(link.stats().service_rate(), Some(BitsPerSec::kbit(150)));
        }
    }

    /// 367 KB in full packets over 150 kbit/s take 19.6 s and the headers' share: 20.1 s in 251 packets.
    #[test]
    fn a_page_takes_as_long_as_its_bytes() {
        let mut link = pipe(150, 0, 4);
        let packets = 367_000u32.div_ceil(1460);
        let mut now = at(0);
        for n in 0..packets {
            while link.deadline().is_some_and(|due| due <= now) {
                let _ = link.poll(now);
            }
            assert_eq!(offer(&mut link, now, 1500, n), Verdict::Queued);
            now += Duration::from_millis(80);
        }
        let last = drain(&mut link).last().map(|arrival| arrival.0).expect("packets are left");
        let seconds = last.as_secs_f64();
        assert!((19.6..=20.4).contains(&seconds), "{seconds} s for {packets} packets");
    }

    /// At 10 Mbit/s a packet takes 1.2 ms: packets leave in batches of three or four, at the timer's runs, and
    /// the credit keeps the rate.
    #[test]
    fn packets_leave_in_batches_at_the_timers_runs() {
        let mut link = pipe(10_000, 25, 4);
        for n in 0..50 {
            assert_eq!(offer(&mut link, Time::from_micros(100), 1500, n), Verdict::Queued);
        }
        let arrivals = drain(&mut link);
        assert!(arrivals.iter().all(|(when, ..)| when.as_nanos() % (4 * MS) == 0));
        let batches: Vec<usize> = arrivals.chunk_by(|a, b| a.0 == b.0).map(<[_]>::len).collect();
        assert!(batches.iter().all(|batch| (1..=4).contains(batch)), "{batches:?}");
        // 50 packets of 1.2 ms and 25 ms of delay, up to a run of the timer later.
        let last = arrivals[49].0.as_secs_f64() * 1e3;
        assert!((85.0..=92.0).contains(&last), "{last} ms");
    }

    #[test]
    fn loss_comes_before_the_slots() {
        let lossy = LinkConfig { loss: LossModel::Random(1.0), ..config() };
        let ms = Duration::from_millis;
        let emulator = Emulator::Dummynet { tick: ms(1), timer: ms(4) };
        let mut link = link(LinkConfig { emulator, ..lossy });
        for n in 0..9 {
            assert_eq!(offer(&mut link, at(0), 1500, n), Verdict::Dropped(DropCause::Loss));
        }
    }
}

/// FreeBSD at `kern.hz=100`: the timer runs every tick of 10 ms, and delays are cut to whole ones.
#[test]
fn a_coarse_tick_cuts_delays_and_keeps_the_rate() {
    let tick = Duration::from_millis(10);
    let emulator = Emulator::Dummynet { tick, timer: tick };
    let queue = QueueLimit::Packets(50);
    let rate = BitsPerSec::kbit(1200).into();
    let delay = Duration::from_millis(29);
    let mut link = link(LinkConfig { emulator, queue, rate, delay, ..config() });
    for n in 0..50 {
        assert_eq!(offer(&mut link, at(3), 1500, n), Verdict::Queued);
    }
    // A packet takes one tick; of 29 ms two ticks are left.
    let arrivals: Vec<Time> = drain(&mut link).iter().map(|arrival| arrival.0).collect();
    assert_eq!(arrivals, (0..50).map(|n| at(30 + 10 * n)).collect::<Vec<_>>());
}

/// `dn_enqueue`: a queue in bytes is full when it holds more than its limit, whatever comes.
#[test]
fn dummynets_queue_in_bytes_may_go_over_by_a_packet() {
    let tick = Duration::from_millis(1);
    let dummynet = Emulator::Dummynet { tick, timer: tick };
    for (emulator, accepted) in [(Emulator::Farlink, 3), (dummynet, 4)] {
        let queue = QueueLimit::Bytes(3000);
        let rate = BitsPerSec::kbit(100).into();
        let mut link = link(LinkConfig { emulator, queue, rate, ..config() });
        // One is in service; two fill 3000 bytes, which is not more than 3000.
        let found = (0..9).filter(|n| offer(&mut link, at(0), 1500, *n) == Verdict::Queued).count();
        assert_eq!(found, accepted, "{emulator:?}");
    }
}

/// An LTE cell's link: what is late is late after it was serialised, so that a full queue hides none of it, and the rate holds.
#[test]
fn repetitions_come_after_the_queue_and_take_no_rate() {
    let harq = Some(crate::Harq::default());
    let queue = QueueLimit::Unlimited;
    let mut link = link(LinkConfig { harq, queue, ..config() });
    for n in 0..5000 {
        assert_eq!(offer(&mut link, at(0), 1500, n), Verdict::Queued);
    }
    let arrivals = drain(&mut link);
    assert!(arrivals.iter().map(|arrival| arrival.2).eq(0..5000), "RLC keeps the order");
    let late = |(when, _, body): &(Time, u32, u32)| *when - at(11 + u64::from(*body));
    // A packet is a block here, and on time if none of the eight up to it failed, nor of sixteen twice: 0.9^8 * 0.99^8 * 0.999^8 = 39 %.
    let on_time = arrivals.iter().filter(|arrival| late(arrival).is_zero()).count();
    assert!((1700..2300).contains(&on_time), "{on_time} of 5000");
    assert!(arrivals.iter().all(|arrival| late(arrival) < Duration::from_millis(172)));
    assert!(link.stats().service_rate() == Some(BitsPerSec::mbit(12)));
}

/// `netem_enqueue`: limit, then `max(now + delay, the last one's time) + length / rate`.
mod netem {
    use super::*;

    fn netem(config: LinkConfig) -> Link<u32> {
        link(LinkConfig { emulator: Emulator::Netem, ..config })
    }

    #[test]
    fn the_limit_counts_what_is_merely_delayed() {
        let mut link = netem(LinkConfig { queue: QueueLimit::Packets(3), ..config() });
        // 1 ms apart, as fast as they are served: none waits, three are on their way.
        let verdicts: Vec<bool> =
            (0..5).map(|n| offer(&mut link, at(n), 1500, 0) == Verdict::Queued).collect();
        assert_eq!(verdicts, [true, true, true, false, false]);
        assert_eq!(link.stats().queue_full_packets, 2);
    }

    #[test]
    fn serialisation_comes_after_the_delay() {
        let mut link = netem(LinkConfig { queue: QueueLimit::Packets(1000), ..config() });
        for n in 0..3 {
            assert_eq!(offer(&mut link, at(0), 1500, n), Verdict::Queued);
        }
        assert_eq!(offer(&mut link, at(20), 1500, 3), Verdict::Queued);
        let arrivals: Vec<Time> = drain(&mut link).iter().map(|arrival| arrival.0).collect();
        assert_eq!(arrivals, [at(11), at(12), at(13), at(31)]);
        assert_eq!(link.stats().service_rate(), Some(BitsPerSec::mbit(12)));
    }

    #[test]
    fn without_a_rate_jitter_reorders_and_with_one_it_does_not() {
        let jitter = Jitter { spread: Duration::from_millis(8), shape: JitterShape::Uniform };
        let queue = QueueLimit::Packets(1000);
        for (rate, is_reordered) in [(Rate::UNLIMITED, true), (BitsPerSec::mbit(12).into(), false)]
        {
            let mut link = netem(LinkConfig { rate, jitter, queue, ..config() });
            for n in 0..100 {
                assert_eq!(offer(&mut link, at(u64::from(n)), 1500, n), Verdict::Queued);
            }
            let arrivals = drain(&mut link);
            assert_eq!(!arrivals.is_sorted_by_key(|arrival| arrival.2), is_reordered);
            assert_eq!(link.stats().reordered_packets > 0, is_reordered);
        }
    }
}

#[test]
fn a_trace_of_opportunities_makes_everybody_wait_for_one() {
    let mut link = link(LinkConfig { rate: traced("5\n10\n", false), ..config() });
    for n in 0..3 {
        let expected = [Verdict::Queued, Verdict::Queued, Verdict::Dropped(DropCause::QueueFull)];
        assert_eq!(offer(&mut link, at(0), 1500, n), expected[n as usize]);
    }
    let arrivals: Vec<Time> = drain(&mut link).iter().map(|arrival| arrival.0).collect();
    assert_eq!(arrivals, [at(15), at(20)]);
}

/// Nothing hangs on a link that stands still: it has no deadline.
#[test]
fn a_stalled_link_has_no_deadline() {
    for management in [Management::DropTail, Management::Codel(Codel::default())] {
        let rate = traced("0 0\n1 0\n", false);
        let mut link = link(LinkConfig { rate, management, ..config() });
        for n in 0..2 {
            assert_eq!(offer(&mut link, at(0), 1500, n), Verdict::Queued);
        }
        assert_eq!((link.deadline(), link.in_flight()), (None, 2));
        assert_eq!(link.poll(at(3_600_000)), None);
        assert_eq!(link.stats().served_packets, 0);
    }
    let mut ended = link(LinkConfig { rate: traced("1\n", true), ..config() });
    for n in 0..2 {
        assert_eq!(offer(&mut ended, at(0), 1500, n), Verdict::Queued);
    }
    assert_eq!(drain(&mut ended), [(at(11), 1500, 0)]);
    assert_eq!(ended.in_flight(), 1);
}

fn traced(text: &str, once: bool) -> Rate {
    let options = TraceOptions { unit: None, once };
    let trace = Trace::from_bytes("t", text.as_bytes(), Direction::Down, options);
    Rate::Trace(trace.expect("a trace").into())
}

#[test]
fn jitter_keeps_order_unless_reordering_is_asked_for() {
    let jitter = Jitter { spread: Duration::from_millis(9), shape: JitterShape::Uniform };
    let calm = LinkConfig { jitter, queue: QueueLimit::Unlimited, ..config() };
    for (reorder, is_reordered) in [(Reorder::Never, false), (Reorder::ByJitter, true)] {
        let mut link = link(LinkConfig { reorder, ..calm.clone() });
        for n in 0..1000 {
            assert_eq!(offer(&mut link, at(2 * u64::from(n)), 1500, n), Verdict::Queued);
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
        assert_eq!(offer(&mut link, at(u64::from(n)), 1500, n), Verdict::Queued);
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
        assert_eq!(offer(&mut link, at(u64::from(n)), 1500, n), Verdict::Queued);
    }
    let delays: Vec<f64> = drain(&mut link)
        .iter()
        .map(|(when, _, body)| (*when - at(u64::from(*body))).as_secs_f64() * 1e3)
        .collect();
    let mean = delays.iter().sum::<f64>() / 5000.0;
    let variance = delays.iter().map(|delay| (delay - mean).powi(2)).sum::<f64>() / 5000.0;
    assert!((mean - 11.0).abs() < 0.15 && (variance.sqrt() - 2.0).abs() < 0.1, "{mean} {variance}");
}

#[test]
fn a_managed_queue_serves_as_a_plain_one_until_it_must_act() {
    let plain = LinkConfig { queue: QueueLimit::Packets(50), ..config() };
    let codel = LinkConfig { management: Management::Codel(Codel::default()), ..plain.clone() };
    let run = |config| {
        let mut link = link(config);
        for n in 0..40 {
            assert_eq!(offer(&mut link, at(u64::from(n) / 2), 1500, n), Verdict::Queued);
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
        assert_eq!(offer(&mut link, at(0), 1500, n), Verdict::Queued);
    }
    let fallen = link.fallen().expect("one in service, two wait, one is too much");
    assert_eq!((fallen.at, fallen.body, fallen.cause), (at(0), 1, DropCause::QueueFull));
    assert_eq!(link.fallen(), None);
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

#[derive(Clone, Debug)]
struct Offer {
    gap_ns: u64,
    bytes: u32,
    flow: u32,
    ect: bool,
    user: u32,
}

fn offers() -> impl Strategy<Value = Vec<Offer>> {
    let offer = (0..3_000_000u64, 40..=1600u32, any::<u32>(), any::<bool>(), 0..3u32)
        .prop_map(|(gap_ns, bytes, flow, ect, user)| Offer { gap_ns, bytes, flow, ect, user });
    prop::collection::vec(offer, 1..200)
}

fn scheduler() -> impl Strategy<Value = Scheduler> {
    prop_oneof![
        2 => Just(Scheduler::Fifo),
        1 => Just(Scheduler::RoundRobin),
        1 => Just(Scheduler::ProportionalFair(ProportionalFair::default())),
    ]
}

fn channels() -> impl Strategy<Value = Channels> {
    prop_oneof![2 => Just(vec![]), 1 => Just(vec![1.0, 0.3])].prop_map(Channels::new)
}

fn handover() -> impl Strategy<Value = Option<Handover>> {
    let some = any::<bool>().prop_map(|lossless| {
        let ms = Duration::from_millis;
        Some(Handover { every: ms(40), least: ms(3), most: ms(9), lossless })
    });
    prop_oneof![2 => Just(None), 1 => some]
}

fn any_link() -> impl Strategy<Value = LinkConfig> {
    let rate = prop_oneof![
        (100..100_000u64).prop_map(|kbit| Rate::from(BitsPerSec::kbit(kbit))),
        Just(Rate::UNLIMITED),
        Just(traced("1\n1\n2\n30\n", false)),
        Just(traced("0 12\n0.05 0\n0.1 1\n", false)),
    ];
    let queue = prop_oneof![
        (1..20u32).prop_map(QueueLimit::Packets),
        (0..30_000u64).prop_map(QueueLimit::Bytes),
        Just(QueueLimit::Unlimited),
    ];
    let codel = Codel { ecn: true, target: Duration::from_millis(1), ..Codel::default() };
    let management = prop_oneof![
        4 => Just(Management::DropTail),
        1 => Just(Management::DropHead),
        1 => Just(Management::Codel(codel)),
        1 => Just(Management::FqCodel(codel)),
        1 => Just(Management::Pie(Pie { ecn: true, ..Pie::default() })),
    ];
    let emulator = prop_oneof![
        4 => Just(Emulator::Farlink),
        1 => Just(Emulator::Netem),
        1 => Just(Emulator::Dummynet { tick: Duration::from_millis(1), timer: Duration::from_millis(4) }),
    ];
    let spread = prop_oneof![Just(0), 0..15_000u64].prop_map(Duration::from_micros);
    let jitter = spread.prop_map(|spread| Jitter { spread, shape: JitterShape::Uniform });
    let reorder = prop_oneof![2 => Just(Reorder::Never), 1 => Just(Reorder::ByJitter), 1 => Just(Reorder::Jump(0.2))];
    let chances = (prop_oneof![Just(0.0), 0.0..0.5f64], prop_oneof![Just(0.0), 0.0..0.5f64]);
    let (variation, shared) = ((jitter, reorder), (scheduler(), channels(), handover()));
    (rate, queue, management, emulator, variation, chances, shared).prop_map(
        |(rate, queue, management, emulator, (jitter, reorder), (loss, duplicate), shared)| {
            LinkConfig {
                scheduler: shared.0,
                channels: shared.1,
                handover: shared.2,
                harq: (duplicate > 0.1).then(crate::Harq::default),
                queue,
                management,
                emulator,
                jitter,
                reorder,
                loss: LossModel::Random(loss),
                duplicate,
                processing_jitter: ProcessingJitter::UpToOneSerialisation,
                ..LinkConfig::new(rate, Duration::from_millis(10), queue)
            }
        },
    )
}

proptest! {
    /// At any time: offered + duplicated = delivered + dropped + in flight; at the end nothing is left. Order is
    /// kept unless reordering is asked for.
    #[test]
    fn every_packet_is_accounted_for(
        offers in offers(),
        config in any_link(),
        seed in any::<u64>(),
    ) {
        let keeps_order = config.reorder == Reorder::Never
            && config.emulator != Emulator::Netem
            && config.scheduler == Scheduler::Fifo
            && !matches!(config.management, Management::FqCodel(_));
        let mut link = Link::new(config, &Source::new(seed, 0), "test");
        let (mut now, mut bodies, mut fallen) = (Time::ZERO, Vec::new(), 0);
        for (body, offer) in offers.iter().enumerate() {
            now += Duration::from_nanos(offer.gap_ns);
            while let Some(packet) = link.poll(now) {
                bodies.push(packet.body);
            }
            let Offer { bytes, flow, ect, user, .. } = *offer;
            let _ = link.handle(now, Packet { wire_bytes: bytes, flow, ect, user }, body);
            while let Some(packet) = link.fallen() {
                prop_assert!(packet.at <= now);
                fallen += 1;
            }
            let stats = link.stats();
            prop_assert_eq!(
                stats.offered_packets + stats.duplicated_packets,
                stats.delivered_packets + stats.dropped_packets() + link.in_flight() as u64
            );
        }
        while let Some(due) = link.deadline() {
            prop_assert!(due >= now || link.in_flight() > 0);
            now = now.max(due);
            while let Some(packet) = link.poll(now) {
                bodies.push(packet.body);
            }
            while link.fallen().is_some() {
                fallen += 1;
            }
        }
        let stats = *link.stats();
        prop_assert_eq!(link.in_flight(), 0);
        prop_assert_eq!(stats.served_packets, stats.delivered_packets);
        prop_assert_eq!(
            stats.offered_bytes + stats.duplicated_bytes,
            stats.delivered_bytes + stats.dropped_bytes
        );
        prop_assert!(stats.managed_packets + stats.queue_full_packets + stats.lost_packets >= fallen);
        if keeps_order {
            prop_assert!(bodies.is_sorted(), "{:?}", bodies);
            prop_assert_eq!(stats.reordered_packets, 0);
        }
    }

    /// No stretch of the output is faster than the rate (by more than the packet that jitter may bring closer, and
    /// rounding), and without losses the service rate is the configured one.
    #[test]
    fn the_rate_is_never_exceeded(
        offers in offers(),
        kbit in 100..100_000u64,
        is_jittery in any::<bool>(),
    ) {
        let jitter = [ProcessingJitter::None, ProcessingJitter::UpToOneSerialisation];
        let processing_jitter = jitter[usize::from(is_jittery)];
        let rate = BitsPerSec::kbit(kbit);
        let queue = QueueLimit::Unlimited;
        let config = LinkConfig { rate: rate.into(), queue, processing_jitter, ..config() };
        let mut link = Link::new(config, &Source::new(7, 0), "test");
        let mut now = Time::ZERO;
        for offer in &offers {
            now += Duration::from_nanos(offer.gap_ns);
            let _ = link.handle(now, Packet::new(offer.bytes), 0u32);
        }
        let arrivals = drain(&mut link);
        let first = arrivals.first().map_or(Time::ZERO, |a| a.0);
        let slack = if is_jittery { rate.time_for(1500) } else { Duration::ZERO };
        let mut bytes_since = 0u64;
        for (n, (when, bytes, _)) in arrivals.iter().enumerate().skip(1) {
            bytes_since += u64::from(*bytes);
            let rounding = Duration::from_nanos(n as u64);
            prop_assert!(*when - first + slack + rounding >= rate.time_for(bytes_since));
        }
        if let Some(served) = link.stats().service_rate() {
            prop_assert!(served.0.abs_diff(rate.0) <= 1 + rate.0 / 10_000, "{}", served);
        }
    }
}
