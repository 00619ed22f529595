//! Recorded rates.

use super::*;

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

/// A stalled link has no deadline, so nothing waits for it.
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
