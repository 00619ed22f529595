//! Bottlenecks in series, some with a recorded rate.
//!
//! The links together have served at most as much by a time as the slowest one; so the curve is the minimum of
//! the links' own curves, each as if busy from the start of the visit.

use std::sync::Arc;
use std::time::Duration;

use net::{Network, Rate, Trace};
use units::Time;

use super::{ConstantRate, ServiceCurve, Work};

/// A byte, as work.
const BYTE: Work = Work(8_000_000_000);

/// Links in series.
#[derive(Clone, Debug)]
pub struct Bottlenecks(Vec<Bottleneck>);

#[derive(Clone, Debug)]
enum Bottleneck {
    Constant(ConstantRate),
    Recorded(Recorded),
}

/// A recorded rate from an instant of its link's life on.
#[derive(Clone, Debug)]
struct Recorded {
    trace: Arc<Trace>,
    start: Time,
    /// Capacity before `start`.
    before_bytes: u64,
}

impl Bottlenecks {
    /// The downlinks of a network for a visit that starts at `start`.
    pub fn down(network: &Network, start: Time) -> Bottlenecks {
        let links = network.down_links().map(|link| match &link.rate {
            Rate::Constant(rate) => Bottleneck::Constant(ConstantRate(*rate)),
            Rate::Trace(trace) => Bottleneck::Recorded(Recorded {
                trace: Arc::clone(trace),
                start,
                before_bytes: trace.capacity_bytes(start),
            }),
        });
        Bottlenecks(links.collect())
    }

    /// True if a network has a recorded rate on its downlink.
    pub fn are_in(network: &Network) -> bool {
        network.down_links().any(|link| matches!(link.rate, Rate::Trace(_)))
    }
}

impl ServiceCurve for Bottlenecks {
    fn served_by(&self, time: Time) -> Work {
        let served = self.0.iter().map(|bottleneck| match bottleneck {
            Bottleneck::Constant(rate) => rate.served_by(time),
            Bottleneck::Recorded(recorded) => recorded.served_by(time),
        });
        served.min().unwrap_or(Work(u128::MAX))
    }

    fn time_of(&self, total: Work) -> Time {
        let times = self.0.iter().map(|bottleneck| match bottleneck {
            Bottleneck::Constant(rate) => rate.time_of(total),
            Bottleneck::Recorded(recorded) => recorded.time_of(total),
        });
        times.max().unwrap_or(Time::ZERO)
    }

    fn least_time(&self, work: Work) -> Duration {
        let spans = self.0.iter().map(|bottleneck| match bottleneck {
            Bottleneck::Constant(rate) => rate.least_time(work),
            Bottleneck::Recorded(recorded) => {
                // A link that never moves takes for ever; the value must still be summable.
                const FOR_EVER: Duration = Duration::from_nanos(u64::MAX);
                recorded.trace.least_time((work.0 / BYTE.0) as u64).min(FOR_EVER)
            }
        });
        spans.max().unwrap_or(Duration::ZERO)
    }
}

impl Recorded {
    /// Capacities are in whole bytes; one more than their difference is never below the true value.
    fn served_by(&self, time: Time) -> Work {
        let until = self.start + time.since(Time::ZERO);
        let bytes = self.trace.capacity_bytes(until).saturating_sub(self.before_bytes);
        Work(u128::from(bytes) * BYTE.0) + BYTE
    }

    /// The earliest time by which `total` can have been served: doubling, then bisection.
    fn time_of(&self, total: Work) -> Time {
        if total == Work(0) {
            return Time::ZERO;
        }
        let mut enough = 1_000_000;
        while self.served_by(Time::from_nanos(enough)) < total {
            if enough > u64::MAX >> 3 {
                return Time::NEVER;
            }
            enough *= 2;
        }
        let mut too_little = 0;
        while enough - too_little > 1 {
            let middle = too_little + (enough - too_little) / 2;
            match self.served_by(Time::from_nanos(middle)) < total {
                true => too_little = middle,
                false => enough = middle,
            }
        }
        Time::from_nanos(too_little)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1 Mbit/s for a second, nothing for a second, repeated; and 10 Mbit/s beyond.
    fn network(directory: &std::path::Path) -> Network {
        let path = directory.join("rate.csv");
        std::fs::write(&path, "second,down_mbit\n0,1\n1,0\n").unwrap();
        let text = format!("rtt=20ms,up=10mbit,queue=100pkt,down.trace={}", path.display());
        Network::parse(&text).unwrap()
    }

    #[test]
    fn a_pause_is_waited_for() {
        let directory = tempfile::tempdir().unwrap();
        let network = network(directory.path());
        assert!(Bottlenecks::are_in(&network));
        let curve = Bottlenecks::down(&network, Time::ZERO);
        let (second, byte) = (Work(1_000_000 * 1_000_000_000), BYTE);
        assert_eq!(curve.served_by(Time::from_millis(1000)), second + byte);
        assert_eq!(curve.served_by(Time::from_millis(1999)), second + byte);
        let end = curve.time_of(Work(second.0 * 3 / 2));
        assert!(end > Time::from_millis(2499) && end <= Time::from_millis(2500), "{end:?}");
        assert_eq!(curve.least_time(second).as_millis(), 999);
    }

    #[test]
    fn it_counts_from_the_start_of_the_visit() {
        let directory = tempfile::tempdir().unwrap();
        let curve = Bottlenecks::down(&network(directory.path()), Time::from_millis(500));
        let half = Work(500_000 * 1_000_000_000);
        assert_eq!(curve.served_by(Time::from_millis(1400)), half + BYTE);
    }
}
