//! The network model of the floor: two delays and a bottleneck.

use std::time::Duration;

use net::Network;
use page::{Object, Page};

use units::Time;

use super::{Bottlenecks, ConstantRate, ServiceCurve, Work};

/// IPv4 header (20), TCP header (20) and timestamps (12): overhead of a full packet.
pub const TCP_IP_HEADER_BYTES: u32 = 52;

/// The path from client to server and back.
#[derive(Clone, Debug)]
pub struct Path<C> {
    /// Propagation from the client to the server.
    pub up_delay: Duration,
    /// Propagation from the bottleneck to the client.
    pub down_delay: Duration,
    /// Service curve of the downlink.
    pub curve: C,
    /// The largest packet on the downlink.
    pub mtu_bytes: u32,
    /// Header bytes in such a packet.
    pub header_bytes: u32,
    /// Distances of the hosts.
    pub origins: Origins,
    /// Round trip between the bottleneck's far end and the hosts, in addition to the hosts' own distance.
    /// Responses from a proxy do not take it.
    pub beyond: Duration,
}

/// Distances of a page's hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origins {
    /// All at the network's RTT.
    Equal,
    /// Each farther by its recorded extra round-trip time, which lies between the bottleneck and the host.
    Recorded,
}

impl Path<ConstantRate> {
    /// The path over a `network` with constant rates. Losses, queues, uplink rate and jitter can only make a
    /// page slower, so they are ignored.
    pub fn over(network: &Network, origins: Origins) -> Path<ConstantRate> {
        Path {
            up_delay: network.up_delay(),
            down_delay: network.down_delay(),
            curve: ConstantRate(network.down_peak()),
            mtu_bytes: network.down_mtu(),
            header_bytes: TCP_IP_HEADER_BYTES,
            origins,
            beyond: Duration::ZERO,
        }
    }
}

impl Path<Bottlenecks> {
    /// The path over a `network` with recorded rates, for a visit that starts at `start` of its links' life.
    pub fn recorded(network: &Network, origins: Origins, start: Time) -> Path<Bottlenecks> {
        let Path { up_delay, down_delay, mtu_bytes, header_bytes, origins, beyond, .. } =
            Path::over(network, origins);
        let curve = Bottlenecks::down(network, start);
        Path { up_delay, down_delay, curve, mtu_bytes, header_bytes, origins, beyond }
    }
}

impl<C: ServiceCurve> Path<C> {
    /// The same path with a round trip of `beyond` behind it.
    #[must_use]
    pub fn with_beyond(self, beyond: Duration) -> Path<C> {
        Path { beyond, ..self }
    }

    /// The same path with a round trip of `nearer` in front of it, half of it each way.
    #[must_use]
    pub fn behind(self, nearer: Duration) -> Path<C> {
        let (up_delay, down_delay) = (self.up_delay + nearer / 2, self.down_delay + nearer / 2);
        Path { up_delay, down_delay, ..self }
    }

    /// Size of `body_bytes` on the wire if every packet is full. The last packet's fraction costs that fraction
    /// of a header: never more than in reality.
    pub(super) fn work(&self, body_bytes: u64) -> Work {
        let (mtu, payload) = (self.mtu_bytes, self.mtu_bytes.saturating_sub(self.header_bytes));
        let nanobits = u128::from(body_bytes) * 8_000_000_000;
        Work(nanobits * u128::from(mtu) / u128::from(payload.max(1)))
    }

    /// The least time from the discovery of `object` until its first byte is at the bottleneck.
    pub(super) fn request_delay(&self, page: &Page, object: &Object) -> Duration {
        let extra_rtt = match self.origins {
            Origins::Equal => Duration::ZERO,
            Origins::Recorded => page.host_of(object).extra_rtt.value,
        };
        self.up_delay + self.beyond + extra_rtt + object.think.value
    }
}
