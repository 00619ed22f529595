//! The network of a recording: round trips from handshakes, rate and queue by simulation.

use std::collections::BTreeMap;
use std::time::Duration;

use page::{
    Page, RateEstimate, RecordedNetwork, RecordedTimes, Recording, RoundTripEstimate, SizeEstimate,
};
use scenario::Tls;

use super::think::State;
use super::{Fit, explained, think};

/// Headers of TCP and IP, and of TLS's records, in percent of the bodies and heads that a recording counts.
const OVERHEAD_PERCENT: u64 = 5;

/// Window over which the first estimate of the rate is taken; a shorter one may be a single burst out of a queue.
const WINDOW: Duration = Duration::from_millis(250);

/// The fastest rate that is tried.
const FASTEST: u64 = 1_000_000_000;

/// Rounds in which references are moved for each network that is tried, less for large pages.
const MOST_ROUNDS: usize = 3;
const FEW_OBJECTS: usize = 500;

pub(super) const SLOWEST_UP: u64 = 128_000;

/// Rates down over rates up that are tried, for pages of few objects only.
const SHARES: [f64; 5] = [1.0, 2.0, 3.0, 4.0, 5.0];
const USUAL_SHARE: f64 = 3.0;
const SMALL_PAGE: usize = 150;

/// An interval of rates this many times as high as low tells nothing.
const APART_TIMES: u64 = 3;

/// Objects of all simulations that look closely, together: a bound on the time that a fit takes.
const MOST_OBJECTS: usize = 15_000;
const FEWEST: usize = 30;
const MOST: usize = 400;
/// Simulations of a close look, about.
const SETTLING: usize = 6;

/// A network is not looked at closely if its misfit is so many times that of the best.
const HOPELESS: i64 = 3;

/// A rate fits as well as the best one if its misfit is at most so much larger, in percent.
pub(super) const AS_GOOD_PERCENT: i64 = 10;

/// Round trip and rate without simulation; `None` if the recording has no times at all.
pub(super) fn first_estimate(recording: &Recording, page: &Page) -> Option<RecordedNetwork> {
    let round_trip = round_trip(recording, page)?;
    let window = WINDOW.max(Duration::from_nanos(round_trip.shortest_ns) * 2);
    let bytes = busiest(recording, page, window) * (100 + OVERHEAD_PERCENT) / 100;
    let rate = (u128::from(bytes) * 8_000_000 / window.as_micros()) as u64;
    let rate = rate.clamp(64_000, FASTEST);
    Some(RecordedNetwork {
        round_trip,
        down: RateEstimate::AtLeast(rate),
        down_bit_per_s: rate,
        up_bit_per_s: (rate / 3).max(SLOWEST_UP),
        queue_packets: 1000,
        recorded_ns: 0,
        lookups_ns: 0,
        unexplained_percent: 0,
        unexplained_ns: 0,
        dropped_packets: 0,
        load_ns: 0,
        replayed_ns: 0,
    })
}

/// TLS by the length of its handshakes: 1.2 needs a round trip more than 1.3 (RFC 8446). The quickest tells, since
/// certificates wait behind responses.
pub(super) fn tls(recording: &Recording) -> Tls {
    match least_ratio(recording) {
        None => Tls::None,
        Some(ratio) if ratio > APART => Tls::Tls12,
        Some(_) => Tls::Tls13,
    }
}

/// Times of TLS's handshake over those of TCP's: one round trip more or less makes a difference of this.
const APART: f64 = 1.6;

fn ratio(times: &RecordedTimes) -> Option<f64> {
    Some(times.tls?.as_secs_f64() / times.connect?.as_secs_f64().max(1e-6))
}

/// Ratio of a connection whose handshake was seen whole, at most. A connection that was begun for another object shows
/// the rest of TCP's handshake only, but all of TLS's.
pub(super) fn most_ratio(recording: &Recording) -> f64 {
    let mut ratios: Vec<f64> = recording.objects.iter().filter_map(ratio).collect();
    ratios.sort_unstable_by(f64::total_cmp);
    ratios.get(ratios.len() / 2).map_or(f64::INFINITY, |median| median * PARTIAL)
}

/// Ratio of a partial handshake to that of a whole one, at least.
const PARTIAL: f64 = 1.1;

/// True if the object's connection was not begun for another one, which the first object's cannot be.
fn is_whole(recording: &Recording, object: usize, most_ratio: f64) -> bool {
    object == 0 || ratio(&recording.objects[object]).is_none_or(|ratio| ratio <= most_ratio)
}

fn least_ratio(recording: &Recording) -> Option<f64> {
    recording.objects.iter().filter_map(ratio).min_by(f64::total_cmp)
}

/// Round trip to the nearest host by its first handshake: the later ones may wait behind responses.
fn round_trip(recording: &Recording, page: &Page) -> Option<RoundTripEstimate> {
    let nanos = |span: Duration| span.as_nanos() as u64;
    let mut by_host: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
    let most_ratio = most_ratio(recording);
    for (index, object) in page.objects.iter().enumerate() {
        let connect = recording.objects[index].connect;
        if let Some(connect) = connect.filter(|_| is_whole(recording, index, most_ratio)) {
            by_host.entry(object.host.0).or_default().push(nanos(connect));
        }
    }
    let Some(mut nearest) = by_host.into_values().min_by_key(|handshakes| handshakes[0]) else {
        let waits = recording.objects.iter().filter_map(|times| times.wait);
        let quickest = nanos(waits.filter(|wait| !wait.is_zero()).min()?);
        return Some(RoundTripEstimate {
            shortest_ns: quickest,
            median_ns: quickest,
            handshakes: 0,
        });
    };
    let first = nearest[0];
    nearest.retain(|handshake| *handshake >= first * 6 / 10);
    nearest.sort_unstable();
    Some(RoundTripEstimate {
        shortest_ns: nearest[0],
        median_ns: nearest[nearest.len() / 2],
        handshakes: nearest.len(),
    })
}

/// Bytes of bodies and heads in the busiest window of this length, each spread evenly over its arrival.
fn busiest(recording: &Recording, page: &Page, window: Duration) -> u64 {
    let window = window.as_micros() as i64;
    let arrival = |(times, object): (&RecordedTimes, &page::Object)| {
        let bytes = object.body_bytes + u64::from(object.response_header_bytes);
        let (from, to) = (times.head_at.as_micros() as i64, times.end_at.as_micros() as i64);
        (!times.from_cache).then_some((from, to.max(from + 1), bytes as f64))
    };
    let arrivals: Vec<(i64, i64, f64)> =
        recording.objects.iter().zip(&page.objects).filter_map(arrival).collect();
    let within = |begin: i64| -> f64 {
        let end = begin + window;
        let part = |&(from, to, bytes): &(i64, i64, f64)| {
            let overlap = (to.min(end) - from.max(begin)).max(0);
            bytes * overlap as f64 / (to - from) as f64
        };
        arrivals.iter().map(part).sum()
    };
    let begins = arrivals.iter().flat_map(|(from, to, _)| [*from, *to - window]);
    begins.map(within).fold(0.0, f64::max) as u64
}

/// Chooses rate and queue by simulation: the recording's times are explained best by its own network. Also moves the
/// hosts of `page` to where their handshakes say. `None` if the page does not load.
pub(super) fn choose(
    fit: &Fit<'_>,
    page: &mut Page,
    first: RecordedNetwork,
) -> Option<RecordedNetwork> {
    let is_small = page.objects.len() <= SMALL_PAGE;
    let shares: &[f64] = if is_small { &SHARES } else { &[USUAL_SHARE] };
    let mut tried = Tried {
        fit,
        page: page.clone(),
        misfits: BTreeMap::new(),
        rough: i64::MAX,
        left: (MOST_OBJECTS / page.objects.len()).clamp(FEWEST, MOST),
    };
    let at = |rate: f64, share: f64| {
        let down_bit_per_s = (rate as u64).min(FASTEST);
        let up_bit_per_s = ((rate / share) as u64).max(SLOWEST_UP);
        RecordedNetwork { down_bit_per_s, up_bit_per_s, ..first }
    };
    let mut best = first;
    // Powers of two around the first estimate, closer where it is likely to be; then round rates, which links are sold
    // with; then ever smaller steps.
    for power in [-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 4.0] {
        let rate = first.down_bit_per_s as f64 * 2_f64.powf(power);
        best = tried.better(best, at(rate, USUAL_SHARE))?;
    }
    for rate in round_rates(best.down_bit_per_s as f64) {
        for share in shares {
            best = tried.better(best, at(rate, *share))?;
        }
    }
    for step in [1.19, 1.09, 1.04, 1.02] {
        let (rate, up) = (best.down_bit_per_s as f64, best.up_bit_per_s as f64);
        for faster in [rate * step, rate / step] {
            best = tried.better(best, at(faster, rate / up))?;
        }
    }
    for queue_packets in [300, 100, 30] {
        if tried.is_explained() {
            break;
        }
        best = tried.better(best, RecordedNetwork { queue_packets, ..best })?;
        // A queue that overflows changes what fits best: without one, its timeouts look like a faster link's think
        // times.
        let near = nearest_round_rates(best.down_bit_per_s as f64);
        for rate in near.chain(round_rates(first.down_bit_per_s as f64)) {
            for share in shares {
                let other = RecordedNetwork { queue_packets, ..at(rate, *share) };
                best = tried.better(best, other)?;
            }
        }
    }
    best.down = tried.rate(&best);
    best = explained::near(fit, page, best, shares)?;
    *page = tried.settled(&mut best)?.page;
    Some(best)
}

/// The page loaded over the network with the nearest host where its first handshake says, references where they are
/// discovered at the recorded time, and then the other hosts where their handshakes say.
pub(super) fn settled(
    fit: &Fit<'_>,
    page: Page,
    network: &mut RecordedNetwork,
    rounds: usize,
) -> Option<State> {
    let mut first = State::of(fit, page, network)?;
    let (shift, _) = distances(fit, &first);
    let shortest_ns = network.round_trip.shortest_ns as i64;
    let most = shortest_ns / 20;
    let mut nearer = *network;
    nearer.round_trip.shortest_ns = (shortest_ns + (shift * 1000).clamp(-most, most)) as u64;
    let mut page = first.page.clone();
    think::of_document(fit, &first, shift, &mut page);
    let moved = State::of(fit, page, &nearer)?;
    if distances(fit, &moved).0.abs() <= shift.abs() {
        (first, *network) = (moved, nearer);
    }
    let (mut best, _) = think::placed(fit, first, network, rounds)?;
    let (_, page) = distances(fit, &best);
    if page.hosts != best.page.hosts {
        let moved = State::of(fit, page, network)?;
        if moved.connects_apart(fit) < best.connects_apart(fit) {
            best = think::placed(fit, moved, network, rounds)?.0;
        }
    }
    Some(best)
}

/// Rates of one digit, or one and a half, near this one.
fn round_rates(near: f64) -> impl Iterator<Item = f64> {
    const DIGITS: [f64; 11] = [1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0];
    let power = near.log10().floor() as i32;
    let rates =
        (power - 1..=power + 1).flat_map(|power| DIGITS.map(|digit| digit * 10_f64.powi(power)));
    rates.filter(move |rate| (near * 0.45..=near * 2.2).contains(rate))
}

/// The round rates just below and above this one, and the rate itself.
pub(super) fn nearest_round_rates(rate: f64) -> impl Iterator<Item = f64> {
    let below = round_rates(rate).filter(|it| *it < rate).max_by(f64::total_cmp);
    let above = round_rates(rate).filter(|it| *it > rate).min_by(f64::total_cmp);
    [Some(rate), below, above].into_iter().flatten()
}

/// Networks that were tried, with their misfits.
struct Tried<'a> {
    fit: &'a Fit<'a>,
    page: Page,
    /// By both rates and queue.
    misfits: BTreeMap<(u64, u64, u64), i64>,
    /// Least misfit with references in order only.
    rough: i64,
    /// Number of simulations that are left for looking closely.
    left: usize,
}

impl Tried<'_> {
    fn settled(&self, network: &mut RecordedNetwork) -> Option<State> {
        let rounds = (FEW_OBJECTS / self.page.objects.len()).clamp(1, MOST_ROUNDS);
        settled(self.fit, self.page.clone(), network, rounds)
    }

    fn misfit(&mut self, network: &RecordedNetwork) -> Option<i64> {
        let key = (network.down_bit_per_s, network.up_bit_per_s, network.queue_packets);
        if let Some(known) = self.misfits.get(&key) {
            return Some(*known);
        }
        // Far from anything that fits, references in their places would not help.
        let least = self.misfits.values().copied().min();
        let rough = State::of(self.fit, self.page.clone(), network)?.misfit(self.fit);
        self.rough = self.rough.min(rough);
        let is_hopeless = least.is_some_and(|least| rough > HOPELESS * least.max(self.rough));
        let misfit = match is_hopeless || self.left == 0 {
            true => rough,
            false => {
                self.left = self.left.saturating_sub(SETTLING);
                // References in their places may hide a wrong rate, and then fit worse.
                self.settled(&mut network.clone())?.misfit(self.fit).min(rough)
            }
        };
        self.misfits.insert(key, misfit);
        Some(misfit)
    }

    /// True if a network explains each response to within the recording's resolution.
    fn is_explained(&self) -> bool {
        let resolution = think::RESOLUTION * self.page.objects.len() as i64;
        self.misfits.values().any(|misfit| *misfit <= resolution)
    }

    fn better(&mut self, best: RecordedNetwork, other: RecordedNetwork) -> Option<RecordedNetwork> {
        let (least, misfit) = (self.misfit(&best)?, self.misfit(&other)?);
        Some(if misfit < least { other } else { best })
    }

    /// The interval of rates that fit as well as the best. If it is wide, the link was never full.
    fn rate(&self, best: &RecordedNetwork) -> RateEstimate {
        let least = self.misfits.values().copied().min().unwrap_or_default();
        let is_good = |misfit: i64| misfit <= least + least * AS_GOOD_PERCENT / 100;
        let good = self.misfits.iter().filter(|(_, misfit)| is_good(**misfit));
        let rates: Vec<u64> =
            good.map(|((rate, ..), _)| *rate).chain([best.down_bit_per_s]).collect();
        let low = rates.iter().copied().min().unwrap_or_default();
        let high = rates.iter().copied().max().unwrap_or_default();
        match high >= low * APART_TIMES {
            true => RateEstimate::AtLeast(low),
            false => RateEstimate::Told { low, high },
        }
    }
}

/// Difference between the recorded and the simulated first handshake of the nearest host, in microseconds, and the page
/// with the others where theirs say.
fn distances(fit: &Fit<'_>, state: &State) -> (i64, Page) {
    let mut firsts: BTreeMap<usize, (i64, i64)> = BTreeMap::new();
    for (object, was, is) in fit.pairs(&state.simulated) {
        let is_whole = is_whole(fit.recording, object, fit.most_ratio);
        if let (Some(was), Some(is), true) = (was.connect, is.connect, is_whole) {
            let host = state.page.objects[object].host.0 as usize;
            firsts.entry(host).or_insert((was, is));
        }
    }
    let mut page = state.page.clone();
    let distance = |host: &page::PageHost| host.extra_rtt.value.as_micros() as i64;
    let nearest = firsts.values().min();
    let shift = nearest.map_or(0, |(was, is)| was - is);
    let missing = firsts.iter().map(|(host, (was, is))| (*host, was - is));
    for (host, missing) in missing {
        let host = &mut page.hosts[host];
        let extra = Duration::from_micros((distance(host) + missing - shift).max(0) as u64);
        host.extra_rtt = SizeEstimate { value: extra, ..host.extra_rtt };
    }
    (shift, page)
}
