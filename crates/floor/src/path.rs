//! The network as the floor sees it: two delays and a bottleneck.

use std::time::Duration;

use net::Network;
use page::{Object, Page};

use units::Time;

use super::{Bottlenecks, ConstantRate, ServiceCurve, Work};

/// IPv4 header (20), TCP header (20) and timestamps (12): what a full packet carries beside its
/// payload.
pub const TCP_IP_HEADER_BYTES: u32 = 52;

/// The way from client to server and back.
#[derive(Clone, Debug)]
pub struct Path<C> {
    /// Propagation from the client to the server.
    pub up_delay: Duration,
    /// Propagation from the bottleneck to the client.
    pub down_delay: Duration,
    /// What the downlink serves.
    pub curve: C,
    /// The largest packet on the downlink.
    pub mtu_bytes: u32,
    /// How much of it is not payload.
    pub header_bytes: u32,
    /// How far the hosts are from each other.
    pub origins: Origins,
    /// The round trip between the bottleneck's far end and the hosts, beside what their own distance adds: what a proxy answers does not take it.
    pub beyond: Duration,
}

/// How far the hosts of a page are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origins {
    /// All as far as the network says.
    Equal,
    /// Each farther by its recorded extra round-trip time, which lies between the bottleneck and
    /// the host.
    Recorded,
}

impl Path<ConstantRate> {
    /// The path over a `network` whose rates are constant. Its losses, queues, uplink rate and jitter can only make a page
    /// slower, so they do not take part.
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
    /// The same with so long a round trip beyond it.
    #[must_use]
    pub fn with_beyond(self, beyond: Duration) -> Path<C> {
        Path { beyond, ..self }
    }

    /// The same with so long a round trip in front of it, half of it each way.
    #[must_use]
    pub fn behind(self, nearer: Duration) -> Path<C> {
        let (up_delay, down_delay) = (self.up_delay + nearer / 2, self.down_delay + nearer / 2);
        Path { up_delay, down_delay, ..self }
    }

    /// What `body_bytes` are on the wire if every packet is full. The last packet's fraction costs
    /// that fraction of a header: never more than in truth.
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
