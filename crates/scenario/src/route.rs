//! The route from the network's far end to the page's hosts: direct, through a proxy at the far end, or between
//! the two halves of a PEP.
//!
//! Its text is `direct`, `proxy`, `caching-proxy`, `socks` or `pep`; behind a colon the [proxy](ProxyPreset)
//! that it resembles, then settings: `caching-proxy:nokia-netty,rtt=50ms,cache=primed`. The stretch beyond that
//! place (`rtt`, `rate`, `loss`) belongs to every route, also to the direct one, so that routes can be
//! compared. A second proxy, the upstream of the first, stands behind a slash:
//! `caching-proxy,at=first-hop/caching-proxy,rtt=50ms`.

mod files;
mod pep;
mod proxy;
mod refusal;
mod stretch;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

pub use self::files::PacFile;
pub use self::pep::{PepSettings, Prefetch, Sight};
pub use self::proxy::{CacheState, Compression, ProxyPreset, ProxySettings, Via};
pub use self::stretch::Stretch;
use super::Protocol;
use super::knobs::{self, KnobError, KnobProblem, Knobs};
use super::nearest;
use crate::choice;
pub use proxy::ProxyPlace;
pub use proxy::Tier;

choice! {
    /// Intermediary between clients and hosts.
    #[derive(Default)]
    pub enum RouteKind, "route" {
        /// None: clients connect to the page's hosts.
        #[default]
        Direct = "direct",
        /// A proxy, by default at the network's far end.
        Proxy = "proxy",
        /// A proxy with a cache.
        CachingProxy = "caching-proxy",
        /// A SOCKS5 proxy at the network's far end, which relays connections.
        Socks = "socks",
        /// A performance enhancing proxy (RFC 3135): one half at each end of the network.
        Pep = "pep",
    }
    not_yet {}
}

/// Route of requests to the page's hosts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Route {
    /// Intermediary between clients and hosts.
    pub kind: RouteKind,
    /// Preset of the proxy.
    pub like: Option<String>,
    /// The stretch between the network's far end and the hosts.
    pub stretch: Stretch,
    /// Further settings of a proxy.
    pub settings: ProxySettings,
    /// PAC file by which clients choose, for each request, a port of the proxy or a direct connection.
    pub pac: PacFile,
    /// Settings of a PEP.
    pub pep: PepSettings,
    /// The upstream proxy of the first one.
    pub behind: Option<Tier>,
}

/// Separator of two proxies.
const BEHIND: char = '/';

/// A group of settings that may stand behind a route's kind.
trait Turn {
    /// Sets one of its knobs.
    fn turn(&mut self, knob: &str, value: &str) -> Result<(), KnobProblem>;
    /// The knobs that are set, as typed.
    fn turned(&self) -> Vec<String>;
}

impl Route {
    /// True for the default.
    pub fn is_usual(&self) -> bool {
        *self == Route::default()
    }

    /// True if clients connect to a proxy, of HTTP or of SOCKS.
    pub fn has_proxy(&self) -> bool {
        self.has_http_proxy() || self.kind == RouteKind::Socks
    }

    /// True if a PEP has a half at each end of the network.
    pub fn has_pep(&self) -> bool {
        self.kind == RouteKind::Pep
    }

    /// True if clients send their requests to a proxy, which is then the server that they connect to.
    pub fn asks_proxy(&self) -> bool {
        self.has_http_proxy() && self.settings.via == Via::Get
    }

    fn has_http_proxy(&self) -> bool {
        matches!(self.kind, RouteKind::Proxy | RouteKind::CachingProxy)
    }

    /// The proxies, nearest to the clients first.
    pub fn tiers(&self) -> Vec<Tier> {
        let Route { kind, like, settings, behind, .. } = self;
        let front = Tier { kind: *kind, like: like.clone(), settings: *settings };
        self.has_proxy().then_some(front).into_iter().chain(behind.clone()).collect()
    }

    /// True if one of its proxies has a cache.
    pub fn has_cache(&self) -> bool {
        self.tiers().iter().any(Tier::caches)
    }

    /// True if one of its proxies compresses answers.
    pub fn compresses(&self) -> bool {
        self.tiers().iter().any(|tier| tier.settings.compression != Compression::Off)
    }

    /// Preset of the proxy nearest to the clients.
    pub fn preset(&self) -> Option<&'static ProxyPreset> {
        ProxyPreset::all().get(self.like.as_deref()?)
    }

    /// The same route without its stretch: what is compared, not where.
    #[must_use]
    pub fn without_stretch(&self) -> Route {
        Route { stretch: Stretch::default(), ..self.clone() }
    }

    /// Effective settings of the proxy nearest to the clients, if clients speak `protocol` to it.
    pub fn resolved(&self, protocol: Protocol) -> ProxySettings {
        self.tiers().first().map_or(self.settings, |front| front.resolved(protocol))
    }

    /// A note on its proxies for readers of results.
    pub fn note(&self) -> Option<String> {
        if self.kind == RouteKind::Socks {
            let note = "connections go through farlink's own proxy of SOCKS5 at the network's far end, which finds the origins' addresses at once";
            return Some(note.to_owned());
        }
        let tiers = self.tiers();
        let asked = match self.settings.via {
            Via::Get => "it speaks HTTP/1.1 in clear text to the origins",
            Via::Connect => "it leads tunnels",
        };
        match &tiers[..] {
            [] => None,
            [only] => Some(format!(
                "requests go through {}; {asked}, and finds their addresses at once",
                only.told()
            )),
            [front, behind, ..] => Some(format!(
                "requests go through {}; it asks for all in clear text by HTTP/1.1 of {}; {asked}, and finds their addresses at once",
                front.told(),
                behind.told()
            )),
        }
    }
}

/// Settings that may stand behind the kind.
#[derive(Default)]
struct Turned {
    stretch: Stretch,
    settings: ProxySettings,
    pac: PacFile,
    pep: PepSettings,
}

impl Knobs for Turned {
    const ONE: &'static str = "setting of a route";
    const ALL: &'static str = "rtt, rate and loss; of a proxy via, upstream, upstream-total, keep-alive, workers, cache, compress, at and pac; of a pep near-rtt, leg, \
                               fec, channels, prefetch, leg-congestion, iw and bypass";

    fn turn(&mut self, knob: &str, value: &str) -> Result<(), KnobProblem> {
        let Turned { stretch, settings, pac, pep } = self;
        let parts: [&mut dyn Turn; 4] = [stretch, settings, pac, pep];
        for part in parts {
            match part.turn(knob, value) {
                Err(KnobProblem::Unknown) => {}
                turned => return turned,
            }
        }
        Err(KnobProblem::Unknown)
    }
}

/// A route's text in front of a slash, or behind it.
struct RoutePart {
    kind: RouteKind,
    like: Option<String>,
    turned: Turned,
}

impl FromStr for RoutePart {
    type Err = KnobError;

    fn from_str(text: &str) -> Result<RoutePart, KnobError> {
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
        Ok(RoutePart { kind, like, turned: knobs::parse(knobs)? })
    }
}

impl RoutePart {
    /// A route of this part alone.
    fn alone(self) -> Route {
        let RoutePart { kind, like, turned: Turned { stretch, settings, pac, pep } } = self;
        Route { kind, like, stretch, settings, pac, pep, behind: None }
    }
}

impl FromStr for Route {
    type Err = KnobError;

    fn from_str(text: &str) -> Result<Route, KnobError> {
        let parts =
            files::split(text).into_iter().map(|part| Ok(part.parse::<RoutePart>()?.alone()));
        let parts = parts.collect::<Result<Vec<Route>, KnobError>>()?;
        let useless = parts.iter().find_map(Route::useless);
        useless.map_or(Ok(()), |why| Err(KnobError::Refused(why)))?;
        let mut parts = parts.into_iter();
        let front = parts.next().unwrap_or_default();
        let Some(behind) = parts.next() else { return Ok(front) };
        if let Some(why) = front.unchained(&behind, parts.len()) {
            return Err(KnobError::Refused(why));
        }
        let stretch = behind.stretch;
        Ok(Route { stretch, behind: behind.tiers().pop(), ..front })
    }
}

/// Checks that there is a preset of this name for this kind of route.
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
    /// In the form that is read.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Route { kind, like, stretch, settings, pac, pep, behind } = self;
        let front = [settings.turned(), pac.turned()].concat();
        match behind {
            None => part(f, *kind, like, &[stretch.turned(), front, pep.turned()].concat()),
            Some(behind) => {
                part(f, *kind, like, &front)?;
                write!(f, "{BEHIND}")?;
                let Tier { kind, like, settings } = behind;
                part(f, *kind, like, &[stretch.turned(), settings.turned()].concat())
            }
        }
    }
}

/// Writes a route's text in front of a slash, or behind it.
fn part(
    f: &mut fmt::Formatter<'_>,
    kind: RouteKind,
    like: &Option<String>,
    knobs: &[String],
) -> fmt::Result {
    write!(f, "{kind}")?;
    if let Some(like) = like {
        write!(f, ":{like}")?;
    }
    knobs.iter().try_for_each(|knob| write!(f, ",{knob}"))
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
