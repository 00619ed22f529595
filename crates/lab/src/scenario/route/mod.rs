//! The way from the network's far end to the page's hosts: straight on, through a proxy that stands there, or between the two halves of a PEP.
//!
//! Its text is `direct`, `proxy`, `caching-proxy`, `socks` or `pep`; behind a colon the [proxy](ProxyPreset) that it is to be like, then settings:
//! `caching-proxy:nokia-netty,rtt=50ms,cache=primed`. The stretch beyond that place (`rtt`, `rate`, `loss`) belongs to every route, also to the direct one, so that
//! routes can be compared.

mod pep;
mod proxy;
mod refusal;
mod stretch;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

pub use self::pep::{PepSettings, Prefetch, Sight};
pub use self::proxy::{CacheState, ProxyPreset, ProxySettings, Via};
pub use self::stretch::Stretch;
use super::Protocol;
use super::choice::{choice, nearest};
use super::knobs::{self, KnobError, KnobProblem, Knobs};

choice! {
    /// What stands between clients and hosts.
    #[derive(Default)]
    pub enum RouteKind, "route" {
        /// Nothing: clients speak with the page's hosts.
        #[default]
        Direct = "direct",
        /// A proxy at the network's far end.
        Proxy = "proxy",
        /// A proxy with a cache.
        CachingProxy = "caching-proxy",
        /// A proxy of SOCKS5 at the network's far end, which passes connections on.
        Socks = "socks",
        /// A performance enhancing proxy (RFC 3135): one half at each end of the network.
        Pep = "pep",
    }
    not_yet {}
}

/// How requests get to the page's hosts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Route {
    /// What stands between clients and hosts.
    pub kind: RouteKind,
    /// The proxy that it is like.
    pub like: Option<String>,
    /// What lies between the network's far end and the hosts.
    pub stretch: Stretch,
    /// What a proxy is told beside that.
    pub settings: ProxySettings,
    /// What a PEP is told.
    pub pep: PepSettings,
}

/// A part of what may stand behind a route's kind.
trait Turn {
    /// Turns one of its knobs.
    fn turn(&mut self, knob: &str, value: &str) -> Result<(), KnobProblem>;
    /// Those that are turned, as they are typed.
    fn turned(&self) -> Vec<String>;
}

impl Route {
    /// Whether it is what it was when there was no choice.
    pub fn is_usual(&self) -> bool {
        *self == Route::default()
    }

    /// Whether clients speak with a proxy, of HTTP or of SOCKS.
    pub fn has_proxy(&self) -> bool {
        matches!(self.kind, RouteKind::Proxy | RouteKind::CachingProxy | RouteKind::Socks)
    }

    /// Whether the network's two ends are those of a PEP.
    pub fn has_pep(&self) -> bool {
        self.kind == RouteKind::Pep
    }

    /// Whether a proxy is asked for resources, and so is the server that clients speak with.
    pub fn asks_proxy(&self) -> bool {
        let is_of_http = matches!(self.kind, RouteKind::Proxy | RouteKind::CachingProxy);
        is_of_http && self.settings.via == Via::Get
    }

    /// The proxy that it is like.
    pub fn preset(&self) -> Option<&'static ProxyPreset> {
        ProxyPreset::all().get(self.like.as_deref()?)
    }

    /// The same without its stretch: what is compared, not where.
    #[must_use]
    pub fn without_stretch(&self) -> Route {
        Route { stretch: Stretch::default(), ..self.clone() }
    }

    /// What of the settings holds for clients that speak so: what is typed, else what the proxy has that it is like.
    pub fn resolved(&self, protocol: Protocol) -> ProxySettings {
        let typed = self.settings;
        let Some(preset) = self.preset() else { return typed };
        ProxySettings {
            upstream: typed.upstream.or(preset.upstream),
            upstream_total: typed.upstream_total.or(preset.upstream_total),
            keep_alive: typed.keep_alive.or(preset.keep_alive),
            workers: typed.workers.or(preset.threads.filter(|_| !protocol.is_h1())),
            ..typed
        }
    }

    /// What a reader of results must know of its proxy.
    pub fn note(&self) -> Option<String> {
        if self.kind == RouteKind::Socks {
            let note = "connections go through farlink's own proxy of SOCKS5 at the network's far end, which finds the origins' addresses at once";
            return Some(note.to_owned());
        }
        if !self.has_proxy() {
            return None;
        }
        let like = self.like.as_ref().zip(self.preset());
        let like = like.map_or_else(
            || "farlink's own proxy".to_owned(),
            |(name, preset)| format!("farlink's proxy set like {name} ({})", preset.summary),
        );
        let asked = match self.settings.via {
            Via::Get => "it speaks HTTP/1.1 in clear text to the origins",
            Via::Connect => "it leads tunnels",
        };
        Some(format!(
            "requests go through {like} at the network's far end; {asked}, and finds their addresses at once"
        ))
    }
}

/// What may stand behind the kind.
#[derive(Default)]
struct Turned {
    stretch: Stretch,
    settings: ProxySettings,
    pep: PepSettings,
}

impl Knobs for Turned {
    const ONE: &'static str = "setting of a route";
    const ALL: &'static str = "rtt, rate and loss; of a proxy via, upstream, upstream-total, keep-alive, workers and cache; of a pep near-rtt, leg, \
                               fec, channels, prefetch, leg-congestion, iw and bypass";

    fn turn(&mut self, knob: &str, value: &str) -> Result<(), KnobProblem> {
        let parts: [&mut dyn Turn; 3] = [&mut self.stretch, &mut self.settings, &mut self.pep];
        for part in parts {
            match part.turn(knob, value) {
                Err(KnobProblem::Unknown) => {}
                turned => return turned,
            }
        }
        Err(KnobProblem::Unknown)
    }
}

impl FromStr for Route {
    type Err = KnobError;

    fn from_str(text: &str) -> Result<Route, KnobError> {
        let (name, knobs) = text.split_once(',').unwrap_or((text, ""));
        let (kind, like) = match name.trim().split_once(':') {
            Some((kind, like)) => (kind.trim(), Some(like.trim().to_owned())),
            None => (name.trim(), None),
        };
        let kind: RouteKind = kind.parse().map_err(|error: super::ChoiceError| {
            let hint = error.hint().map_or_else(String::new, |hint| format!(" ({hint})"));
            KnobError::Head(format!("{error}{hint}"))
        })?;
        if let Some(like) = &like {
            known(kind, like)?;
        }
        let Turned { stretch, settings, pep } = knobs::parse(knobs)?;
        let route = Route { kind, like, stretch, settings, pep };
        route.useless().map_or(Ok(route), |why| Err(KnobError::Refused(why)))
    }
}

/// Checks that there is a proxy of this name for this kind of route.
fn known(kind: RouteKind, like: &str) -> Result<(), KnobError> {
    let names = || ProxyPreset::all().keys().map(String::as_str);
    if matches!(kind, RouteKind::Direct | RouteKind::Socks | RouteKind::Pep) {
        return Err(KnobError::Head(format!(
            "the route `{kind}` has no proxy of HTTP that could be `{like}`"
        )));
    }
    if ProxyPreset::all().contains_key(like) {
        return Ok(());
    }
    let meant =
        nearest(like, names()).map_or_else(String::new, |it| format!(" (did you mean `{it}`?)"));
    let all = names().collect::<Vec<_>>().join(", ");
    Err(KnobError::Head(format!("no proxy here is called `{like}`; known: {all}{meant}")))
}

impl fmt::Display for Route {
    /// As it is read.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Route { kind, like, stretch, settings, pep } = self;
        write!(f, "{kind}")?;
        if let Some(like) = like {
            write!(f, ":{like}")?;
        }
        let knobs = [stretch.turned(), settings.turned(), pep.turned()];
        knobs.iter().flatten().try_for_each(|knob| write!(f, ",{knob}"))
    }
}

impl Serialize for Route {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Route {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Route, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests;
