//! Packets at the client's own interface: their sizes, and the evenness of their arrival.

use record::{INTERVAL_NS, PacketSize, Series};

use super::Load;

/// "Tiny" and "large" of cardaci2015, section 5.3.
const TINY_BELOW: u32 = 80;
const LARGE: std::ops::RangeInclusive<u32> = 1280..=1500;

/// Number of packets of these sizes, in both directions.
fn count(series: &Series, is_meant: impl Fn(u32) -> bool) -> u64 {
    let meant = series.packets.iter().filter(|size| is_meant(size.wire_bytes));
    meant.map(|PacketSize { down, up, .. }| down + up).sum()
}

fn share(load: Load<'_>, is_meant: impl Fn(u32) -> bool) -> Option<f64> {
    let series = load.series?;
    let all = count(series, |_| true);
    (all > 0).then(|| 100.0 * count(series, is_meant) as f64 / all as f64)
}

/// Number of tiny packets.
pub(super) fn tiny(load: Load<'_>) -> Option<f64> {
    let series = load.series.filter(|series| !series.packets.is_empty())?;
    Some(count(series, |bytes| bytes < TINY_BELOW) as f64)
}

/// The share of tiny packets, in per cent.
pub(super) fn tiny_share(load: Load<'_>) -> Option<f64> {
    share(load, |bytes| bytes < TINY_BELOW)
}

/// The share of large packets, in per cent.
pub(super) fn large_share(load: Load<'_>) -> Option<f64> {
    share(load, |bytes| LARGE.contains(&bytes))
}

/// Data rate to the client in the second with this number, from 1, in kbit/s.
pub(super) fn second(load: Load<'_>, number: usize) -> Option<f64> {
    let intervals = &load.series.filter(|series| !series.throughput.is_empty())?.throughput;
    let each = (1_000_000_000 / INTERVAL_NS) as usize;
    let second = intervals.iter().skip((number - 1) * each).take(each);
    Some(second.map(|interval| interval.bytes_down as f64).sum::<f64>() * 8.0 / 1e3)
}

/// The peak rate at the client over a tenth of a second, divided by the mean from the first interval with data
/// to the last.
pub(super) fn peak_to_mean(load: Load<'_>) -> Option<f64> {
    let down = load.series?.throughput.iter().map(|interval| interval.bytes_down as f64);
    let down: Vec<f64> = down.skip_while(|bytes| *bytes == 0.0).collect();
    let last = down.iter().rposition(|bytes| *bytes > 0.0)?;
    let (sum, count) = (down.iter().sum::<f64>(), (last + 1) as f64);
    down.into_iter().reduce(f64::max).map(|most| most / (sum / count))
}
