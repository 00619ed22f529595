//! What a real world is told before it begins.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use chance::Source;

/// A real world that has not begun.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where random streams come from.
    pub source: Source,
    /// Names and addresses.
    pub hosts: BTreeMap<String, IpAddr>,
    /// The zero of the world's clock, on `CLOCK_MONOTONIC`: processes that are told the same share their time. None: when the world begins.
    pub began: Option<Duration>,
    /// What is kept of TCP connections.
    pub recording: Recording,
}

impl Config {
    /// A world without names whose clock starts when it begins and that keeps nothing of its connections.
    pub fn new(source: Source) -> Config {
        Config { source, hosts: BTreeMap::new(), began: None, recording: Recording::Nothing }
    }
}

/// What is kept of TCP connections for [`report`](super::report). Whatever is kept stays until the world ends, and each open connection
/// takes a second descriptor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Recording {
    /// Nothing: for whoever serves without end.
    #[default]
    Nothing,
    /// Both ends as they stood when they were closed, or stand now.
    Endpoints,
    /// How they moved, too.
    Series(Sampling),
}

/// How series are made: the kernel is asked again and again, and what changed is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sampling {
    /// The pause between two looks, in whole milliseconds at the least (tokio's timers). There are none while no connection is open.
    pub every: Duration,
}

impl Default for Sampling {
    /// Every millisecond.
    fn default() -> Sampling {
        Sampling { every: Duration::from_millis(1) }
    }
}
