//! Settings of a performance enhancing proxy, and its visibility of a page.

use std::time::Duration;

use pep::leg::MOST_IN_GROUP;

use super::super::network::duration_text;
use super::super::{Scenario, Tls};
use super::proxy::count;
use super::stretch::round_trip;
use super::{KnobProblem, Turn};

/// Settings of a PEP; [`PepSettings`]'s methods give the defaults.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PepSettings {
    /// The round trip between clients and its near end, in nanoseconds.
    pub near_rtt_ns: Option<u64>,
    /// Transport of the leg.
    pub leg: Option<LegOver>,
    /// Number of datagrams of the leg's QUIC per parity datagram.
    pub fec: Option<u8>,
    /// TCP connections of the leg.
    pub channels: Option<u32>,
    /// Function beside splitting TCP.
    pub prefetch: Option<Prefetch>,
    /// The leg's congestion control, by TCP's knob `cc`; by default that of the servers.
    pub leg_congestion: Option<String>,
    /// Initial window of the leg's connections, in segments.
    pub initial_window: Option<u32>,
    /// Hosts whose connections bypass the PEP.
    pub bypass: Vec<String>,
}

/// Transport of a PEP's leg.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LegOver {
    /// One TCP connection, or several.
    Tcp,
    /// One QUIC connection.
    Quic,
}

/// Treatment of clear-text HTTP/1 by a PEP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prefetch {
    /// None: TCP is split, and payload not inspected.
    Off,
    /// Its far end fetches what is requested, and prefetches what that embeds, this many levels down.
    Depth(u32),
}

/// Visibility of a page to a PEP, decided by protocol and security.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sight {
    /// Bytes only: all is under TLS.
    Secured,
    /// Bytes only, though in clear text: not HTTP/1, or inspection is off.
    Unread,
    /// Requests and pages.
    Requests,
}

/// Default near RTT: across a room.
const NEAR_RTT: Duration = Duration::from_millis(1);
/// Default depth: includes what a page's style sheets embed, as in farlink's own PEP.
const DEPTH: u32 = 2;
/// About as many as 1 Mbit/s takes in 620 ms (53 full segments): a leg stands for hours, so its window has
/// grown before a client comes.
const INITIAL_WINDOW: u32 = 64;
/// Separator of hosts.
const AND: char = '+';

impl PepSettings {
    /// The round trip between clients and its near end.
    pub fn near_rtt(&self) -> Duration {
        self.near_rtt_ns.map_or(NEAR_RTT, Duration::from_nanos)
    }

    /// True if its leg is QUIC.
    pub fn is_over_quic(&self) -> bool {
        self.leg == Some(LegOver::Quic)
    }

    /// TCP connections of the leg.
    pub fn channels(&self) -> u32 {
        self.channels.unwrap_or(1)
    }

    /// Function beside splitting TCP.
    pub fn prefetch(&self) -> Prefetch {
        self.prefetch.unwrap_or(Prefetch::Depth(DEPTH))
    }

    /// The leg's TCP configuration, at both ends, given the servers': warm, as of a long-lived connection.
    pub fn leg_tcp(&self, servers: &tcp::Config) -> tcp::Config {
        let mut config = servers.clone();
        config.initial_window = self.initial_window.unwrap_or(INITIAL_WINDOW);
        config.slow_start_after_idle = false;
        if let Some(name) = &self.leg_congestion {
            config.set("cc", name).expect("a congestion control is checked when it is read");
        }
        config
    }

    /// Its visibility of the scenario's page.
    pub fn sight(&self, scenario: &Scenario) -> Sight {
        let stack = &scenario.stack;
        if stack.tls != Tls::None {
            return Sight::Secured;
        }
        match self.prefetch() {
            Prefetch::Depth(_) if stack.protocol.keeps_alive() || stack.protocol.is_h1() => {
                Sight::Requests
            }
            _ => Sight::Unread,
        }
    }
}

impl Turn for PepSettings {
    fn turn(&mut self, knob: &str, value: &str) -> Result<(), KnobProblem> {
        match knob {
            "near-rtt" => self.near_rtt_ns = Some(round_trip(value)?),
            "leg" => self.leg = Some(leg(value)?),
            "fec" => self.fec = Some(fec(value)?),
            "channels" => self.channels = Some(count(value)?),
            "prefetch" => self.prefetch = Some(prefetch(value)?),
            "leg-congestion" => self.leg_congestion = Some(congestion(value)?),
            "iw" => self.initial_window = Some(count(value)?),
            "bypass" => self.bypass = hosts(value)?,
            _ => return Err(KnobProblem::Unknown),
        }
        Ok(())
    }

    fn turned(&self) -> Vec<String> {
        let turned = [
            self.near_rtt_ns.map(|nanos| format!("near-rtt={}", duration_text(nanos))),
            self.leg.map(|leg| match leg {
                LegOver::Tcp => "leg=tcp".to_owned(),
                LegOver::Quic => "leg=quic".to_owned(),
            }),
            self.fec.map(|every| format!("fec={every}")),
            self.channels.map(|count| format!("channels={count}")),
            self.prefetch.map(|prefetch| match prefetch {
                Prefetch::Off => "prefetch=off".to_owned(),
                Prefetch::Depth(depth) => format!("prefetch={depth}"),
            }),
            self.leg_congestion.as_ref().map(|name| format!("leg-congestion={name}")),
            self.initial_window.map(|segments| format!("iw={segments}")),
            (!self.bypass.is_empty())
                .then(|| format!("bypass={}", self.bypass.join(&AND.to_string()))),
        ];
        turned.into_iter().flatten().collect()
    }
}

fn leg(value: &str) -> Result<LegOver, KnobProblem> {
    match value {
        "tcp" => Ok(LegOver::Tcp),
        "quic" => Ok(LegOver::Quic),
        _ => Err(KnobProblem::Expected("tcp or quic")),
    }
}

fn fec(value: &str) -> Result<u8, KnobProblem> {
    let every = value.parse().ok().filter(|every| (1..=MOST_IN_GROUP).contains(every));
    every.ok_or(KnobProblem::Expected("after how many datagrams one of parity follows: 1 to 63"))
}

fn prefetch(value: &str) -> Result<Prefetch, KnobProblem> {
    let depth = || value.parse().ok().filter(|depth| *depth <= 10);
    match value {
        "off" => Ok(Prefetch::Off),
        _ => depth()
            .map(Prefetch::Depth)
            .ok_or(KnobProblem::Expected("off, or how many levels are fetched unasked: 0 to 10")),
    }
}

fn congestion(value: &str) -> Result<String, KnobProblem> {
    let known = tcp::Config::default().set("cc", value);
    known.map_err(|_| KnobProblem::Expected("a congestion control of TCP: cubic, reno, bbr"))?;
    Ok(value.to_owned())
}

fn hosts(value: &str) -> Result<Vec<String>, KnobProblem> {
    let hosts: Vec<String> =
        value.split(AND).map(|host| host.trim().to_ascii_lowercase()).collect();
    if hosts.iter().any(String::is_empty) {
        return Err(KnobProblem::Expected("hosts of the page: a.test+b.test"));
    }
    Ok(hosts)
}
