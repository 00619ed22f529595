//! The terms of bth2013's programs: what a case file, options of `run.py` and a result document say alike.

use super::FileError;
use scenario::choice;

choice! {
    /// What a page is carried by: `run.py`'s choices.
    pub enum Protocol, "protocol" {
        /// HTTP/1.1.
        Http = "http",
        /// SPDY/3.
        Spdy = "spdy",
        /// HTTP/1.1 with pipelining.
        HttpPipelining = "http-pipelining",
    }
    not_yet {}
}

choice! {
    /// What a network is called in the documents: `run.py`'s choices. It sets nothing.
    pub enum NetType, "network" {
        /// That of EDGE.
        Edge = "EDGE",
        /// That of 3G.
        ThirdGeneration = "3G",
        /// That of 4G.
        FourthGeneration = "4G",
        /// Of all three.
        All = "ALL",
    }
    not_yet {}
}

/// What a round of `newrun.sh`, or a call of `run.py`, measures.
#[derive(Clone, Debug, PartialEq)]
pub struct Conditions {
    /// What pages are carried by.
    pub protocol: Protocol,
    /// Whether over SSL.
    pub ssl: bool,
    /// What the network is called.
    pub network: NetType,
    /// The share of packets that both directions lose together: half of it is each one's.
    pub loss: f64,
    /// Rates down, in kbit/s.
    pub down_kbit: Vec<u64>,
    /// The rate up.
    pub up: Uplink,
    /// Round trips, in milliseconds.
    pub rtt_ms: Vec<u64>,
    /// Loads of each combination.
    pub times: u32,
    /// What was left out, and why.
    pub notes: Vec<String>,
}

/// The rate up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Uplink {
    /// Half of that down, as `newrun.sh` has it.
    Half,
    /// So many kbit/s.
    Kbit(u64),
}

/// As often does `newrun.sh` have each combination loaded, whatever its case file says.
pub(super) const RUN_TIMES: u32 = 5;

/// The page, as the programs name it.
pub(super) const URL: &str = "en.m.wikipedia.org/";

/// A share of packets, as `setnet.sh` takes it.
pub(super) fn loss(text: &str) -> Result<f64, String> {
    let loss = text.parse::<f64>().ok().filter(|loss| (0.0..1.0).contains(loss));
    loss.ok_or_else(|| {
        format!("`{text}` is no share of packets from 0 to below 1: 3 % are 0.03, as setnet.sh takes them")
    })
}

/// A whole number above zero.
pub(super) fn number(text: &str, unit: &str) -> Result<u64, String> {
    let number = text.parse::<u64>().ok().filter(|number| (1..=10_000_000).contains(number));
    number.ok_or_else(|| format!("`{text}` is no whole number of {unit} above zero"))
}

/// Of all files.
pub(super) type Read<T> = Result<T, FileError>;
