//! Browser policies: how many connections a browser opens, when, and what it sends on them. Data, in `data/policies.toml`.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;

use crate::named::{Table, UnknownName};

/// How a browser uses connections.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Policy {
    /// One line for people.
    pub summary: String,
    /// HTTP/1 connections to one host at a time.
    pub connections_per_host: usize,
    /// Connections in all.
    pub connections_total: usize,
    /// Connections through one proxy; `None`: as many as in all.
    #[serde(default)]
    pub connections_per_proxy: Option<usize>,
    /// Among how many ports of a proxy requests are dealt out.
    #[serde(default = "one")]
    pub proxy_ports: u16,
    /// Connections to one host at a time where the protocol multiplexes.
    pub multiplexed_per_host: usize,
    /// When it is decided which connection a request goes to.
    pub binding: Binding,
    /// Whether hosts share a connection.
    pub coalescing: Coalescing,
    /// A host's first connection is given so long (ms) to reach it before a second one is tried beside it; `None`: it is left to TCP.
    #[serde(default)]
    pub backup_after_ms: Option<u64>,
    /// How long connections may be idle.
    #[serde(default)]
    pub idle: IdleTimeouts,
    /// How images and the like are held back; `None`: not at all.
    #[serde(default)]
    pub delayable: Option<Delayable>,
    /// Requests on one HTTP/1.1 connection at a time where they are pipelined.
    pub pipeline_depth: usize,
}

/// How many delayable requests may be in flight at hosts that cannot be told priorities.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Delayable {
    /// Of a tab.
    pub in_all: usize,
    /// While its host has fewer requests of any kind than this.
    pub per_host: usize,
    /// Before the document's body has begun, and only while hardly anything else is in flight.
    pub in_head: usize,
}

/// When it is decided which connection a request goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Binding {
    /// When one can take it: whichever is free, or open, first.
    Late,
    /// When it is made: a request waits for the connection that was opened for it. Where a protocol multiplexes over several,
    /// requests are dealt out in turn.
    Early,
}

/// Whether hosts share a connection of a protocol that multiplexes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Coalescing {
    /// Each has its own.
    Never,
    /// Those at one address, with one certificate, do.
    ByAddress,
}

/// How long (s) a browser keeps connections that nothing is asked on; `None`: as long as it runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IdleTimeouts {
    /// Those that have carried a request.
    #[serde(default)]
    pub used_s: Option<u64>,
    /// Those that never have.
    #[serde(default)]
    pub unused_s: Option<u64>,
    /// Those of a protocol that multiplexes.
    #[serde(default)]
    pub multiplexed_s: Option<u64>,
}

fn one() -> u16 {
    1
}

static TABLE: Table<Policy> = Table::new("browser policy", include_str!("../data/policies.toml"));

impl Policy {
    /// The policy called `name`.
    ///
    /// # Errors
    /// If there is none; the message lists those that exist.
    pub fn named(name: &str) -> Result<Policy, UnknownName> {
        TABLE.find(name)
    }

    /// All policies by name.
    pub fn all() -> &'static BTreeMap<String, Policy> {
        TABLE.all()
    }

    /// How long a host's first connection is given.
    pub(crate) fn backup_after(&self) -> Option<Duration> {
        self.backup_after_ms.map(Duration::from_millis)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_reads_and_limits_are_sane() {
        let all = Policy::all();
        assert!(all.len() >= 6);
        for (name, policy) in all {
            assert!(policy.connections_per_host >= 1, "{name}");
            assert!(policy.multiplexed_per_host >= 1, "{name}");
            assert!(policy.pipeline_depth >= 1, "{name}");
            // Else nothing that is held back would ever start.
            let least = policy.delayable.map_or(1, |d| d.in_all.min(d.per_host));
            assert!(least >= 1, "{name}");
            assert!(policy.connections_total >= policy.connections_per_host, "{name}");
            assert!(policy.connections_total >= policy.multiplexed_per_host, "{name}");
            assert!(
                policy
                    .connections_per_proxy
                    .is_none_or(|limit| limit >= policy.multiplexed_per_host),
                "{name}"
            );
            assert!(policy.proxy_ports >= 1, "{name}");
        }
        let error = Policy::named("netscape").unwrap_err().to_string();
        assert!(error.contains("chrome-2013"), "{error}");
    }
}
