//! Settings of QUIC beside its arm, discovery of HTTP/3, reachability over UDP.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use units::parse;

use super::knobs::{self, KnobError, KnobProblem, Knobs};
use super::network::duration_text;
use crate::choice;

/// QUIC's knobs: `cc=newreno,iw=32,0rtt=off,migrate-at=2s`. Unset knobs are as in the arm.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Quic {
    /// Congestion control at both ends, in the arm's own implementation.
    pub congestion: Option<QuicCongestion>,
    /// The initial window of both ends, in packets of 1,200 bytes (RFC 9002 section 7.2).
    pub initial_window_packets: Option<u32>,
    /// True if a resumed connection sends requests with its first flight (RFC 9001 section 4.6).
    pub early_data: Option<bool>,
    /// Time at which the client's port changes under its connections, in nanoseconds since the start of the
    /// world, which is that of the first visit.
    pub migrate_at_ns: Option<u64>,
}

/// Congestion controls that QUIC can be set to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuicCongestion {
    /// CUBIC: quinn's, without HyStart, or our TCP's, with it.
    Cubic,
    /// Our TCP's CUBIC with HyStart, in both arms: as the QUIC of Google, Cloudflare and Caddy leave slow start.
    CubicHystart,
    /// NewReno: quinn's, or our TCP's Reno.
    NewReno,
}

impl QuicCongestion {
    const ALL: [QuicCongestion; 3] =
        [QuicCongestion::Cubic, QuicCongestion::CubicHystart, QuicCongestion::NewReno];

    const fn name(self) -> &'static str {
        match self {
            QuicCongestion::Cubic => "cubic",
            QuicCongestion::CubicHystart => "cubic-hystart",
            QuicCongestion::NewReno => "newreno",
        }
    }
}

const NO_BBR: &str = "QUIC cannot run BBR here: quinn paces by the window alone and not at the rate that BBR asks for; use cc=cubic, cc=cubic-hystart or cc=newreno";
const WHEN: &str = "say when the client's address changes: migrate-at=2s";
const ALWAYS_PACED: &str = "quinn always paces, at 5/4 of a window a round trip after a burst of ten packets, and cannot be told otherwise: leave `pacing` out";

/// Upper limit of the migration time: no page takes longer.
const LATEST_MOVE: Duration = Duration::from_secs(3_600);

impl Quic {
    /// True if no knob is set.
    pub fn is_usual(&self) -> bool {
        *self == Quic::default()
    }

    /// A note for readers of results.
    pub fn note(&self) -> Option<String> {
        let at = Duration::from_nanos(self.migrate_at_ns?);
        Some(format!(
            "the client's port changes after {at:?}, as behind a NAT that forgets it: servers follow, validate the path and keep their windows"
        ))
    }
}

impl Knobs for Quic {
    const ONE: &'static str = "QUIC knob";
    const ALL: &'static str = "cc, iw, 0rtt and migrate-at";

    fn turn(&mut self, knob: &str, value: &str) -> Result<(), KnobProblem> {
        match (knob, value) {
            ("cc", "bbr") => return Err(KnobProblem::Refused(NO_BBR)),
            ("cc", _) => {
                let known = QuicCongestion::ALL.into_iter().find(|cc| cc.name() == value);
                self.congestion =
                    Some(known.ok_or(KnobProblem::Expected("cubic, cubic-hystart or newreno"))?);
            }
            ("iw", _) => {
                let packets = value.parse().ok().filter(|packets| (2..=1000).contains(packets));
                let packets = packets.ok_or(KnobProblem::Expected("packets, 2 to 1000"))?;
                self.initial_window_packets = Some(packets);
            }
            ("0rtt", _) => self.early_data = Some(knobs::on_or_off(value)?),
            ("migrate-at", _) => {
                let at = parse::duration(value).ok().filter(|at| *at <= LATEST_MOVE);
                let at = at.ok_or(KnobProblem::Expected("a time of 0s to 1h"))?;
                self.migrate_at_ns = Some(at.as_nanos() as u64);
            }
            ("migration", _) => return Err(KnobProblem::Refused(WHEN)),
            ("pacing", _) => return Err(KnobProblem::Refused(ALWAYS_PACED)),
            _ => return Err(KnobProblem::Unknown),
        }
        Ok(())
    }
}

impl FromStr for Quic {
    type Err = KnobError;

    fn from_str(text: &str) -> Result<Quic, KnobError> {
        knobs::parse(text)
    }
}

impl fmt::Display for Quic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let congestion = self.congestion.map(|cc| format!("cc={}", cc.name()));
        let window = self.initial_window_packets.map(|packets| format!("iw={packets}"));
        let early = self.early_data.map(|on| format!("0rtt={}", knobs::switch(on)));
        let moved = self.migrate_at_ns.map(|ns| format!("migrate-at={}", duration_text(ns)));
        f.write_str(&knobs::list([congestion, window, early, moved]))
    }
}

impl Serialize for Quic {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Quic {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Quic, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

// Discovery of HTTP/3 by the client, and reachability over UDP.

choice! {
    /// Mechanism by which a client learns that a server speaks HTTP/3.
    #[derive(Default)]
    pub enum H3Discovery, "h3-discovery" {
        /// Known in advance (term of RFC 9113 section 3.3).
        #[default]
        PriorKnowledge = "prior-knowledge" (stored "straight"),
        /// Announced in a response over HTTP/2 (`Alt-Svc`, RFC 7838); then QUIC races TCP.
        AltSvc = "alt-svc",
        /// Announced in the HTTPS record, which DNS returns with the address (RFC 9460); then QUIC races TCP at once.
        HttpsRecord = "https-record",
    }
    not_yet {}
}

choice! {
    /// Treatment of UDP on the path to the servers.
    #[derive(Default)]
    pub enum Udp, "udp" {
        /// It passes.
        #[default]
        Open = "open",
        /// Silently dropped in front of the servers.
        Blocked = "blocked",
    }
    not_yet {}
}

/// Discovery and reachability of HTTP/3.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiscoverySettings {
    /// Mechanism of discovery.
    pub h3: H3Discovery,
    /// Treatment of UDP, which decides reachability.
    pub udp: Udp,
}

impl DiscoverySettings {
    /// True if both are at their defaults.
    pub fn is_usual(&self) -> bool {
        *self == DiscoverySettings::default()
    }

    /// A note for readers of results.
    pub fn note(self) -> Option<String> {
        let found = match self.h3 {
            H3Discovery::PriorKnowledge => None,
            H3Discovery::AltSvc => Some(
                "HTTP/3 is found by Alt-Svc: what a browser asks of a host before it knows, or before QUIC is there, goes over HTTP/2",
            ),
            H3Discovery::HttpsRecord => Some(
                "HTTP/3 is found by HTTPS records, which every host has: QUIC races HTTP/2 as soon as DNS has answered",
            ),
        };
        let blocked = (self.udp == Udp::Blocked)
            .then_some("UDP is dropped in front of the servers: QUIC reaches nobody");
        let all: Vec<&str> = found.into_iter().chain(blocked).collect();
        (!all.is_empty()).then(|| all.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: &str) -> String {
        text.parse::<Quic>().unwrap_err().to_string()
    }

    #[test]
    fn what_is_turned_is_written_back() {
        for text in
            ["", "cc=newreno", "cc=cubic-hystart", "cc=cubic,iw=32,0rtt=off", "migrate-at=1500ms"]
        {
            assert_eq!(text.parse::<Quic>().unwrap().to_string(), text);
        }
        assert_eq!(" 0rtt=on, iw=2".parse::<Quic>().unwrap().to_string(), "iw=2,0rtt=on");
    }

    #[test]
    fn what_cannot_be_had_is_refused_by_name() {
        assert!(refusal("cc=bbr").contains("BBR"));
        assert!(refusal("migration=on").contains("migrate-at=2s"));
        assert!(refusal("migrate-at=soon").ends_with("it takes a time of 0s to 1h"));
        assert!(refusal("pacing=off").contains("quinn always paces"));
        assert_eq!(
            refusal("cc=vegas"),
            "the QUIC knob `cc` cannot be `vegas`: it takes cubic, cubic-hystart or newreno"
        );
        assert_eq!(
            refusal("iw=1"),
            "the QUIC knob `iw` cannot be `1`: it takes packets, 2 to 1000"
        );
        assert_eq!(
            refusal("rto=1s"),
            "no QUIC knob is called `rto`; there are cc, iw, 0rtt and migrate-at"
        );
        assert_eq!(refusal("iw=3,iw=4"), "the QUIC knob `iw` is set twice; keep one");
    }

    #[test]
    fn what_is_usual_needs_no_words() {
        assert!(DiscoverySettings::default().is_usual());
        assert_eq!(DiscoverySettings::default().note(), None);
        let blocked = DiscoverySettings { h3: H3Discovery::AltSvc, udp: Udp::Blocked };
        let note = blocked.note().unwrap();
        assert!(note.contains("Alt-Svc") && note.contains("UDP"), "{note}");
        let recorded = DiscoverySettings { h3: H3Discovery::HttpsRecord, udp: Udp::Open };
        assert!(recorded.note().unwrap().contains("HTTPS records"));
    }
}
