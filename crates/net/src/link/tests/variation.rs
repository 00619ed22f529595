//! Delays that vary: jitter, reordering, repetitions.

use super::*;

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
        assert_eq!(offer(&mut link, at(0), 1500, n), Verdict::Queued);
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
