//! A random case: two endpoints, two applications, two directions of a bad path.

use std::time::Duration;

use farlink_tcp::{Config, Generation, Knob};
use proptest::prelude::*;
use proptest::sample::Index;

use crate::application::Pace;

/// One exchange to be tried.
#[derive(Debug, Clone)]
pub struct Case {
    pub seed: u64,
    pub client: Transport,
    pub server: Transport,
    pub up_bytes: usize,
    pub down_bytes: usize,
    pub delay_ms: u64,
    pub up: Path,
    pub down: Path,
    /// Size of the applications' writes.
    pub chunk: usize,
    pub pace: Pace,
    pub closing: Closing,
}

/// One direction of the path.
#[derive(Debug, Clone)]
pub struct Path {
    pub loss: f64,
    pub burst: Option<f64>,
    pub duplicate: f64,
    pub mark: f64,
    pub jitter_ms: u64,
    pub queue: usize,
    pub rate_kbit: u64,
    /// Packets lost in addition, by number.
    pub drops: Vec<u64>,
}

/// Order in which the ends finish.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Closing {
    /// Each end as soon as it has written all.
    AtOnce,
    /// The client only once the server has finished.
    ServerFirst,
    /// The server only once the client has finished.
    ClientFirst,
}

/// A configuration as text, which is how a failing case shows it.
#[derive(Debug, Clone)]
pub struct Transport(pub String);

impl Transport {
    pub fn config(&self) -> Config {
        Config::parse(&self.0).unwrap_or_else(|error| panic!("{}: {error}", self.0))
    }
}

/// Enough retries that bad luck alone never makes a connection time out.
const PATIENCE: &str = "syn-retries=127,syn-ack-retries=127,retries=100,max-rto=4s";

/// Cases with a server of this generation.
pub fn cases(server: Generation) -> impl Strategy<Value = Case> {
    let ends = (transport(Just(server)), transport(prop::sample::select(Generation::ALL.to_vec())));
    let bytes = (0usize..12_000, prop_oneof![3 => 0usize..30_000, 1 => 0usize..150_000]);
    let application = (1usize..20_000, pace(), closing());
    (any::<u64>(), ends, bytes, 0u64..150, (path(), path()), application).prop_map(
        |(seed, (server, client), (up_bytes, down_bytes), delay_ms, (up, down), application)| {
            let (chunk, pace, closing) = application;
            Case {
                seed,
                client,
                server,
                up_bytes,
                down_bytes,
                delay_ms,
                up,
                down,
                chunk,
                pace,
                closing,
            }
        },
    )
}

fn path() -> impl Strategy<Value = Path> {
    let loss = prop_oneof![2 => Just(0.0), 3 => 0.0..0.05, 2 => 0.05..0.35];
    let burst = prop::option::of(0.0..0.7);
    let duplicate = prop_oneof![2 => Just(0.0), 1 => 0.0..0.3];
    let jitter_ms = prop_oneof![1 => Just(0u64), 1 => 0u64..120];
    let line = (1usize..60, 200u64..20_000, prop::collection::vec(0u64..60, 0..6));
    (loss, burst, duplicate, 0.0..0.3, jitter_ms, line).prop_map(
        |(loss, burst, duplicate, mark, jitter_ms, (queue, rate_kbit, drops))| Path {
            loss,
            burst,
            duplicate,
            mark,
            jitter_ms,
            queue,
            rate_kbit,
            drops,
        },
    )
}

/// Mostly eager; otherwise so slow that the window closes.
fn pace() -> impl Strategy<Value = Pace> {
    let eager = Just((1 << 16, 0u64));
    let slow = (500usize..20_000, 1u64..2_000);
    prop_oneof![2 => eager, 1 => slow]
        .prop_map(|(most, rest_ms)| Pace { most, rest: Duration::from_millis(rest_ms) })
}

fn closing() -> impl Strategy<Value = Closing> {
    prop::sample::select(vec![Closing::AtOnce, Closing::ServerFirst, Closing::ClientFirst])
}

/// A generation with buffers of any size and some knobs changed.
fn transport(generation: impl Strategy<Value = Generation>) -> impl Strategy<Value = Transport> {
    let buffers = prop_oneof![
        1 => Just(String::new()),
        1 => (2_000u64..100_000, 2_000u64..100_000, 1u64..4).prop_map(|(send, receive, growth)| format!(
            ",sndbuf={send}B,sndbuf-max={}B,rcvbuf={receive}B,rcvbuf-max={}B",
            send * growth,
            receive * growth,
        )),
    ];
    let hz = prop::sample::select(vec!["", ",hz=100", ",hz=250", ",hz=1000", ",hz=exact"]);
    let lowat = prop_oneof![
        3 => Just(String::new()),
        1 => (3_000u64..50_000).prop_map(|bytes| format!(",notsent-lowat={bytes}B")),
    ];
    let turned = prop::collection::vec((any::<Index>(), any::<Index>()), 0..6);
    (generation, buffers, hz, lowat, turned).prop_map(|(generation, buffers, hz, lowat, turned)| {
        let mut text = format!("{generation},{PATIENCE}{buffers}{hz}{lowat}");
        for (knob, value) in turn(&turned) {
            text.push_str(&format!(",{knob}={value}"));
        }
        Transport(text)
    })
}

/// Knobs that choose among names, each at most once, and the names.
fn turn(turned: &[(Index, Index)]) -> Vec<(&'static str, &'static str)> {
    let choices: Vec<(&str, Vec<&str>)> = Knob::all().iter().filter_map(choices).collect();
    let mut picked: Vec<(&str, &str)> = Vec::new();
    for (knob, value) in turned {
        let (name, values) = knob.get(&choices);
        if picked.iter().all(|(known, _)| known != name) {
            picked.push((name, *value.get(values)));
        }
    }
    picked
}

/// The names in a knob's synopsis, if it has any (quantities are in capitals).
fn choices(knob: &'static Knob) -> Option<(&'static str, Vec<&'static str>)> {
    let names = knob.values().split('|').filter(|value| value.chars().all(|c| !c.is_uppercase()));
    let names: Vec<&str> = names.collect();
    (names.len() > 1).then_some((knob.name(), names))
}
