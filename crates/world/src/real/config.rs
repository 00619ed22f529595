//! Configuration of a real world.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use chance::Source;

/// A real world that has not begun.
#[derive(Clone, Debug)]
pub struct Config {
    /// Source of random streams.
    pub source: Source,
    /// Names and addresses.
    pub hosts: BTreeMap<String, IpAddr>,
    /// The zero of the world's clock, on `CLOCK_MONOTONIC`: processes with the same value share their time. None: the start of the world.
    pub began: Option<Duration>,
    /// Amount of data kept of TCP connections.
    pub recording: Recording,
}

impl Config {
    /// A world without names, with a clock that starts when it begins, and no records of its connections.
    pub fn new(source: Source) -> Config {
        Config { source, hosts: BTreeMap::new(), began: None, recording: Recording::Nothing }
    }
}

/// Amount of data kept of TCP connections for [`report`](super::report). It stays until the world ends, and each open connection
/// takes a second descriptor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Recording {
    /// Nothing: for servers that run without end.
    #[default]
    Nothing,
    /// Both ends in their state when they were closed, or now.
    Endpoints,
    /// Their time series, too.
    Series(Sampling),
}

/// Sampling of series: the kernel is polled, and changes are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sampling {
    /// The interval between two polls, in whole milliseconds, at least one (tokio's timers). There are none while no connection is open.
    pub every: Duration,
}

impl Default for Sampling {
    /// Every millisecond.
    fn default() -> Sampling {
        Sampling { every: Duration::from_millis(1) }
    }
}
