//! Values of knobs as text: `Err` tells the values accepted.

use std::marker::PhantomData;
use std::ops::RangeInclusive;
use std::time::Duration;

use crate::config::named::{Named, Names};

pub(super) fn number(text: &str, range: RangeInclusive<u32>) -> Result<u32, String> {
    text.parse()
        .ok()
        .filter(|number| range.contains(number))
        .ok_or_else(|| format!("a number from {} to {}", range.start(), range.end()))
}

pub(super) fn switch(text: &str) -> Result<bool, String> {
    match text {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err("on or off".to_owned()),
    }
}

pub(super) fn show_switch(on: bool) -> String {
    if on { "on" } else { "off" }.to_owned()
}

pub(super) fn choice<T: Named>(text: &str) -> Result<T, String> {
    T::named(text).ok_or_else(|| format!("one of {}", Names::<T>(PhantomData)))
}

pub(super) fn span(text: &str) -> Result<Duration, String> {
    units::parse::duration(text).map_err(|_| "a span of time such as 600ms".to_owned())
}

/// Formats a span in the largest unit that leaves no fraction.
pub(super) fn show_span(span: Duration) -> String {
    let nanos = span.as_nanos();
    let units = [(1_000_000_000, "s"), (1_000_000, "ms"), (1000, "us")];
    let unit = units.into_iter().find(|(unit, _)| nanos.is_multiple_of(*unit));
    let (unit, name) = unit.unwrap_or((1, "ns"));
    format!("{}{name}", nanos / unit)
}

pub(super) fn size(text: &str) -> Result<u64, String> {
    units::parse::size_bytes(text)
        .ok()
        .filter(|bytes| (1024..=1 << 30).contains(bytes))
        .ok_or_else(|| "a size such as 64KiB, from 1KiB to 1GiB".to_owned())
}

pub(super) fn show_size(bytes: u64) -> String {
    let units = [(1 << 20, "MiB"), (1 << 10, "KiB"), (1000, "KB")];
    let unit = units.into_iter().find(|(unit, _)| bytes >= *unit && bytes.is_multiple_of(*unit));
    let (unit, name) = unit.unwrap_or((1, "B"));
    format!("{}{name}", bytes / unit)
}
