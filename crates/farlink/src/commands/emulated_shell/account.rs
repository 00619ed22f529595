//! Account of the links' activity: a line at the end, a status line meanwhile, and JSON for `--log`.

use std::fs::File;
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use emu::{ControlSocket, EmulatedDrop, EmulatedLinkReport, Snapshot};
use net::{DropCause, LinkStats};
use serde_json::{Value, json};
use units::BitsPerSec;

use crate::args::Shell;
use crate::failure::CliError;
use crate::show::units::{bytes, counted};

/// Version of the JSON format.
const FORMAT: u32 = 1;

/// "carried 20 packets (1.2 KB) up and 30 (40 KB) down; dropped 3 (1 lost, 2 queue full); late by ...".
pub fn line(snapshot: &Snapshot) -> String {
    let delivered = |direction: LinkDirection| -> String {
        let Some(last) = last(&snapshot.links, direction) else { return "nothing".to_owned() };
        let packets = counted(last.stats.delivered_packets as usize, "packet");
        format!("{packets} ({})", bytes(last.stats.delivered_bytes as f64))
    };
    format!(
        "carried {} up and {} down; dropped {}; {}",
        delivered(LinkDirection::Up),
        delivered(LinkDirection::Down),
        dropped(&snapshot.links),
        snapshot.punctuality
    )
}

/// A direction over all links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkDirection {
    /// To the server.
    Up,
    /// To the client.
    Down,
}

impl LinkDirection {
    /// Returns true if a link of this name, as a topology gives it, has this direction.
    pub fn has(self, name: &str) -> bool {
        name.ends_with(match self {
            LinkDirection::Up => "up",
            LinkDirection::Down => "down",
        })
    }
}

/// The last link that packets cross: the farthest up, the nearest down.
pub fn last(links: &[EmulatedLinkReport], direction: LinkDirection) -> Option<&EmulatedLinkReport> {
    let mut these = links.iter().filter(|link| direction.has(&link.name));
    match direction {
        LinkDirection::Up => these.next_back(),
        LinkDirection::Down => these.next(),
    }
}

/// "none", or "3 (1 lost, 2 queue full)".
fn dropped(links: &[EmulatedLinkReport]) -> String {
    let sum =
        |count: fn(&LinkStats) -> u64| -> u64 { links.iter().map(|link| count(&link.stats)).sum() };
    let counts = [
        (sum(|stats| stats.lost_packets), "lost"),
        (sum(|stats| stats.queue_full_packets), "queue full"),
        (sum(|stats| stats.managed_packets), "by queue management"),
        (sum(|stats| stats.too_big_packets), "too big"),
    ];
    let total: u64 = counts.iter().map(|(count, _)| count).sum();
    let parts: Vec<String> = counts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, why)| format!("{count} {why}"))
        .collect();
    if parts.is_empty() { "none".to_owned() } else { format!("{total} ({})", parts.join(", ")) }
}

/// The complete account, with every remembered drop.
pub fn json(args: &Shell, snapshot: &Snapshot, drops: &emu::DropLog) -> Value {
    let invalid = snapshot.check().err();
    json!({
        "format": FORMAT,
        "farlink": env!("CARGO_PKG_VERSION"),
        "networks": args.network,
        "seed": args.seed,
        "duration_ns": (snapshot.at - units::Time::ZERO).as_nanos() as u64,
        "valid": invalid.is_none(),
        "invalid_because": invalid.map(|invalid| invalid.to_string()),
        "lateness_p50_ns": nanos(snapshot.punctuality.p50),
        "lateness_p99_ns": nanos(snapshot.punctuality.p99),
        "lateness_max_ns": nanos(snapshot.punctuality.max),
        "overrun_packets": snapshot.overruns,
        "refused_packets": snapshot.refused,
        "real_time_priority": snapshot.realtime,
        "wire": snapshot.wire.to_string(),
        "links": snapshot.links.iter().map(link).collect::<Vec<_>>(),
        "dropped_packets": drops.total(),
        "drops_left_out": drops.forgotten(),
        "drops": drops.iter().map(|drop| drop_json(drop, &snapshot.links)).collect::<Vec<_>>(),
    })
}

fn link(link: &EmulatedLinkReport) -> Value {
    let stats = &link.stats;
    json!({
        "name": link.name,
        "rate": link.config.rate.to_string(),
        "delay_ns": nanos(link.config.delay),
        "loss": link.config.loss.to_string(),
        "queue": link.config.queue.to_string(),
        "offered_packets": stats.offered_packets,
        "offered_bytes": stats.offered_bytes,
        "duplicated_packets": stats.duplicated_packets,
        "delivered_packets": stats.delivered_packets,
        "delivered_bytes": stats.delivered_bytes,
        "lost_packets": stats.lost_packets,
        "queue_full_packets": stats.queue_full_packets,
        "managed_packets": stats.managed_packets,
        "too_big_packets": stats.too_big_packets,
        "marked_packets": stats.marked_packets,
        "inside_packets": link.inside,
        "max_queue_packets": stats.max_queue_packets,
    })
}

fn drop_json(drop: &EmulatedDrop, links: &[EmulatedLinkReport]) -> Value {
    json!({
        "at_ns": (drop.at - units::Time::ZERO).as_nanos() as u64,
        "link": links.get(drop.link).map(|link| &link.name),
        "wire_bytes": drop.wire_bytes,
        "cause": cause(drop.cause),
    })
}

fn cause(cause: DropCause) -> &'static str {
    match cause {
        DropCause::Loss => "loss",
        DropCause::QueueFull => "queue-full",
        DropCause::Managed => "managed",
        DropCause::TooBig => "too-big",
    }
}

fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

/// A file created empty before anything is measured, so that an unwritable path is known at once.
pub struct LogFile {
    path: PathBuf,
    file: File,
}

impl LogFile {
    /// Creates it, or truncates it.
    pub fn create(path: &Path) -> Result<LogFile, CliError> {
        let file = File::create(path)
            .map_err(|error| CliError::bad_input(format!("--log {}: {error}", path.display())))?;
        Ok(LogFile { path: path.to_owned(), file })
    }

    /// Writes the whole account.
    pub fn write(mut self, account: &Value) -> Result<(), CliError> {
        writeln!(self.file, "{account:#}").map_err(|error| {
            CliError::machine(format!("cannot write {}: {error}", self.path.display()))
        })
    }
}

/// Refresh interval of the line.
const PERIOD: Duration = Duration::from_millis(500);

/// Periodically writes a line to `channel`, for as long as there is a reader and the emulator runs.
pub fn tell_status(control: ControlSocket, mut channel: UnixStream) {
    thread::spawn(move || {
        let Ok(mut before) = control.snapshot() else { return };
        loop {
            pause();
            let Ok(now) = control.snapshot() else { return };
            if writeln!(channel, "{}", status_line(&before, &now)).is_err() {
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
fn status_line(before: &Snapshot, now: &Snapshot) -> String {
    let span = now.at - before.at;
    let direction = |direction| {
        let rate = rate(delivered(now, direction) - delivered(before, direction), span);
        format!("{rate}, queue {} ms", queueing(before, now, direction).as_millis())
    };
    format!(
        "down {} | up {} | dropped {} | late p99 {} us",
        direction(LinkDirection::Down),
        direction(LinkDirection::Up),
        now.dropped,
        now.punctuality.p99.as_micros()
    )
}

fn delivered(snapshot: &Snapshot, direction: LinkDirection) -> u64 {
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
fn queueing(before: &Snapshot, now: &Snapshot, direction: LinkDirection) -> Duration {
    let links = before.links.iter().zip(&now.links);
    links.filter(|(_, link)| direction.has(&link.name)).map(|(b, n)| waited(b, n)).sum()
}

fn waited(before: &EmulatedLinkReport, now: &EmulatedLinkReport) -> Duration {
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
