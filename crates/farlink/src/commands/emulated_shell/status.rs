//! Status line of the links.

use std::io::Write;
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::Duration;

use emu::{Control, LinkReport, Snapshot};
use units::BitsPerSec;

use super::account::{Direction, last};

/// Refresh interval of the line.
const PERIOD: Duration = Duration::from_millis(500);

/// Periodically writes a line to `channel`, for as long as there is a reader and the emulator runs.
pub fn tell(control: Control, mut channel: UnixStream) {
    thread::spawn(move || {
        let Ok(mut before) = control.snapshot() else { return };
        loop {
            pause();
            let Ok(now) = control.snapshot() else { return };
            if writeln!(channel, "{}", line(&before, &now)).is_err() {
                return;
            }
            before = now;
        }
    });
}

#[expect(clippy::disallowed_methods, reason = "real time: people read this")]
fn pause() {
    thread::sleep(PERIOD);
}

/// "down 1.60 Mbit/s, queue 45 ms | up 0.0 kbit/s, queue 0 ms | dropped 3 | late p99 80 us".
fn line(before: &Snapshot, now: &Snapshot) -> String {
    let span = now.at - before.at;
    let direction = |direction| {
        let rate = rate(delivered(now, direction) - delivered(before, direction), span);
        format!("{rate}, queue {} ms", queueing(before, now, direction).as_millis())
    };
    format!(
        "down {} | up {} | dropped {} | late p99 {} us",
        direction(Direction::Down),
        direction(Direction::Up),
        now.dropped,
        now.punctuality.p99.as_micros()
    )
}

fn delivered(snapshot: &Snapshot, direction: Direction) -> u64 {
    last(&snapshot.links, direction).map_or(0, |link| link.stats.delivered_bytes)
}

/// A rate with about three significant figures.
fn rate(bytes: u64, span: Duration) -> String {
    let nanos = span.as_nanos().max(1);
    let rate = BitsPerSec((u128::from(bytes) * 8 * 1_000_000_000 / nanos) as u64).0 as f64;
    match rate {
        rate if rate >= 1e9 => format!("{:.2} Gbit/s", rate / 1e9),
        rate if rate >= 1e6 => format!("{:.2} Mbit/s", rate / 1e6),
        rate => format!("{:.1} kbit/s", rate / 1e3),
    }
}

/// Mean queueing delay of the packets served in between, over all links of one direction.
fn queueing(before: &Snapshot, now: &Snapshot, direction: Direction) -> Duration {
    let links = before.links.iter().zip(&now.links);
    links.filter(|(_, link)| direction.has(&link.name)).map(|(b, n)| waited(b, n)).sum()
}

fn waited(before: &LinkReport, now: &LinkReport) -> Duration {
    let packets = now.stats.served_packets - before.stats.served_packets;
    let total = now.stats.waited.total() - before.stats.waited.total();
    total.checked_div(u32::try_from(packets).unwrap_or(u32::MAX)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_have_three_figures() {
        assert_eq!(rate(100_000, Duration::from_millis(500)), "1.60 Mbit/s");
        assert_eq!(rate(0, Duration::ZERO), "0.0 kbit/s");
        assert_eq!(rate(1 << 30, Duration::from_secs(1)), "8.59 Gbit/s");
    }
}
