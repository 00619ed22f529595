//! Upstream connections: kept alive, shared, and lent to requests.
//!
//! There is one [`Upstream`] per core. It resolves names, judges addresses, opens connections, lends them out and takes
//! them back; an exchange that fails on a connection that died while idle is retried if the request is safe to repeat.

mod body;
mod connect;
mod connections;
mod fairness;
mod fetch;
mod health;
mod parents;
mod pool;

use std::time::Duration;

use http_stack::h2;
use tls::Protocol;

pub use body::{OriginTunnel, ResponseBody};
pub use connect::{OpenedConnection, OriginAddress, ReachPolicy, TlsHandshake};
pub use fairness::ClientPeer;
pub use fetch::{FetchError, FetchOrder, Fetched, Upstream};
pub use health::{Attempt, Health, HealthCheck, HealthSettings, ServerChoice, ServerTally};
pub use pool::PoolCount;

/// Limits and timeouts. The limits hold for one [`Upstream`]: if there are several cores, each is given its
/// [share](Settings::share). Timeouts are coarse: late by up to 0.2 s.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpstreamSettings {
    /// Connections to one origin.
    pub connections_per_origin: usize,
    /// Connections in all.
    pub connections: usize,
    /// Percentage of either, and of an HTTP/2 connection's streams, that a single client may hold. Another client gets the same percentage of the
    /// rest, and so on; 100 reserves nothing.
    pub client_share: u8,
    /// Maximum number of requests waiting for a connection.
    pub waiting: usize,
    /// Maximum wait for a connection.
    pub queue_timeout: Duration,
    /// Idle timeout of connections.
    pub keep_alive: Duration,
    /// Timeout for name resolution, connection and handshake.
    pub connect_timeout: Duration,
    /// Timeout from the request's last byte to the beginning of the response.
    pub first_byte_timeout: Duration,
    /// Idle timeout of bodies and tunnels.
    pub idle_timeout: Duration,
    /// Protocol offered to origins over TLS: HTTP/2 offers HTTP/1.1 as well.
    pub protocol: Protocol,
    /// HTTP/2's windows.
    pub h2: h2::settings::Client,
    /// Parent proxies through which all origins are reached, chosen by the operator (Squid's `cache_peer ... parent`): requests to origins in
    /// clear text go to one of them, and all others through its tunnels.
    pub parents: Vec<OriginAddress>,
}

impl UpstreamSettings {
    /// Maximum number of cores that can share the limits: each needs a connection to every origin.
    pub fn most_shares(&self) -> usize {
        self.connections_per_origin.min(self.connections).max(1)
    }

    /// The share of the core at `index` of `count`: the sum of all shares equals the limits, if there are no more cores
    /// than [can share](Settings::most_shares) them.
    #[must_use]
    pub fn share(&self, index: usize, count: usize) -> UpstreamSettings {
        let part = |all: usize| all / count + usize::from(index < all % count);
        UpstreamSettings {
            connections_per_origin: part(self.connections_per_origin).max(1),
            connections: part(self.connections).max(1),
            waiting: part(self.waiting),
            ..self.clone()
        }
    }
}

impl Default for UpstreamSettings {
    /// 256 connections to one origin and 1,024 in all, of which a client has at most three quarters; nginx's timeouts (60 s), and 10 s to connect.
    /// Over HTTP/2, at most 1 MiB of each response waits here while its client is slow.
    fn default() -> UpstreamSettings {
        UpstreamSettings {
            connections_per_origin: 256,
            connections: 1_024,
            client_share: 75,
            waiting: 1_024,
            queue_timeout: Duration::from_secs(30),
            keep_alive: Duration::from_secs(60),
            connect_timeout: Duration::from_secs(10),
            first_byte_timeout: Duration::from_secs(60),
            idle_timeout: Duration::from_secs(60),
            protocol: Protocol::H1,
            h2: h2::settings::Client {
                stream_window_bytes: 1 << 20,
                connection_window_bytes: 16 << 20,
                ..h2::settings::Client::CHROME
            },
            parents: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_the_whole() {
        let all = UpstreamSettings {
            connections_per_origin: 10,
            connections: 31,
            waiting: 5,
            ..UpstreamSettings::default()
        };
        for count in 1..=all.most_shares() {
            let shares: Vec<UpstreamSettings> =
                (0..count).map(|index| all.share(index, count)).collect();
            let sum =
                |limit: fn(&UpstreamSettings) -> usize| shares.iter().map(limit).sum::<usize>();
            assert_eq!(sum(|share| share.connections_per_origin), 10);
            assert_eq!((sum(|share| share.connections), sum(|share| share.waiting)), (31, 5));
        }
    }
}
