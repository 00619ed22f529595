//! Idle times of connections, and how their servers' windows stood before and after: what erman2013's Figure 12 shows.

use record::{Event, Series, WindowSample};

use super::Load;
use super::sent_again::{self, Again};

/// A shorter idle time leaves a 3G radio on its dedicated channel (erman2013, appendix A).
const DCH_TIMER_NS: u64 = 5_000_000_000;

/// What is sent again so soon after the first data is put down to the idle time before.
const AFTERMATH_NS: u64 = 3_000_000_000;

/// A server's end had nothing to send for a while, and then had.
#[derive(Clone, Copy, Debug)]
struct Idle<'a> {
    before: &'a WindowSample,
    /// With the first data that left.
    after: &'a WindowSample,
}

impl Idle<'_> {
    fn span_ns(&self) -> u64 {
        self.after.at_ns - self.before.at_ns
    }

    /// RFC 5681 section 4.1 and Linux let the window restart then.
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

/// The idle times of all connections. One that has sent nothing yet is not idle, but new.
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

/// After how many of them, in per cent, the threshold is what it was.
pub(super) fn threshold_kept(load: Load<'_>) -> Option<f64> {
    let idles = after(load, Idle::outlasts_rto);
    let kept = idles.iter().filter(|idle| idle.before.ssthresh == idle.after.ssthresh).count();
    (!idles.is_empty()).then(|| 100.0 * kept as f64 / idles.len() as f64)
}

/// The same window, where the idle time was too short for a radio to leave its channel.
pub(super) fn window_after_short(load: Load<'_>) -> Option<f64> {
    mean_window(&after(load, Idle::is_short))
}

/// How many such times there were.
pub(super) fn short_idles(load: Load<'_>) -> Option<f64> {
    load.series?;
    Some(after(load, Idle::is_short).len() as f64)
}

/// Segments that were sent again needlessly soon after such times.
pub(super) fn sent_again_after_short(load: Load<'_>) -> Option<f64> {
    let idles = after(load, |idle| idle.is_short() && idle.after.at_ns >= load.visit.started_at_ns);
    let needless = sent_again::needless(load.events);
    let follow = |idle: &Idle<'_>| soon_after(&needless, idle.after.connection, idle.after.at_ns);
    (!idles.is_empty()).then(|| idles.iter().map(follow).sum::<usize>() as f64)
}

/// Segments that were sent again needlessly in the 3 s from a promotion of the radio's on, by connections whose timeout was longer than the promotion and a round
/// trip; none if there was no such connection at any promotion.
pub(super) fn sent_again_despite_timeout(load: Load<'_>) -> Option<f64> {
    let needless = sent_again::needless(load.events);
    let outlast = outlasting(load)?;
    let again = outlast.iter().map(|(begins, it)| soon_after(&needless, it.connection, *begins));
    (!outlast.is_empty()).then(|| again.sum::<usize>() as f64)
}

/// How many connections had such a timeout at a promotion.
pub(super) fn long_timeouts(load: Load<'_>) -> Option<f64> {
    Some(outlasting(load)?.len() as f64)
}

/// When a promotion began, and how a connection stood then whose timeout was longer than the promotion and a round trip.
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

/// From when to when the radio was promoted.
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
