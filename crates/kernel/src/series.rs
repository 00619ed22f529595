//! Time series of a connection from repeated snapshots.

use std::time::Duration;

use tcp::{Sample, Stats, Trigger};
use units::Time;

use crate::Snapshot;

/// Appends `snapshot` to a connection's series, unless nothing has changed since the last one.
pub fn note_change(series: &mut Vec<Sample>, at: Time, snapshot: &Snapshot) {
    let sample =
        Sample { at, trigger: Trigger::Look, state: snapshot.state(), stats: snapshot.stats() };
    let same =
        |last: &Sample| last.state == sample.state && still(&last.stats) == still(&sample.stats);
    if !series.last().is_some_and(same) {
        series.push(sample);
    }
}

/// The part that changes with events only: limit clocks run on their own while there is something to send.
fn still(stats: &Stats) -> Stats {
    Stats {
        busy: Duration::ZERO,
        rwnd_limited: Duration::ZERO,
        sndbuf_limited: Duration::ZERO,
        ..stats.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TcpInfo;

    #[test]
    fn only_changes_are_kept() {
        let mut series = Vec::new();
        let mut look = |at, info| {
            let snapshot = Snapshot { info, unacknowledged_bytes: 0, paced: false };
            note_change(&mut series, Time::from_millis(at), &snapshot);
        };
        let info = TcpInfo { state: 1, snd_cwnd: 10, busy_time: 1, ..TcpInfo::default() };
        look(1, info);
        look(2, TcpInfo { busy_time: 1001, ..info });
        look(3, TcpInfo { snd_cwnd: 11, ..info });
        look(4, TcpInfo { snd_cwnd: 11, state: 4, ..info });
        let kept: Vec<u64> = series.iter().map(|sample| sample.at.as_nanos() / 1_000_000).collect();
        assert_eq!(kept, [1, 3, 4]);
    }
}
