//! The links, and the table.

use std::time::Duration;

use farlink_emu::{EmulatedTopology, Release, Snapshot, Wire};
use net::{LinkConfig, QueueLimit, Rate};
use units::BitsPerSec;

use crate::bulk::Measured;

/// A link, the same both ways.
pub struct Setting {
    /// Name in the table.
    pub name: &'static str,
    /// Rate, Mbit/s; none if unlimited.
    pub mbit: Option<u64>,
    /// One-way delay.
    pub delay_ms: u64,
    /// Queue limit, packets.
    pub queue: u32,
    /// True if a TCP flow runs beside the ping.
    pub has_flow: bool,
    /// Release of packets; none for the one that suits the rate.
    pub release: Option<Release>,
}

/// The links of the table.
pub const SETTINGS: [Setting; 6] = [
    Setting { name: "50 ms", mbit: None, delay_ms: 50, queue: 0, has_flow: false, release: None },
    Setting { name: "no delay", mbit: None, delay_ms: 0, queue: 0, has_flow: true, release: None },
    Setting {
        name: "100 Mbit/s exact",
        mbit: Some(100),
        delay_ms: 10,
        queue: 200,
        has_flow: true,
        release: Some(Release::Exact),
    },
    Setting {
        name: "100 Mbit/s coalesced",
        mbit: Some(100),
        delay_ms: 10,
        queue: 200,
        has_flow: true,
        release: Some(Release::THRIFTY),
    },
    Setting {
        name: "1000 Mbit/s",
        mbit: Some(1000),
        delay_ms: 0,
        queue: 1000,
        has_flow: true,
        release: None,
    },
    Setting {
        name: "1000 Mbit/s far",
        mbit: Some(1000),
        delay_ms: 10,
        queue: 2000,
        has_flow: true,
        release: None,
    },
];

impl Setting {
    /// The links, and the release of packets from them.
    pub fn topology(&self) -> (EmulatedTopology, Release) {
        let delay = Duration::from_millis(self.delay_ms);
        let link = match self.mbit {
            None => LinkConfig::delay(delay),
            Some(mbit) => {
                let rate = Rate::Constant(BitsPerSec::mbit(mbit));
                LinkConfig::new(rate, delay, QueueLimit::Packets(self.queue))
            }
        };
        let topology = EmulatedTopology::between(link.clone(), link);
        let release = self.release.unwrap_or_else(|| Release::suiting(&topology));
        (topology, release)
    }
}

/// The table's head.
pub const HEAD: &str = "\
| link | wire | release | Mbit/s | CPU-s/Gbit | sent again | pings | ping error, mean / mdev / most, ms | late |
|---|---|---|---|---|---|---|---|---|";

/// One line.
pub fn row(
    name: &str,
    wire: Wire,
    release: Release,
    flow: Option<Measured>,
    errors: &[f64],
    snapshot: &Snapshot,
) -> String {
    let flow = flow.map_or("- | - | -".to_owned(), |flow| {
        let Measured { goodput, cpu_per_gbit, retransmitted } = flow;
        format!("{:.0} | {cpu_per_gbit:.2} | {retransmitted}", goodput / 1e6)
    });
    let release = match release {
        Release::Exact => "exact".to_owned(),
        Release::Coalesced { quantum } => format!("coalesced, {} us", quantum.as_micros()),
    };
    let count = errors.len() as f64;
    let mean = errors.iter().sum::<f64>() / count;
    // The standard deviation, as in ping(8).
    let square = errors.iter().map(|error| (error - mean).powi(2)).sum::<f64>() / count;
    let most = errors.iter().copied().fold(f64::NAN, f64::max);
    let validity = match snapshot.check() {
        Ok(()) => snapshot.punctuality.to_string(),
        Err(invalid) => format!("INVALID: {invalid}"),
    };
    let pings = format!("{} | {mean:.3} / {:.3} / {most:.2}", errors.len(), square.sqrt());
    format!("| {name} | {wire} | {release} | {flow} | {pings} | {validity} |")
}
