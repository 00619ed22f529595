//! A host's cache of peer metrics from one connection to the next.
//!
//! A connection that ends in order leaves its round trip, deviation, threshold and degree of reordering; the next one to the same
//! address begins with them. So in Linux 3 one lossy connection makes later ones leave slow start early. Source:
//! `tcp_update_metrics` and `tcp_init_metrics` of Linux 3.0.27, 3.10.17 (`tcp_metrics.c`) and 6.18. Left out: the window, which is
//! cached, too, but never used by default; differences in the key (route, destination, or both addresses).

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use units::Time;

use crate::config::{Config, HandshakeRtt, MetricsUse};
use crate::rack::DUPLICATE_THRESHOLD;
use crate::recovery::CongestionState;
use crate::sender::Sender;

/// Cached metrics of one peer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CachedMetrics {
    /// Eight times the smoothed round trip; zero: unknown.
    rtt_8: Duration,
    /// Four times the mean deviation.
    deviation_4: Duration,
    ssthresh: Option<u32>,
    reordering: Option<u32>,
}

/// Metrics of a connection at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SavedMetrics {
    /// As in [`CachedMetrics`]; none if the peer never acknowledged in time.
    rtt: Option<(Duration, Duration)>,
    cwnd: u32,
    /// None if it never left slow start because of congestion.
    ssthresh: Option<u32>,
    /// The window was above the threshold, and no loss was suspected.
    settled: bool,
    reordering: u32,
}

/// The metrics cache of one host.
#[derive(Clone, Debug, Default)]
pub struct MetricsCache {
    peers: BTreeMap<IpAddr, (Time, CachedMetrics)>,
}

impl MetricsCache {
    /// Metrics for a new connection to `peer` to start from.
    pub fn get(&self, now: Time, peer: IpAddr, config: &Config) -> Option<CachedMetrics> {
        let (at, metrics) = self.peers.get(&peer)?;
        let known = config.metrics != MetricsUse::Off && now - *at <= config.metrics_lifetime;
        known.then_some(*metrics)
    }

    /// Records the metrics of a connection to `peer` that ended.
    pub fn update(&mut self, now: Time, peer: IpAddr, config: &Config, saved: &SavedMetrics) {
        if config.metrics == MetricsUse::Off {
            return;
        }
        let mut metrics = self.get(now, peer, config).unwrap_or_default();
        metrics.update(saved, config.metrics);
        self.peers.insert(peer, (now, metrics));
    }

    /// Forgets one peer (`ip tcp_metrics delete`).
    pub fn forget(&mut self, peer: IpAddr) {
        self.peers.remove(&peer);
    }

    /// Forgets all peers (`ip tcp_metrics flush`).
    pub fn flush(&mut self) {
        self.peers.clear();
    }
}

impl CachedMetrics {
    fn update(&mut self, saved: &SavedMetrics, policy: MetricsUse) {
        let Some((rtt_8, deviation_4)) = saved.rtt else {
            self.rtt_8 = Duration::ZERO;
            return;
        };
        // A larger round trip counts at once, a smaller one by an eighth: an overestimate is better than an underestimate.
        let change = self.rtt_8.abs_diff(rtt_8);
        self.rtt_8 = if rtt_8 >= self.rtt_8 { rtt_8 } else { self.rtt_8 - change / 8 };
        let deviation = (change / 2).max(deviation_4);
        self.deviation_4 = match self.deviation_4.checked_sub(deviation) {
            Some(excess) => self.deviation_4 - excess / 4,
            None => deviation,
        };
        if policy == MetricsUse::Linux3 {
            self.update_threshold(saved);
        }
        if saved.reordering > self.reordering.unwrap_or(0)
            && saved.reordering != DUPLICATE_THRESHOLD
        {
            self.reordering = Some(saved.reordering);
        }
    }

    fn update_threshold(&mut self, saved: &SavedMetrics) {
        match saved.ssthresh {
            Some(ssthresh) if saved.settled => {
                self.ssthresh = Some(ssthresh.max(saved.cwnd >> 1));
            }
            // The window means nothing, or slow start did not finish: only a known threshold is raised.
            reached => {
                let reached = reached.unwrap_or(saved.cwnd >> 1);
                self.ssthresh = self.ssthresh.map(|known| known.max(reached));
            }
        }
    }
}

impl Sender {
    /// Metrics of the connection; call before its state is dropped.
    pub(crate) fn saved_metrics(&self) -> SavedMetrics {
        let window = &self.cwnd.window;
        let ssthresh = (window.ssthresh < congestion::INFINITE_SSTHRESH).then_some(window.ssthresh);
        let open = self.recovery.state == CongestionState::Open;
        SavedMetrics {
            rtt: self.rtt.saved(),
            cwnd: window.cwnd,
            ssthresh,
            settled: open && ssthresh.is_some_and(|ssthresh| window.cwnd > ssthresh),
            reordering: self.rack.reordering(),
        }
    }

    /// Starts from the cached metrics of the peer, once the handshake is over (`tcp_init_metrics`).
    pub(crate) fn apply_metrics(&mut self, metrics: &CachedMetrics, timestamps: bool) {
        if let Some(reordering) = metrics.reordering {
            self.rack.seed_reordering(reordering);
        }
        match self.config.metrics {
            MetricsUse::Off => {}
            MetricsUse::Linux3 => {
                if let Some(ssthresh) = metrics.ssthresh {
                    self.cwnd.window.ssthresh = ssthresh;
                }
                // Linux 3.0 does not trust a round trip that timestamps could not correct.
                if timestamps || self.config.handshake_rtt == HandshakeRtt::Counts {
                    self.rtt.raise(metrics.rtt_8, metrics.deviation_4);
                }
            }
            MetricsUse::Linux6 => self.rtt.seed_timeout(metrics.rtt_8 / 8),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Generation;

    const PEER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);
    const MS: Duration = Duration::from_millis(1);

    fn saved(rtt_ms: u32, cwnd: u32, ssthresh: Option<u32>, settled: bool) -> SavedMetrics {
        let rtt = Some((8 * rtt_ms * MS, 4 * 10 * MS));
        SavedMetrics { rtt, cwnd, ssthresh, settled, reordering: 3 }
    }

    fn after(config: &Config, all: &[SavedMetrics]) -> CachedMetrics {
        let mut cache = MetricsCache::default();
        for saved in all {
            cache.update(Time::ZERO, PEER, config, saved);
        }
        cache.get(Time::ZERO, PEER, config).expect("something was learned")
    }

    #[test]
    fn a_larger_round_trip_counts_at_once_a_smaller_by_an_eighth() {
        let config = Generation::Linux3_10.config();
        let known = after(&config, &[saved(100, 10, None, false), saved(180, 10, None, false)]);
        assert_eq!(known.rtt_8, 8 * 180 * MS);
        // The first connection changes 0 to 800 ms, of which half counts; the second by 640 ms, which pulls by a quarter.
        assert_eq!(known.deviation_4, (400 - (400 - 320) / 4) * MS);
        let known = after(&config, &[saved(180, 10, None, false), saved(100, 10, None, false)]);
        assert_eq!(known.rtt_8, 8 * 170 * MS);
    }

    #[test]
    fn linux_3_remembers_a_threshold_once_there_was_one_and_linux_6_does_not() {
        let (old, new) = (Generation::Linux3_2.config(), Generation::Linux6.config());
        let lossy = saved(100, 9, Some(7), true);
        assert_eq!(after(&old, &[saved(100, 80, None, false)]).ssthresh, None);
        assert_eq!(after(&old, &[lossy]).ssthresh, Some(7));
        assert_eq!(after(&old, &[lossy, saved(100, 80, None, false)]).ssthresh, Some(40));
        assert_eq!(after(&old, &[lossy, saved(100, 5, Some(6), false)]).ssthresh, Some(7));
        assert_eq!(after(&new, &[lossy]).ssthresh, None);
    }

    #[test]
    fn what_is_older_than_its_lifetime_is_forgotten() {
        let config = Generation::Linux3_2.config();
        let mut cache = MetricsCache::default();
        cache.update(Time::ZERO, PEER, &config, &saved(100, 9, Some(7), true));
        let at = |seconds: u64| Time::from_millis(1000 * seconds);
        assert!(cache.get(at(3600), PEER, &config).is_some());
        assert!(cache.get(at(3601), PEER, &config).is_none());
        let off = Config { metrics: MetricsUse::Off, ..config };
        assert!(cache.get(Time::ZERO, PEER, &off).is_none());
    }
}
