//! Emulators' links: dummynet's own clock, whose timer runs every 4 ms and then sees all ticks since the last run; netem.

use super::*;

fn pipe(kbit: u64, delay_ms: u64, timer_ms: u64) -> Link<u32> {
    let timer = Duration::from_millis(timer_ms);
    let plain = LinkConfig::new(
        BitsPerSec::kbit(kbit),
        Duration::from_millis(delay_ms),
        QueueLimit::Packets(50),
    );
    let tick = Duration::from_millis(1);
    link(LinkConfig { emulator: EmulatorModel::Dummynet { tick, timer }, ..plain })
}

/// One 1500-byte packet at 150 kbit/s takes 80 ms; 50 slots and the one in service drain in 4 s more.
#[test]
fn fifty_slots_at_150_kbit_drain_in_four_seconds() {
    for timer_ms in [1, 4] {
        let mut link = pipe(150, 0, timer_ms);
        let accepted =
            (0..60).filter(|n| offer(&mut link, at(0), 1500, *n) == Admission::Queued).count();
        assert_eq!(accepted, 51, "one in service and 50 slots");
        let arrivals = drain(&mut link);
        assert_eq!(arrivals[0].0, at(80));
        assert_eq!(arrivals[50].0, at(4080));
        assert_eq!(link.stats().service_rate(), Some(BitsPerSec::kbit(150)));
    }
}

/// 367 KB in full packets over 150 kbit/s take 19.6 s plus the headers' share: 20.1 s in 251 packets.
#[test]
fn a_page_takes_as_long_as_its_bytes() {
    let mut link = pipe(150, 0, 4);
    let packets = 367_000u32.div_ceil(1460);
    let mut now = at(0);
    for n in 0..packets {
        while link.deadline().is_some_and(|due| due <= now) {
            let _ = link.poll(now);
        }
        assert_eq!(offer(&mut link, now, 1500, n), Admission::Queued);
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
        assert_eq!(offer(&mut link, Time::from_micros(100), 1500, n), Admission::Queued);
    }
    let arrivals = drain(&mut link);
    assert!(arrivals.iter().all(|(when, ..)| when.as_nanos() % (4 * MS) == 0));
    let batches: Vec<usize> = arrivals.chunk_by(|a, b| a.0 == b.0).map(<[_]>::len).collect();
    assert!(batches.iter().all(|batch| (1..=4).contains(batch)), "{batches:?}");
    // 50 packets of 1.2 ms and 25 ms of delay, up to one timer period later.
    let last = arrivals[49].0.as_secs_f64() * 1e3;
    assert!((85.0..=92.0).contains(&last), "{last} ms");
}

#[test]
fn loss_comes_before_the_slots() {
    let lossy = LinkConfig { loss: LossModel::Random(1.0), ..config() };
    let ms = Duration::from_millis;
    let emulator = EmulatorModel::Dummynet { tick: ms(1), timer: ms(4) };
    let mut link = link(LinkConfig { emulator, ..lossy });
    for n in 0..9 {
        assert_eq!(offer(&mut link, at(0), 1500, n), Admission::Dropped(DropCause::Loss));
    }
}

/// FreeBSD at `kern.hz=100`: the timer runs every tick of 10 ms, and delays are truncated to whole ticks.
#[test]
fn a_coarse_tick_cuts_delays_and_keeps_the_rate() {
    let tick = Duration::from_millis(10);
    let emulator = EmulatorModel::Dummynet { tick, timer: tick };
    let queue = QueueLimit::Packets(50);
    let rate = BitsPerSec::kbit(1200).into();
    let delay = Duration::from_millis(29);
    let mut link = link(LinkConfig { emulator, queue, rate, delay, ..config() });
    for n in 0..50 {
        assert_eq!(offer(&mut link, at(3), 1500, n), Admission::Queued);
    }
    // A packet takes one tick; a delay of 29 ms is truncated to two ticks.
    let arrivals: Vec<Time> = drain(&mut link).iter().map(|arrival| arrival.0).collect();
    assert_eq!(arrivals, (0..50).map(|n| at(30 + 10 * n)).collect::<Vec<_>>());
}

/// `dn_enqueue`: a queue in bytes is full when it holds more than its limit, regardless of the new packet's size.
#[test]
fn dummynets_queue_in_bytes_may_go_over_by_a_packet() {
    let tick = Duration::from_millis(1);
    let dummynet = EmulatorModel::Dummynet { tick, timer: tick };
    for (emulator, accepted) in [(EmulatorModel::Farlink, 3), (dummynet, 4)] {
        let queue = QueueLimit::Bytes(3000);
        let rate = BitsPerSec::kbit(100).into();
        let mut link = link(LinkConfig { emulator, queue, rate, ..config() });
        // One is in service; two fill 3000 bytes, which is not more than 3000.
        let found =
            (0..9).filter(|n| offer(&mut link, at(0), 1500, *n) == Admission::Queued).count();
        assert_eq!(found, accepted, "{emulator:?}");
    }
}

// `netem_enqueue`: limit, then `max(now + delay, the last one's time) + length / rate`.

fn netem(config: LinkConfig) -> Link<u32> {
    link(LinkConfig { emulator: EmulatorModel::Netem, ..config })
}

#[test]
fn the_limit_counts_what_is_merely_delayed() {
    let mut link = netem(LinkConfig { queue: QueueLimit::Packets(3), ..config() });
    // 1 ms apart, as fast as they are served: none waits, three are on their way.
    let verdicts: Vec<bool> =
        (0..5).map(|n| offer(&mut link, at(n), 1500, 0) == Admission::Queued).collect();
    assert_eq!(verdicts, [true, true, true, false, false]);
    assert_eq!(link.stats().queue_full_packets, 2);
}

#[test]
fn serialisation_comes_after_the_delay() {
    let mut link = netem(LinkConfig { queue: QueueLimit::Packets(1000), ..config() });
    for n in 0..3 {
        assert_eq!(offer(&mut link, at(0), 1500, n), Admission::Queued);
    }
    assert_eq!(offer(&mut link, at(20), 1500, 3), Admission::Queued);
    let arrivals: Vec<Time> = drain(&mut link).iter().map(|arrival| arrival.0).collect();
    assert_eq!(arrivals, [at(11), at(12), at(13), at(31)]);
    assert_eq!(link.stats().service_rate(), Some(BitsPerSec::mbit(12)));
}

#[test]
fn without_a_rate_jitter_reorders_and_with_one_it_does_not() {
    let jitter = Jitter { spread: Duration::from_millis(8), shape: JitterShape::Uniform };
    let queue = QueueLimit::Packets(1000);
    for (rate, is_reordered) in [(Rate::UNLIMITED, true), (BitsPerSec::mbit(12).into(), false)] {
        let mut link = netem(LinkConfig { rate, jitter, queue, ..config() });
        for n in 0..100 {
            assert_eq!(offer(&mut link, at(u64::from(n)), 1500, n), Admission::Queued);
        }
        let arrivals = drain(&mut link);
        assert_eq!(!arrivals.is_sorted_by_key(|arrival| arrival.2), is_reordered);
        assert_eq!(link.stats().reordered_packets > 0, is_reordered);
    }
}
