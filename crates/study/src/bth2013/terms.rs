//! Terms of bth2013's programs, shared by case files, options of `run.py` and result documents.

use super::FileError;
use scenario::choice;

choice! {
    /// Protocol that carries the pages: `run.py`'s choices.
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
    /// Name of the network in the documents: `run.py`'s choices. It sets nothing.
    pub enum NetType, "network" {
        /// EDGE.
        Edge = "EDGE",
        /// 3G.
        ThirdGeneration = "3G",
        /// 4G.
        FourthGeneration = "4G",
        /// All three.
        All = "ALL",
    }
    not_yet {}
}

/// Conditions of a round of `newrun.sh`, or of a call of `run.py`.
#[derive(Clone, Debug, PartialEq)]
pub struct Conditions {
    /// Protocol that carries the pages.
    pub protocol: Protocol,
    /// True if pages are loaded over SSL.
    pub ssl: bool,
    /// Name of the network.
    pub network: NetType,
    /// The packet loss of both directions together: each has half of it.
    pub loss: f64,
    /// Rates down, in kbit/s.
    pub down_kbit: Vec<u64>,
    /// The rate up.
    pub up: Uplink,
    /// Round trips, in milliseconds.
    pub rtt_ms: Vec<u64>,
    /// Loads of each combination.
    pub times: u32,
    /// Settings that were ignored, with the reason.
    pub notes: Vec<String>,
}

/// The rate up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Uplink {
    /// Half of the rate down, as in `newrun.sh`.
    Half,
    /// This many kbit/s.
    Kbit(u64),
}

/// Loads of each combination in `newrun.sh`, whatever its case file says.
pub(super) const RUN_TIMES: u32 = 5;

/// The page, as the programs name it.
pub(super) const URL: &str = "en.m.wikipedia.org/";

/// A packet loss rate, in the format of `setnet.sh`.
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

/// Result of reading any of the files.
pub(super) type Read<T> = Result<T, FileError>;
