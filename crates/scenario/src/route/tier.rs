//! One of the proxies between clients and hosts.

use super::super::Protocol;
use super::{ProxyPreset, ProxySettings, RouteKind};

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
