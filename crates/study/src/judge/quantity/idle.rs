//! Idle times of connections, and their servers' windows before and after: the subject of
//! erman2013's Figure 12.

use record::{Event, Series, WindowSample};

use super::Load;
use super::sent_again::{self, Again};

/// A shorter idle time leaves a 3G radio on its dedicated channel (erman2013, appendix A).
const DCH_TIMER_NS: u64 = 5_000_000_000;

/// Retransmissions this soon after the first data are attributed to the preceding idle time.
const AFTERMATH_NS: u64 = 3_000_000_000;

/// A period in which a server's end had nothing to send.
#[derive(Clone, Copy, Debug)]
struct Idle<'a> {
    before: &'a WindowSample,
    /// The sample with the first data after it.
    after: &'a WindowSample,
}

impl Idle<'_> {
    fn span_ns(&self) -> u64 {
        self.after.at_ns - self.before.at_ns
    }

    /// True if it is longer than the RTO, after which RFC 5681 section 4.1 and Linux restart the window.
    fn outlasts_rto(&self) -> bool {
        self.span_ns() > self.before.rto_ns
    }

    fn is_short(&self) -> bool {
        self.outlasts_rto() && self.span_ns() < DCH_TIMER_NS
    }
}

fn is_busy(sample: &WindowSample) -> bool {
    sample.in_flight > 0 || sample.unsent_bytes > 0
}

/// The idle times of all connections. A connection that has not sent anything yet is new, not idle.
fn idles(series: &Series) -> Vec<Idle<'_>> {
    let mut idles = Vec::new();
    for samples in series.windows.chunk_by(|one, next| one.connection == next.connection) {
        let is_old = samples.first().is_some_and(|first| first.at_ns < series.since_ns);
        let mut has_sent = is_old;
        let mut since: Option<&WindowSample> = None;
        for sample in samples {
            match (is_busy(sample), since) {
                (false, None) if has_sent => since = Some(sample),
                (true, Some(before)) => {
                    idles.push(Idle { before, after: sample });
                    since = None;
                }
                _ => {}
            }
            has_sent |= is_busy(sample);
        }
    }
    idles
}

fn after<'a>(load: Load<'a>, is_meant: impl Fn(&Idle<'a>) -> bool) -> Vec<Idle<'a>> {
    let idles = load.series.map(idles).unwrap_or_default();
    idles.into_iter().filter(|idle| is_meant(idle)).collect()
}

fn mean_window(idles: &[Idle<'_>]) -> Option<f64> {
    let sum: u32 = idles.iter().map(|idle| idle.after.cwnd).sum();
    (!idles.is_empty()).then(|| f64::from(sum) / idles.len() as f64)
}

/// The mean window at the first data after idle times longer than the timeout.
pub(super) fn window_after(load: Load<'_>) -> Option<f64> {
    mean_window(&after(load, Idle::outlasts_rto))
}

/// Share of them, in per cent, after which the threshold was unchanged.
pub(super) fn threshold_kept(load: Load<'_>) -> Option<f64> {
    let idles = after(load, Idle::outlasts_rto);
    let kept = idles.iter().filter(|idle| idle.before.ssthresh == idle.after.ssthresh).count();
    (!idles.is_empty()).then(|| 100.0 * kept as f64 / idles.len() as f64)
}

/// The same window, where the idle time was too short for a radio to leave its channel.
pub(super) fn window_after_short(load: Load<'_>) -> Option<f64> {
    mean_window(&after(load, Idle::is_short))
}

/// Number of such idle times.
pub(super) fn short_idles(load: Load<'_>) -> Option<f64> {
    load.series?;
    Some(after(load, Idle::is_short).len() as f64)
}

/// Number of needless retransmissions soon after such idle times.
pub(super) fn sent_again_after_short(load: Load<'_>) -> Option<f64> {
    let idles = after(load, |idle| idle.is_short() && idle.after.at_ns >= load.visit.started_at_ns);
    let needless = sent_again::needless(load.events);
    let follow = |idle: &Idle<'_>| soon_after(&needless, idle.after.connection, idle.after.at_ns);
    (!idles.is_empty()).then(|| idles.iter().map(follow).sum::<usize>() as f64)
}

/// Number of needless retransmissions within 3 s of the beginning of a radio promotion, by connections whose
/// timeout was longer than the promotion plus a round trip; `None` if there was no such connection at any
/// promotion.
pub(super) fn sent_again_despite_timeout(load: Load<'_>) -> Option<f64> {
    let needless = sent_again::needless(load.events);
    let outlast = outlasting(load)?;
    let again = outlast.iter().map(|(begins, it)| soon_after(&needless, it.connection, *begins));
    (!outlast.is_empty()).then(|| again.sum::<usize>() as f64)
}

/// Number of connections with such a timeout at a promotion.
pub(super) fn long_timeouts(load: Load<'_>) -> Option<f64> {
    Some(outlasting(load)?.len() as f64)
}

/// The beginning of each promotion, with the sample at that time of each connection whose timeout was longer
/// than the promotion plus a round trip.
fn outlasting(load: Load<'_>) -> Option<Vec<(u64, &WindowSample)>> {
    let series = load.series?;
    let mut all = Vec::new();
    for (begins, ends) in promotions(load.events) {
        for samples in series.windows.chunk_by(|one, next| one.connection == next.connection) {
            let before = samples.partition_point(|sample| sample.at_ns <= begins);
            let stood = samples[..before].last();
            let outlasts = |it: &&WindowSample| it.rto_ns > ends - begins + it.srtt_ns;
            all.extend(stood.filter(outlasts).map(|stood| (begins, stood)));
        }
    }
    Some(all)
}

/// Beginning and end of each radio promotion.
fn promotions(events: &[Event]) -> Vec<(u64, u64)> {
    let changes: Vec<_> = sent_again::radio_changes(events).collect();
    let pairs = changes.windows(2).filter(|pair| sent_again::is_promotion(pair[0].1.state));
    pairs.map(|pair| (pair[0].0, pair[1].0)).collect()
}

fn soon_after(again: &[Again], connection: u32, at_ns: u64) -> usize {
    let within = at_ns..=at_ns + AFTERMATH_NS;
    let its = |one: &&Again| one.connection == Some(connection) && within.contains(&one.at_ns);
    again.iter().filter(its).count()
}
