//! Account of a fit: the recorded load beside the simulated one, its replayed share, and the unexplained rest.

use std::time::Duration;

use page::{Page, RecordedNetwork, RoundTripEstimate};

use super::{Fit, SimulatedTimes, simulated_times};

/// Rate of a network without limits.
const NO_LIMIT: u64 = 10_000_000_000;

impl Fit<'_> {
    /// Notes in `network` how the fitted page loads over it, and without any network.
    pub(super) fn account(&self, fitted: &Page, network: &mut RecordedNetwork) {
        let nanos = |span: Duration| span.as_nanos() as u64;
        let (recorded, lookups) = self.recorded_load(fitted);
        (network.recorded_ns, network.lookups_ns) = (nanos(recorded), nanos(lookups));
        network.replayed_ns = self.replayed_ns(fitted, network);
        let Some(visit) = self.visit(fitted, network) else { return };
        network.dropped_packets = visit.queue_drops;
        let Some(times) = simulated_times(fitted, &visit) else { return };
        network.load_ns = load_ns(fitted, &times);
        (network.unexplained_percent, network.unexplained_ns) = self.unexplained(&times);
    }

    /// Load time without a network: think times and work.
    fn replayed_ns(&self, fitted: &Page, network: &RecordedNetwork) -> u64 {
        let without = RecordedNetwork {
            round_trip: RoundTripEstimate { shortest_ns: 1000, ..network.round_trip },
            down_bit_per_s: NO_LIMIT,
            up_bit_per_s: NO_LIMIT,
            ..*network
        };
        let mut near = fitted.clone();
        near.hosts.iter_mut().for_each(|host| host.extra_rtt.value = Duration::ZERO);
        self.simulate(&near, &without).map_or(0, |times| load_ns(&near, &times))
    }

    /// Load time as recorded, until the last byte of what delays the load event, and the DNS lookups on the way to it.
    fn recorded_load(&self, page: &Page) -> (Duration, Duration) {
        let end = |object: usize| Some((self.recorded(object)?.end_at, object));
        let blocking = (0..page.objects.len()).filter(|object| page.objects[*object].blocks_load);
        let Some((end_at, last)) = blocking.filter_map(end).max() else {
            return Default::default();
        };
        let mut lookups = Duration::ZERO;
        let mut at = Some(last);
        while let Some(object) = at {
            lookups += self.recording.objects[object].lookup;
            let causes = page.objects[object].waits_for.iter();
            at = causes.filter_map(|edge| end(edge.object.0 as usize)).max().map(|(_, it)| it);
        }
        (Duration::from_micros(end_at.max(0) as u64), lookups)
    }

    /// Difference between the recorded and the simulated responses, in percent of their time and in nanoseconds of each.
    fn unexplained(&self, simulated: &[SimulatedTimes]) -> (u64, u64) {
        let (mut apart, mut all, mut count) = (0, 0, 0);
        for (_, was, is) in self.pairs(simulated) {
            apart += (was.response() + self.late(was, is) - is.response()).unsigned_abs();
            all += was.response().unsigned_abs();
            count += 1;
        }
        let share = |of: u64, whole: u64| of.checked_div(whole).unwrap_or_default();
        (share(apart * 100, all), share(apart * 1000, count))
    }
}

/// Load time of a page: until the last byte of what delays the load event.
fn load_ns(page: &Page, times: &[SimulatedTimes]) -> u64 {
    let blocking = page.objects.iter().zip(times).filter(|(object, _)| object.blocks_load);
    let ends = blocking.filter_map(|(_, times)| Some((*times)?.end_at));
    ends.max().map_or(0, |end| end.max(0) as u64 * 1000)
}
