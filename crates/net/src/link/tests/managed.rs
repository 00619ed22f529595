//! Queues that drop or mark before they are full.

use super::*;

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
