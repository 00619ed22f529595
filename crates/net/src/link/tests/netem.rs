//! `netem_enqueue`: limit, then `max(now + delay, the last one's time) + length / rate`.

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
    for (rate, is_reordered) in [(Rate::UNLIMITED, true), (BitsPerSec::mbit(12).into(), false)] {
        let mut link = netem(LinkConfig { rate, jitter, queue, ..config() });
        for n in 0..100 {
            assert_eq!(offer(&mut link, at(u64::from(n)), 1500, n), Verdict::Queued);
        }
        let arrivals = drain(&mut link);
        assert_eq!(!arrivals.is_sorted_by_key(|arrival| arrival.2), is_reordered);
        assert_eq!(link.stats().reordered_packets > 0, is_reordered);
    }
}
