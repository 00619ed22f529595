//! Browser policies: number and timing of connections, and requests on them. Data, in `data/policies.toml`.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;

use crate::named_table::{NamedTable, UnknownName};

/// A browser's use of connections.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Policy {
    /// One line for people.
    pub summary: String,
    /// HTTP/1 connections to one host at a time.
    pub connections_per_host: usize,
    /// Total connections.
    pub connections_total: usize,
    /// Connections through one proxy; `None`: limited by the total only.
    #[serde(default)]
    pub connections_per_proxy: Option<usize>,
    /// Number of a proxy's ports among which requests are distributed.
    #[serde(default = "one")]
    pub proxy_ports: u16,
    /// Connections to one host at a time where the protocol multiplexes.
    pub multiplexed_per_host: usize,
    /// Time at which a request is bound to a connection.
    pub binding: Binding,
    /// Sharing of connections by hosts.
    pub coalescing: Coalescing,
    /// Time (ms) for a host's first connection to reach it before a second one is tried beside it; `None`: left to TCP.
    #[serde(default)]
    pub backup_after_ms: Option<u64>,
    /// Idle timeouts of connections.
    #[serde(default)]
    pub idle: IdleTimeouts,
    /// Limits of delayable requests, such as for images; `None`: none.
    #[serde(default)]
    pub delayable: Option<Delayable>,
    /// True if its preload scanner leaves out images, so that they wait for the scripts of a document's head.
    #[serde(default)]
    pub images_by_parser: bool,
    /// Maximum requests in flight on one pipelined HTTP/1.1 connection.
    pub pipeline_depth: usize,
    /// True if its TLS 1.3 offers a key share of x25519mlkem768, which makes a ClientHello two packets long.
    #[serde(default)]
    pub post_quantum: bool,
}

/// Limits of delayable requests in flight, at hosts that cannot be sent priorities.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Delayable {
    /// Limit per tab.
    pub in_all: usize,
    /// Limit per host, counting requests of any kind.
    pub per_host: usize,
    /// Limit before the document's body has begun, and only while hardly anything else is in flight.
    pub in_head: usize,
}

/// Time at which a request is bound to a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Binding {
    /// Once one can take it: the first to be free, or open.
    Late,
    /// At the request: it waits for the connection that was opened for it. If a protocol multiplexes over several,
    /// requests are distributed in turn.
    Early,
}

/// Sharing of connections of a multiplexing protocol by several hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Coalescing {
    /// Each host has its own.
    Never,
    /// Hosts at one address, with one certificate, share one.
    ByAddress,
}

/// Idle timeouts (s) of a browser's connections; `None`: kept as long as it runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IdleTimeouts {
    /// Timeout of connections that have carried a request.
    #[serde(default)]
    pub used_s: Option<u64>,
    /// Timeout of connections that never have.
    #[serde(default)]
    pub unused_s: Option<u64>,
    /// Timeout of connections of a multiplexing protocol.
    #[serde(default)]
    pub multiplexed_s: Option<u64>,
}

fn one() -> u16 {
    1
}

static TABLE: NamedTable<Policy> =
    NamedTable::new("browser policy", include_str!("../data/policies.toml"));

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

    /// Time for a host's first connection, before the backup.
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
            // Otherwise nothing that is held back would ever start.
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
