//! Time series of a visit, from the data that its world has kept: the part of the record that an experiment
//! must request.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use browser::{ConnectionUse, Visited};
use net::LinkStats;
use record::{
    Departure, INTERVAL_NS, Interval, LinkRecord, PacketSize, RadioStep, Series, WindowSample,
};
use scenario::Recording;
use units::{BitsPerSec, Time};
use world::report::{LinkReport, RadioReport, WorldReport};
use world::sim::{Movement, PacketArrival};

use super::nanos;

/// Windows are sampled at the end of each such step in which they changed: a fraction of any mobile round trip.
const STEP_NS: u64 = 20_000_000;

/// Data that a world has kept of one client's connections and packets.
#[derive(Default)]
pub(crate) struct KeptSeries {
    /// Movements of both ends of its connections.
    pub(crate) movements: Vec<Movement>,
    /// Packets that it received, and those of its own that arrived.
    pub(crate) arrivals: Vec<PacketArrival>,
}

/// Maker of a visit's series.
pub(super) struct Recorder<'a> {
    pub(super) wanted: Recording,
    /// End of the client's previous visit.
    pub(super) since: Time,
    pub(super) client: IpAddr,
    pub(super) visited: &'a Visited,
    pub(super) radio: Option<&'a RadioReport>,
    pub(super) kept: &'a KeptSeries,
}

impl Recorder<'_> {
    /// The series that are wanted.
    pub(super) fn series(&self) -> Series {
        let mut series = Series { since_ns: self.since.as_nanos(), ..Series::default() };
        if self.wanted.windows {
            series.windows = self.windows();
        }
        if self.wanted.throughput {
            series.throughput = self.throughput();
        }
        if self.wanted.packets {
            series.packets = self.packets();
        }
        if self.wanted.radio {
            series.radio = self.radio_steps();
        }
        if self.wanted.departures {
            series.departures = self.departures();
        }
        series
    }

    fn windows(&self) -> Vec<WindowSample> {
        let mut windows = Vec::new();
        for (connection, used) in (0..).zip(&self.visited.connections) {
            let Some(server) = used.local.and_then(|local| self.server(local)) else { continue };
            let samples = server.samples.iter().map(|sample| window(connection, sample));
            windows.extend(thinned(samples));
        }
        windows
    }

    /// Movement of the servers' end of the client's connection from this address.
    fn server(&self, client: SocketAddr) -> Option<&Movement> {
        self.kept.movements.iter().find(|end| !end.active && end.peer == client)
    }

    fn client(&self, client: SocketAddr) -> Option<&Movement> {
        self.kept.movements.iter().find(|end| end.active && end.local == client)
    }

    /// Arrivals since navigation start.
    fn arrivals(&self) -> impl Iterator<Item = &PacketArrival> {
        self.kept.arrivals.iter().filter(|one| one.at >= self.visited.started)
    }

    fn throughput(&self) -> Vec<Interval> {
        let mut intervals: Vec<Interval> = Vec::new();
        for one in self.arrivals() {
            let since_start = one.at.as_nanos() - self.visited.started.as_nanos();
            let place = (since_start / INTERVAL_NS) as usize;
            if intervals.len() <= place {
                intervals.resize(place + 1, Interval::default());
            }
            let bytes = u64::from(one.wire_bytes);
            match one.to == self.client {
                true => intervals[place].bytes_down += bytes,
                false => intervals[place].bytes_up += bytes,
            }
        }
        intervals
    }

    fn packets(&self) -> Vec<PacketSize> {
        let mut sizes: BTreeMap<u32, PacketSize> = BTreeMap::new();
        for one in self.arrivals() {
            let size = sizes.entry(one.wire_bytes).or_default();
            size.wire_bytes = one.wire_bytes;
            match one.to == self.client {
                true => size.down += 1,
                false => size.up += 1,
            }
        }
        sizes.into_values().collect()
    }

    fn radio_steps(&self) -> Vec<RadioStep> {
        let changes = self.radio.into_iter().flat_map(|radio| &radio.transitions);
        let changes = changes.filter(|change| change.at >= self.since);
        let step = |change: &net::Transition| {
            let before = self.kept.arrivals.partition_point(|one| one.at <= change.at);
            let last = self.kept.arrivals[..before].last();
            RadioStep {
                at_ns: change.at.as_nanos(),
                from: change.from.name().to_owned(),
                to: change.to.name().to_owned(),
                by_packet: change.cause.is_some(),
                quiet_ns: last.map(|one| change.at.as_nanos() - one.at.as_nanos()),
            }
        };
        changes.map(step).collect()
    }

    /// A response's byte is identified by its position in the connection's stream: the number of bytes received
    /// when the client saw it. It left when as many had been sent.
    fn departures(&self) -> Vec<Departure> {
        let departure = |object: &record::ObjectRecord| {
            let used: &ConnectionUse = self.visited.connections.get(object.connection? as usize)?;
            let (client, server) = (self.client(used.local?)?, self.server(used.local?)?);
            let done = object.discovered_at_ns + object.phases.total_ns();
            let left = |seen_at_ns| left(client, server, Time::from_nanos(seen_at_ns));
            Some(Departure {
                object: object.object,
                first_at_ns: left(done - object.phases.receive_ns)?.as_nanos(),
                last_at_ns: left(done)?.as_nanos(),
            })
        };
        let arrived = self.visited.objects.iter().filter(|object| object.error.is_none());
        arrived.filter_map(departure).collect()
    }
}

/// Time at which the server first sent the bytes that the client had received by `seen`.
fn left(client: &Movement, server: &Movement, seen: Time) -> Option<Time> {
    let by_then = client.samples.partition_point(|sample| sample.at <= seen);
    let position = client.samples[..by_then].last()?.stats.bytes_received;
    let sent = server.samples.partition_point(|sample| sample.stats.bytes_sent < position);
    server.samples.get(sent).map(|sample| sample.at)
}

fn window(connection: u32, sample: &tcp::SenderSample) -> WindowSample {
    let stats = &sample.stats;
    let nanos = super::nanos;
    WindowSample {
        connection,
        at_ns: sample.at.as_nanos(),
        cwnd: stats.cwnd,
        ssthresh: stats.ssthresh,
        in_flight: stats.in_flight,
        in_flight_bytes: stats.unacknowledged_bytes.saturating_sub(stats.unsent_bytes),
        unsent_bytes: stats.unsent_bytes,
        peer_window_bytes: stats.peer_window_bytes,
        srtt_ns: nanos(stats.srtt.unwrap_or_default()),
        rto_ns: nanos(stats.rto),
        retransmits: stats.retransmitted_segments,
    }
}

/// The last sample of each step, if it differs from the one before.
fn thinned(samples: impl Iterator<Item = WindowSample>) -> Vec<WindowSample> {
    let mut kept: Vec<WindowSample> = Vec::new();
    for sample in samples {
        kept.pop_if(|last| last.at_ns / STEP_NS == sample.at_ns / STEP_NS);
        let same = |last: &WindowSample| WindowSample { at_ns: sample.at_ns, ..*last } == sample;
        if !kept.last().is_some_and(same) {
            kept.push(sample);
        }
    }
    kept
}

// Records of the links of a visit's network: configured beside delivered.

/// One record per link of the network, except for the extra distance of recorded origins. Counts are since
/// `before`; extremes are of the journey so far.
pub(super) fn links(before: &WorldReport, after: &WorldReport) -> Vec<LinkRecord> {
    let pairs = before.links.iter().zip(&after.links);
    let network = pairs.filter(|(_, after)| !after.name.starts_with("origin/"));
    network.map(|(before, after)| record(before, after)).collect()
}

fn record(before: &LinkReport, after: &LinkReport) -> LinkRecord {
    let (config, was, is) = (&after.config, &before.stats, &after.stats);
    let since = |count: fn(&LinkStats) -> u64| count(is) - count(was);
    let served_bytes = since(|stats| stats.served_bytes);
    let served_packets = since(|stats| stats.served_packets);
    let busy_ns = since(|stats| stats.busy.0);
    let unqueued_ns = nanos(is.unqueued.total()) - nanos(was.unqueued.total());
    LinkRecord {
        name: after.name.clone(),
        configured_bit_per_s: limit(config.rate.mean()),
        configured_delay_ns: nanos(config.delay),
        configured_loss_ppb: config.loss.mean().map(|mean| (mean * 1e9).round() as u64),
        offered_packets: since(|stats| stats.offered_packets),
        offered_bytes: since(|stats| stats.offered_bytes),
        duplicated_packets: since(|stats| stats.duplicated_packets),
        delivered_packets: since(|stats| stats.delivered_packets),
        delivered_bytes: since(|stats| stats.delivered_bytes),
        lost_packets: since(|stats| stats.lost_packets),
        queue_full_packets: since(|stats| stats.queue_full_packets),
        managed_packets: since(|stats| stats.managed_packets),
        too_big_packets: since(|stats| stats.too_big_packets),
        marked_packets: since(|stats| stats.marked_packets),
        reordered_packets: since(|stats| stats.reordered_packets),
        delivered_bit_per_s: rate(served_bytes, busy_ns),
        busy_ns,
        waited_ns: nanos(is.waited.total()) - nanos(was.waited.total()),
        least_unqueued_ns: nanos(is.unqueued.least()),
        mean_unqueued_ns: unqueued_ns.checked_div(served_packets).unwrap_or_default(),
        most_one_way_ns: nanos(is.one_way.most()),
        max_queue_packets: is.max_queue_packets,
        max_queue_bytes: is.max_queue_bytes,
    }
}

/// A rate; `None` if it is unlimited.
fn limit(rate: BitsPerSec) -> Option<u64> {
    (rate != BitsPerSec::UNLIMITED).then_some(rate.0)
}

fn rate(bytes: u64, busy_ns: u64) -> Option<u64> {
    let bits = u128::from(bytes) * 8_000_000_000;
    bits.checked_div(u128::from(busy_ns)).map(|rate| rate as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64, cwnd: u32) -> WindowSample {
        WindowSample { at_ns: ms * 1_000_000, cwnd, ..WindowSample::default() }
    }

    #[test]
    fn the_last_of_each_step_is_kept_if_it_says_something_new() {
        let samples = [at(1, 10), at(19, 11), at(20, 12), at(45, 12), at(70, 13), at(79, 12)];
        let kept = thinned(samples.into_iter());
        assert_eq!(kept, [at(19, 11), at(20, 12)]);
    }
}
