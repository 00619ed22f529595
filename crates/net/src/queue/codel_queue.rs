//! One queue under CoDel: Linux's `sch_codel.c`.

use units::Time;

use super::codel::Control;
use super::{Backlog, Depth, Discipline, Drops, Queued};
use crate::{Codel, DropCause, QueueLimit};

/// A queue under CoDel.
pub(crate) struct CodelQueue<P> {
    params: Codel,
    mtu: u32,
    limit: QueueLimit,
    backlog: Backlog<P>,
    control: Control,
}

impl<P> CodelQueue<P> {
    pub(crate) fn new(params: Codel, limit: QueueLimit, mtu: u32) -> CodelQueue<P> {
        let control = Control::new();
        CodelQueue { params, mtu, limit, backlog: Backlog::new(), control }
    }
}

impl<P> Discipline<P> for CodelQueue<P> {
    fn enqueue(
        &mut self,
        _now: Time,
        packet: Queued<P>,
        _drops: &mut Drops<P>,
    ) -> Result<(), DropCause> {
        if !self.backlog.has_room(self.limit, &packet) {
            return Err(DropCause::QueueFull);
        }
        self.backlog.push(packet);
        Ok(())
    }

    fn dequeue(&mut self, now: Time, drops: &mut Drops<P>) -> Option<Queued<P>> {
        let CodelQueue { params, mtu, backlog, control, .. } = self;
        let take = || {
            let packet = backlog.take();
            (packet, backlog.bytes())
        };
        control.dequeue(now, params, *mtu, take, drops)
    }

    fn depth(&self) -> Depth {
        self.backlog.depth()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::discipline::tests::run;
    use super::*;

    fn queue(ecn: bool) -> CodelQueue<u32> {
        CodelQueue::new(Codel { ecn, ..Codel::default() }, QueueLimit::Packets(1000), 1500)
    }

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn below_target_nothing_is_dropped() {
        let run = run(&mut queue(false), MS, MS, Time::from_millis(5000), false);
        assert!(run.drops.is_empty() && run.refused == 0);
        assert!(run.left.len() > 4990);
    }

    /// With a source 10 % too fast the first drop comes an interval after the delay crossed the target, the next ones
    /// at the intervals of the control law.
    #[test]
    fn a_standing_queue_is_dropped_from_at_the_laws_intervals() {
        let run = run(&mut queue(false), 9 * MS / 10, MS, Time::from_millis(600), false);
        let drops: Vec<f64> = run.drops.iter().map(|drop| drop.at.as_secs_f64() * 1e3).collect();
        // The delay is 1 ms and grows by 0.1 ms per packet: 5 ms at 41 ms; plus 100 ms.
        assert!((141.0..=142.0).contains(&drops[0]), "{drops:?}");
        assert!((drops[1] - drops[0] - 100.0).abs() <= 1.0, "{drops:?}");
        let later: Vec<f64> = drops.windows(2).skip(1).map(|pair| pair[1] - pair[0]).collect();
        for (step, law) in later.iter().zip([50.0, 56.2, 48.8]) {
            assert!((step - law).abs() <= 1.2, "{later:?}");
        }
        assert!(run.drops.iter().all(|drop| drop.cause == DropCause::Managed));
    }

    #[test]
    fn packets_that_know_ecn_are_marked_instead() {
        let until = Time::from_millis(600);
        let marked = run(&mut queue(true), 9 * MS / 10, MS, until, true);
        assert!(marked.drops.is_empty());
        let marks = marked.left.iter().filter(|(.., marked)| *marked).count();
        let dropped = run(&mut queue(true), 9 * MS / 10, MS, until, false);
        assert!(dropped.drops.len().abs_diff(marks) <= 2 && marks > 4, "{marks} marks");
        assert!(dropped.left.iter().all(|(.., marked)| !marked));
    }

    #[test]
    fn the_limit_holds() {
        let mut queue = CodelQueue::new(Codel::default(), QueueLimit::Packets(10), 1500);
        let run = run(&mut queue, MS / 10, MS, Time::from_millis(50), false);
        assert!(run.refused > 400, "{} refused", run.refused);
        assert!(queue.depth().packets <= 10);
    }
}
