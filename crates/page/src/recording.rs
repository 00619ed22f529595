//! A recorded load: its times object by object, and the network that it was recorded over.
//!
//! A page's think times are fitted to the times by simulation over that network (`testbed::fit`), so that the network does
//! not become part of the page.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Networks that are this many times faster than the recorded one are beyond what a recording tells.
const MOST_TIMES: f64 = 2.0;

/// So are round trips that are this many times shorter than the recorded one: a tenth of them is a fit's resolution.
const MOST_NEARER: f64 = 5.0;

/// Resolution of a fit: this share of a wait is noise.
const RESOLUTION: f64 = 0.02;

/// A simulation of the recorded load that is further off than this does not explain it, in percent.
const MOST_MISFIT_PERCENT: f64 = 10.0;

/// A simulation that lacks this share of the responses' time does not explain them, in percent.
const UNEXPLAINED_PERCENT: u64 = 5;

/// If the link was never full, so many nanoseconds of each must be lacking, too: such responses are short, and do not
/// delay each other.
const UNEXPLAINED_NS: u64 = 20_000_000;

/// A load as its source timed it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recording {
    /// Times of the page's objects, in the same order.
    pub objects: Vec<RecordedTimes>,
}

/// Times of one object, from the start of the first one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecordedTimes {
    /// Discovery.
    pub started: Duration,
    /// DNS lookup that it waited for; with the first object, also what the browser did before it.
    pub lookup: Duration,
    /// TCP's handshake, or QUIC's with its TLS, if it opened a connection: one round trip, unless the connection had
    /// been begun for another object.
    pub connect: Option<Duration>,
    /// TLS's handshake over TCP.
    pub tls: Option<Duration>,
    /// From the request to the first byte of the response; `None` if not stated.
    pub wait: Option<Duration>,
    /// Arrival of the first byte.
    pub head_at: Duration,
    /// Arrival of the last byte.
    pub end_at: Duration,
    /// True if a cache answered: the times say nothing of the network.
    pub from_cache: bool,
    /// True if its place in the document is only known by rank: one of several references, in order.
    pub is_placed_by_rank: bool,
}

/// The network of a recording, as far as the recording tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordedNetwork {
    /// Round trip to the nearest host.
    pub round_trip: RoundTripEstimate,
    /// Rate towards the client.
    pub down: RateEstimate,
    /// Rate used where `down` cannot be told, and its likeliest value otherwise, in bit/s.
    pub down_bit_per_s: u64,
    /// Rate towards the servers. No recording tells it: an assumption.
    pub up_bit_per_s: u64,
    /// Queue with the best fit, in packets.
    pub queue_packets: u64,
    /// Load time of the page as recorded; 0 if not known.
    #[serde(default)]
    pub recorded_ns: u64,
    /// DNS lookups on the way to its end, which are no part of the page.
    #[serde(default)]
    pub lookups_ns: u64,
    /// Difference between the recorded and the simulated responses, in percent of their time.
    #[serde(default)]
    pub unexplained_percent: u64,
    /// The same, of a response in the mean.
    #[serde(default)]
    pub unexplained_ns: u64,
    /// Packets that a full queue drops in the simulated load.
    #[serde(default)]
    pub dropped_packets: u64,
    /// Load time of the page over this network, simulated.
    pub load_ns: u64,
    /// Load time without any network: think times and work, as recorded.
    pub replayed_ns: u64,
}

/// Round trip to the nearest host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RoundTripEstimate {
    /// Shortest handshake; without any, the shortest wait for a response.
    pub shortest_ns: u64,
    /// Median handshake with the same host.
    pub median_ns: u64,
    /// Number of handshakes with it; 0 if the round trip cannot be told.
    pub handshakes: usize,
}

/// Rate of a link, in bit/s.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RateEstimate {
    /// The recording filled the link for a while.
    Told {
        /// Lower end of the interval.
        low: u64,
        /// Upper end.
        high: u64,
    },
    /// Cannot be told: this much passed in the busiest moment, and the link was not full.
    AtLeast(u64),
}

impl RecordedNetwork {
    /// The network as a description of farlink's: `rtt=60ms,down=3mbit,...`.
    pub fn spec(&self) -> String {
        format!(
            "rtt={}us,down={}bit,up={}bit,queue={}pkt",
            self.round_trip.shortest_ns / 1000,
            self.down_bit_per_s,
            self.up_bit_per_s,
            self.queue_packets
        )
    }

    /// Warnings for a load over a network of this round trip and rate: the recording does not tell enough, or the simulation
    /// does not explain it.
    pub fn warnings(&self, rtt: Duration, down_bit_per_s: u64) -> Vec<String> {
        self.misfits().into_iter().chain(self.extrapolation(rtt, down_bit_per_s)).collect()
    }

    /// Why a load over such a network is an extrapolation; `None` if it is not. What a full link or a long round trip hid
    /// from the recording cannot be told.
    fn extrapolation(&self, rtt: Duration, down_bit_per_s: u64) -> Option<String> {
        let faster = down_bit_per_s as f64 / self.down_bit_per_s as f64;
        let nearer = self.round_trip.shortest_ns as f64 / rtt.as_nanos().max(1) as f64;
        if self.tells_rate() && faster > MOST_TIMES {
            return Some(format!(
                "this is an extrapolation: the recorded link was full at {:.3} Mbit/s: think times that waiting for it hid are unknown",
                self.down_bit_per_s as f64 / 1e6
            ));
        }
        if self.tells_round_trip() && nearer > MOST_NEARER {
            return Some(format!(
                "this is an extrapolation: think times below {:.0} ms are lost in the recorded round trip",
                self.round_trip.shortest_ns as f64 / 1e6 * RESOLUTION
            ));
        }
        let replayed = self.replayed_ns as f64 / self.load_ns.max(1) as f64;
        (!self.tells_round_trip() && nearer > MOST_TIMES && replayed < 1.0).then(|| {
            "this is an extrapolation: the recording has no handshakes: its round trip is a guess, and so is every think time".to_owned()
        })
    }

    /// Parts of the recorded load that the simulation over its network does not explain.
    pub fn misfits(&self) -> Vec<String> {
        let percent = self.misfit_percent();
        let than = if percent < 0.0 { "shorter" } else { "longer" };
        let load = (percent.abs() > MOST_MISFIT_PERCENT).then(|| {
            format!(
                "the recorded load is {:.0} % {than} in simulation, without DNS lookups",
                percent.abs()
            )
        });
        let is_much = self.tells_rate() || self.unexplained_ns >= UNEXPLAINED_NS;
        let is_unexplained = self.unexplained_percent >= UNEXPLAINED_PERCENT && is_much;
        let responses = is_unexplained.then(|| {
            format!("{} % of the responses' time is not understood", self.unexplained_percent)
        });
        let drops = (self.dropped_packets > 0).then(|| {
            format!(
                "the recorded queue dropped {} packets: timeouts are not told from think times",
                self.dropped_packets
            )
        });
        [load, responses, drops].into_iter().flatten().collect()
    }

    /// The recorded load, its simulation, and how much of that is replayed, in words.
    pub fn load(&self) -> String {
        let s = |ns: u64| ns as f64 / 1e9;
        let lookups = match self.lookups_ns / 10_000_000 {
            0 => String::new(),
            _ => format!(" ({:.2} s of it DNS)", s(self.lookups_ns)),
        };
        let recorded = match self.recorded_ns {
            0 => String::new(),
            recorded => format!("{:.2} s recorded{lookups}, ", s(recorded)),
        };
        format!(
            "{recorded}{:.2} s simulated, of which {} % ({:.2} s) replayed: think times and work",
            s(self.load_ns),
            self.replayed_percent(),
            s(self.replayed_ns)
        )
    }

    /// Excess of the simulated load over the recorded one, without DNS lookups, in percent.
    pub fn misfit_percent(&self) -> f64 {
        match (self.load_ns, self.recorded_ns.saturating_sub(self.lookups_ns)) {
            (0, _) | (_, 0) => 0.0,
            (load, recorded) => (load as f64 / recorded as f64 - 1.0) * 100.0,
        }
    }

    /// Share of the recorded load that is replayed rather than simulated: think times and work, in percent.
    pub fn replayed_percent(&self) -> u64 {
        (self.replayed_ns * 100).checked_div(self.load_ns).unwrap_or_default().min(100)
    }

    /// True if the recording shows the link's limit.
    pub fn tells_rate(&self) -> bool {
        matches!(self.down, RateEstimate::Told { .. })
    }

    /// True if the recording has handshakes to measure a round trip by.
    pub fn tells_round_trip(&self) -> bool {
        self.round_trip.handshakes > 0
    }
}

impl fmt::Display for RecordedNetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = |ns: u64| format!("{:.1} ms", ns as f64 / 1e6);
        let mbit = |bits: u64| format!("{:.2} Mbit/s", bits as f64 / 1e6);
        let RoundTripEstimate { shortest_ns, median_ns, handshakes } = self.round_trip;
        match handshakes {
            0 => {
                write!(f, "round trip cannot be told (no handshake), at most {}", ms(shortest_ns))?
            }
            1 => write!(f, "round trip {} (one handshake)", ms(shortest_ns))?,
            n => write!(
                f,
                "round trip {} to {} (shortest and median of {n} handshakes)",
                ms(shortest_ns),
                ms(median_ns.max(shortest_ns))
            )?,
        }
        match self.down {
            RateEstimate::Told { low, high } => {
                write!(f, "; rate {} ({} to {})", mbit(self.down_bit_per_s), mbit(low), mbit(high))
            }
            RateEstimate::AtLeast(least) => {
                write!(
                    f,
                    "; rate cannot be told (the link was never full), at least {}",
                    mbit(least)
                )
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// A load of a second over 100 ms and 3 Mbit/s, which filled the link and is explained.
    fn explained() -> RecordedNetwork {
        RecordedNetwork {
            round_trip: RoundTripEstimate {
                shortest_ns: 100 * MS,
                median_ns: 100 * MS,
                handshakes: 1,
            },
            down: RateEstimate::Told { low: 3_000_000, high: 3_000_000 },
            down_bit_per_s: 3_000_000,
            up_bit_per_s: 1_000_000,
            queue_packets: 100,
            recorded_ns: 1200 * MS,
            lookups_ns: 200 * MS,
            unexplained_percent: 0,
            unexplained_ns: 0,
            dropped_packets: 0,
            load_ns: 1000 * MS,
            replayed_ns: 500 * MS,
        }
    }

    /// The warnings for a load over this round trip and rate, each by its telling words.
    fn warned(network: &RecordedNetwork, rtt_ms: u64, down_mbit: u64) -> Vec<&'static str> {
        let words =
            ["link was full", "recorded round trip", "in simulation", "not understood", "dropped"];
        let warnings = network.warnings(Duration::from_millis(rtt_ms), down_mbit * 1_000_000);
        let of = |warning: &String| *words.iter().find(|words| warning.contains(**words)).unwrap();
        warnings.iter().map(of).collect()
    }

    #[test]
    fn what_is_told_and_explained_has_no_warning() {
        assert!(warned(&explained(), 100, 3).is_empty());
        assert!(warned(&explained(), 300, 6).is_empty(), "up to twice as fast");
        assert!(warned(&explained(), 20, 1).is_empty(), "down to a fifth of the round trip");
    }

    #[test]
    fn what_the_recording_hides_is_an_extrapolation() {
        assert_eq!(warned(&explained(), 100, 7), ["link was full"]);
        assert_eq!(warned(&explained(), 19, 1), ["recorded round trip"]);
        let free = RecordedNetwork { down: RateEstimate::AtLeast(3_000_000), ..explained() };
        assert!(warned(&free, 100, 7).is_empty(), "the link was never full");
    }

    #[test]
    fn what_the_simulation_does_not_explain_is_told() {
        let slower = RecordedNetwork { load_ns: 1110 * MS, ..explained() };
        assert_eq!(warned(&slower, 100, 3), ["in simulation"]);
        let without_lookups = RecordedNetwork { load_ns: 1200 * MS, ..explained() };
        assert_eq!(warned(&without_lookups, 100, 3), ["in simulation"], "DNS is no part of it");
        let unexplained = RecordedNetwork { unexplained_percent: 5, ..explained() };
        assert_eq!(warned(&unexplained, 100, 3), ["not understood"]);
        let free = RecordedNetwork { down: RateEstimate::AtLeast(3_000_000), ..unexplained };
        assert!(warned(&free, 100, 3).is_empty(), "short responses on a link that was never full");
        let long = RecordedNetwork { unexplained_ns: 20 * MS, ..free };
        assert_eq!(warned(&long, 100, 3), ["not understood"]);
        let dropped = RecordedNetwork { dropped_packets: 1, ..explained() };
        assert_eq!(warned(&dropped, 100, 3), ["dropped"]);
    }

    #[test]
    fn pages_of_before_state_no_recorded_load() {
        let before = RecordedNetwork { recorded_ns: 0, lookups_ns: 0, ..explained() };
        assert_eq!(
            before.load(),
            "1.00 s simulated, of which 50 % (0.50 s) replayed: think times and work"
        );
        assert_eq!(before.misfit_percent(), 0.0);
        assert!(
            explained().load().starts_with("1.20 s recorded (0.20 s of it DNS), 1.00 s simulated")
        );
    }
}
