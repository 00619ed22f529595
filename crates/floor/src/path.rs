//! The network model of the floor: two delays and a bottleneck with its service curve.

use std::ops::{Add, Sub};
use std::time::Duration;

use net::Network;
use page::{Object, Page};
use units::{BitsPerSec, Time};

use super::Bottlenecks;

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

// Service curve of the bottleneck.

/// An amount of service, in bits on the wire times 10^-9, so that a rate in bit/s times a time in ns is exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Work(pub u128);

/// Cumulative service of a bottleneck that never idles: a non-decreasing function of time and its inverse.
/// Times are rounded down, so that rounding can only lower a bound.
pub trait ServiceCurve {
    /// Service from the start to `time`.
    fn served_by(&self, time: Time) -> Work;

    /// Time at which `total` has been served since the start.
    fn time_of(&self, total: Work) -> Time;

    /// The least time in which `work` can be served, whenever its service begins.
    fn least_time(&self, work: Work) -> Duration;

    /// Completion time of `work` if it is served alone from `start` on.
    fn finish(&self, start: Time, work: Work) -> Time {
        self.time_of(self.served_by(start) + work).max(start)
    }
}

/// A bottleneck with a constant rate.
#[derive(Clone, Copy, Debug)]
pub struct ConstantRate(pub BitsPerSec);

impl ServiceCurve for ConstantRate {
    fn served_by(&self, time: Time) -> Work {
        Work(u128::from(self.0.0) * u128::from(time.as_nanos()))
    }

    fn time_of(&self, total: Work) -> Time {
        match u128::from(self.0.0) {
            0 => Time::NEVER,
            rate => u64::try_from(total.0 / rate).map_or(Time::NEVER, Time::from_nanos),
        }
    }

    fn least_time(&self, work: Work) -> Duration {
        self.time_of(work).since(Time::ZERO)
    }
}

impl Add for Work {
    type Output = Work;
    fn add(self, other: Work) -> Work {
        Work(self.0.saturating_add(other.0))
    }
}

impl Sub for Work {
    type Output = Work;
    fn sub(self, other: Work) -> Work {
        Work(self.0.saturating_sub(other.0))
    }
}
