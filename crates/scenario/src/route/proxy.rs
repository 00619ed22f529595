//! Proxies of a route: settings, presets measured in studies, place on the network, tiers.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::LazyLock;

use serde::Deserialize;
use units::parse;

use super::super::Protocol;
use super::super::knobs::{name_of, on_or_off, one_of, switch};
use super::{KnobProblem, RouteKind, Turn};

/// Settings of a proxy; unset ones are those of its preset, or of farlink's own proxy.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ProxySettings {
    /// Method by which clients use it.
    pub via: Via,
    /// Concurrent connections to one origin.
    pub upstream: Option<u32>,
    /// Concurrent connections to all origins.
    pub upstream_total: Option<u32>,
    /// True if connections to origins carry more than one request.
    pub keep_alive: Option<bool>,
    /// Concurrent requests.
    pub workers: Option<u32>,
    /// State of the cache at the start of the journey.
    pub cache: CacheState,
    /// Answers that it compresses.
    pub compression: Compression,
    /// Its place.
    pub at: ProxyPlace,
}

/// Method by which clients use a proxy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Via {
    /// Requests for resources: it sees requests, and may answer them.
    #[default]
    Get,
    /// Tunnels (`CONNECT`): it relays bytes, and TLS is between client and origin.
    Connect,
}

/// Answers that a proxy compresses, of those whose type shrinks and which came uncompressed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compression {
    /// None.
    #[default]
    Off,
    /// Answers that are for all users.
    Shared,
    /// Answers for one user as well, whose secrets the size of a compressed body may tell (BREACH).
    All,
}

/// State of a proxy's cache at the start of the journey.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum CacheState {
    /// Empty.
    #[default]
    Cold,
    /// As an earlier load of the page left it: each object that may be stored.
    Primed,
    /// Each of those objects with this probability, drawn for the journey.
    Share(f64),
}

/// A proxy measured in a study: `data/proxies.toml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProxyPreset {
    /// One line for help.
    pub summary: String,
    /// As in [`ProxySettings`].
    #[serde(default)]
    pub upstream: Option<u32>,
    /// As in [`ProxySettings`].
    #[serde(default)]
    pub upstream_total: Option<u32>,
    /// As in [`ProxySettings`].
    #[serde(default)]
    pub keep_alive: Option<bool>,
    /// Concurrent requests of a multiplexed protocol.
    #[serde(default)]
    pub threads: Option<u32>,
    /// The largest payload of a DATA frame, unless [`Serving`](super::Serving) sets it.
    #[serde(default)]
    pub frame_bytes: Option<u32>,
}

static PRESETS: LazyLock<BTreeMap<String, ProxyPreset>> = LazyLock::new(|| {
    toml::from_str(include_str!("../../data/proxies.toml"))
        .expect("an embedded table is checked by its test")
});

const VIAS: [(&str, Via); 2] = [("get", Via::Get), ("connect", Via::Connect)];

const COMPRESSIONS: [(&str, Compression); 3] =
    [("off", Compression::Off), ("on", Compression::Shared), ("all", Compression::All)];

impl ProxyPreset {
    /// All presets, by name.
    pub fn all() -> &'static BTreeMap<String, ProxyPreset> {
        &PRESETS
    }
}

impl Turn for ProxySettings {
    fn turn(&mut self, knob: &str, value: &str) -> Result<(), KnobProblem> {
        match knob {
            "via" => self.via = one_of(value, &VIAS, "get or connect")?,
            "upstream" => self.upstream = Some(count(value)?),
            "upstream-total" => self.upstream_total = Some(count(value)?),
            "keep-alive" => self.keep_alive = Some(on_or_off(value)?),
            "workers" => self.workers = Some(count(value)?),
            "cache" => self.cache = cache(value)?,
            "compress" => self.compression = one_of(value, &COMPRESSIONS, "off, on or all")?,
            "at" => self.at = ProxyPlace::read(value)?,
            _ => return Err(KnobProblem::Unknown),
        }
        Ok(())
    }

    fn turned(&self) -> Vec<String> {
        let usual = ProxySettings::default();
        let count = |knob: &str, count: Option<u32>| count.map(|count| format!("{knob}={count}"));
        let turned = [
            (self.via != usual.via).then(|| format!("via={}", name_of(&VIAS, &self.via))),
            count("upstream", self.upstream),
            count("upstream-total", self.upstream_total),
            self.keep_alive.map(|on| format!("keep-alive={}", switch(on))),
            count("workers", self.workers),
            (self.cache != usual.cache).then(|| format!("cache={}", self.cache)),
            (self.compression != usual.compression)
                .then(|| format!("compress={}", name_of(&COMPRESSIONS, &self.compression))),
            (self.at != usual.at).then(|| format!("at={}", self.at)),
        ];
        turned.into_iter().flatten().collect()
    }
}

/// A number as the value of a knob.
pub(super) fn count(value: &str) -> Result<u32, KnobProblem> {
    let number = value.parse().ok().filter(|number| (1..=10_000).contains(number));
    number.ok_or(KnobProblem::Expected("a number from 1 to 10000"))
}

fn cache(value: &str) -> Result<CacheState, KnobProblem> {
    let share = || parse::ratio(value).ok().filter(|share| (0.0..=1.0).contains(share));
    match value {
        "cold" => Ok(CacheState::Cold),
        "primed" => Ok(CacheState::Primed),
        _ => share()
            .map(CacheState::Share)
            .ok_or(KnobProblem::Expected("cold, primed, or the share that it holds: 60%")),
    }
}

impl fmt::Display for CacheState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CacheState::Cold => f.write_str("cold"),
            CacheState::Primed => f.write_str("primed"),
            CacheState::Share(share) => write!(f, "{share}"),
        }
    }
}

// Place of a proxy on the network: at the far end of one of its hops, like a resolver.

/// Place of a proxy. `first-hop` is the base station's place if the first hop is the radio's, `far-end` the core's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProxyPlace {
    /// At the far end of the first hop.
    FirstHop,
    /// At the far end of the hop of this number beyond the first: `hop.1`, `hop.2` of a network.
    Hop(u32),
    /// At the network's far end.
    #[default]
    FarEnd,
}

impl ProxyPlace {
    pub(super) fn read(value: &str) -> Result<ProxyPlace, KnobProblem> {
        let hop = || {
            let number = value.strip_prefix("hop.")?.parse().ok()?;
            (number > 0).then_some(ProxyPlace::Hop(number))
        };
        match value {
            "first-hop" => Ok(ProxyPlace::FirstHop),
            "far-end" => Ok(ProxyPlace::FarEnd),
            _ => hop()
                .ok_or(KnobProblem::Expected("first-hop, far-end, or a hop of the network: hop.1")),
        }
    }

    /// Number of hops between clients and this place, on a network of `of_network` hops; `None` if it has no such hop.
    pub fn hops(self, of_network: usize) -> Option<usize> {
        let hops = match self {
            ProxyPlace::FirstHop => 1,
            ProxyPlace::Hop(number) => number as usize + 1,
            ProxyPlace::FarEnd => of_network,
        };
        (hops <= of_network).then_some(hops)
    }

    /// Text in a sentence.
    pub(super) fn told(self) -> String {
        match self {
            ProxyPlace::FirstHop => "at the far end of the network's first hop".to_owned(),
            ProxyPlace::Hop(number) => format!("at the far end of the network's hop.{number}"),
            ProxyPlace::FarEnd => "at the network's far end".to_owned(),
        }
    }
}

impl fmt::Display for ProxyPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProxyPlace::FirstHop => f.write_str("first-hop"),
            ProxyPlace::Hop(number) => write!(f, "hop.{number}"),
            ProxyPlace::FarEnd => f.write_str("far-end"),
        }
    }
}

/// A proxy of HTTP.
#[derive(Clone, Debug, PartialEq)]
pub struct Tier {
    /// Kind of the proxy, which decides if it has a cache.
    pub kind: RouteKind,
    /// Preset of the proxy.
    pub like: Option<String>,
    /// Further settings.
    pub settings: ProxySettings,
}

impl Tier {
    /// Preset of the proxy.
    pub fn preset(&self) -> Option<&'static ProxyPreset> {
        ProxyPreset::all().get(self.like.as_deref()?)
    }

    /// Effective settings if clients speak `protocol` to it: those typed, else those of its preset.
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

    /// True if its connections to origins carry more than one request, if clients speak `protocol` to it.
    pub fn keeps_alive(&self, protocol: Protocol) -> bool {
        self.resolved(protocol).keep_alive != Some(false)
    }

    /// True if it has a cache.
    pub fn caches(&self) -> bool {
        self.kind == RouteKind::CachingProxy
    }

    /// Its preset and place, in a sentence.
    pub(super) fn told(&self) -> String {
        let like = self.like.as_ref().zip(self.preset());
        let like = like.map_or_else(
            || "farlink's own proxy".to_owned(),
            |(name, preset)| format!("farlink's proxy set like {name} ({})", preset.summary),
        );
        format!("{like} {}", self.settings.at.told())
    }
}
