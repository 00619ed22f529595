//! Parser of quantities as typed: "10mbit", "600 ms", "64KB", "1%".
//!
//! Decimal prefixes (k, M, G) are powers of 1000, binary ones (Ki, Mi) powers of 1024. A unit is always required, so
//! that a bare `100` is never mistaken for milliseconds.

use std::time::Duration;

use thiserror::Error;

use crate::BitsPerSec;

/// Reasons why a string is not the expected quantity.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ParseError {
    /// There is no number at the front.
    #[error("`{text}` does not begin with a number; write {example}")]
    NoNumber {
        /// The input.
        text: String,
        /// A value that would have been accepted.
        example: &'static str,
    },
    /// The unit is missing or unknown.
    #[error("`{text}` has {what}; write {example} (units: {units})")]
    BadUnit {
        /// The input.
        text: String,
        /// "no unit" or "the unknown unit `x`".
        what: String,
        /// The known units.
        units: &'static str,
        /// A value that would have been accepted.
        example: &'static str,
    },
    /// A probability of 1 or more without a percent sign: `1` may be meant as 1 % or as 100 %.
    #[error("`{text}` has no unit; write {text}% or {fraction}")]
    BareRatio {
        /// The input.
        text: String,
        /// The same percentage as a fraction.
        fraction: String,
    },
    /// The number is outside what the quantity allows.
    #[error("`{text}` is out of range: {range}")]
    OutOfRange {
        /// The input.
        text: String,
        /// The allowed range.
        range: &'static str,
    },
}

/// A family of units, each with its factor to the base unit.
struct UnitScale {
    units: &'static [(&'static str, f64)],
    listed: &'static str,
    example: &'static str,
}

impl UnitScale {
    /// Value of `text` in the base unit.
    fn read(&self, text: &str) -> Result<f64, ParseError> {
        let trimmed = text.trim();
        let split =
            trimmed.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(trimmed.len());
        let (number, unit) = trimmed.split_at(split);
        let value: f64 = number
            .parse()
            .map_err(|_| ParseError::NoNumber { text: text.to_owned(), example: self.example })?;
        let unit = unit.trim();
        let factor = self
            .units
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(unit))
            .map(|(_, factor)| *factor)
            .ok_or_else(|| ParseError::BadUnit {
                text: text.to_owned(),
                what: match unit {
                    "" => "no unit".to_owned(),
                    _ => format!("the unknown unit `{unit}`"),
                },
                units: self.listed,
                example: self.example,
            })?;
        Ok(value * factor)
    }
}

const DURATION: UnitScale = UnitScale {
    units: &[("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9), ("min", 60e9), ("h", 3600e9)],
    listed: "ns, us, ms, s, min, h",
    example: "`100ms`",
};

const RATE: UnitScale = UnitScale {
    units: &[
        ("bit", 1.0),
        ("kbit", 1e3),
        ("mbit", 1e6),
        ("gbit", 1e9),
        ("bit/s", 1.0),
        ("kbit/s", 1e3),
        ("mbit/s", 1e6),
        ("gbit/s", 1e9),
        ("bps", 1.0),
        ("kbps", 1e3),
        ("mbps", 1e6),
        ("gbps", 1e9),
    ],
    listed: "bit, kbit, mbit, gbit",
    example: "`10mbit`",
};

const SIZE: UnitScale = UnitScale {
    units: &[
        ("b", 1.0),
        ("kb", 1e3),
        ("mb", 1e6),
        ("gb", 1e9),
        ("kib", 1024.0),
        ("mib", 1024.0 * 1024.0),
        ("gib", 1024.0 * 1024.0 * 1024.0),
    ],
    listed: "B, KB, MB, GB, KiB, MiB, GiB",
    example: "`64KB`",
};

/// Largest span accepted: ten years. Anything longer is more likely a typing error than a plan.
const LONGEST: f64 = 10.0 * 365.25 * 86_400e9;

/// A span of time, with its unit: `600ms`, `1.5 s`.
pub fn duration(text: &str) -> Result<Duration, ParseError> {
    let nanos = DURATION.read(text)?;
    if nanos > LONGEST {
        return Err(out_of_range(text, "at most ten years"));
    }
    Ok(Duration::from_nanos(nanos.round() as u64))
}

/// A rate, with its unit: `10mbit`, `384 kbit/s`, or `unlimited`.
pub fn rate(text: &str) -> Result<BitsPerSec, ParseError> {
    if text.trim().eq_ignore_ascii_case("unlimited") {
        return Ok(BitsPerSec::UNLIMITED);
    }
    let bits = RATE.read(text)?;
    if !(1.0..=1e15).contains(&bits) {
        return Err(out_of_range(text, "a rate is at least 1 bit/s and at most 1000000 gbit"));
    }
    Ok(BitsPerSec(bits.round() as u64))
}

/// A size in bytes, with its unit: `64KB` (decimal), `64KiB`.
pub fn size_bytes(text: &str) -> Result<u64, ParseError> {
    let bytes = SIZE.read(text)?;
    if bytes > 1e15 {
        return Err(out_of_range(text, "at most 1000000 GB"));
    }
    Ok(bytes.round() as u64)
}

/// A probability: a percentage (`1%`) or a bare fraction below 1 (`0.01`). The result lies in 0..=1.
pub fn ratio(text: &str) -> Result<f64, ParseError> {
    let trimmed = text.trim();
    let (number, divisor) = match trimmed.strip_suffix('%') {
        Some(number) => (number.trim_end(), 100.0),
        None => (trimmed, 1.0),
    };
    let value: f64 = number
        .parse()
        .map_err(|_| ParseError::NoNumber { text: text.to_owned(), example: "`1%` or `0.01`" })?;
    if divisor == 1.0 && (1.0..=100.0).contains(&value) {
        return Err(ParseError::BareRatio {
            text: trimmed.to_owned(),
            fraction: (value / 100.0).to_string(),
        });
    }
    let value = value / divisor;
    if !(0.0..=1.0).contains(&value) {
        return Err(out_of_range(text, "0% to 100%"));
    }
    Ok(value)
}

/// The text that [`ratio`] reads back to the same probability.
pub fn ratio_text(ratio: f64) -> String {
    if ratio < 1.0 { ratio.to_string() } else { format!("{}%", ratio * 100.0) }
}

fn out_of_range(text: &str, range: &'static str) -> ParseError {
    ParseError::OutOfRange { text: text.to_owned(), range }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_people_write() {
        assert_eq!(duration("600 ms"), Ok(Duration::from_millis(600)));
        assert_eq!(duration("1.5s"), Ok(Duration::from_millis(1500)));
        assert_eq!(rate("10mbit"), Ok(BitsPerSec::mbit(10)));
        assert_eq!(rate("1.6 Mbit/s"), Ok(BitsPerSec::kbit(1600)));
        assert_eq!(size_bytes("64KB"), Ok(64_000));
        assert_eq!(size_bytes("64KiB"), Ok(65_536));
        assert_eq!(ratio("1%"), Ok(0.01));
        assert_eq!(ratio("0.5"), Ok(0.5));
    }

    #[test]
    fn says_what_is_wrong_and_what_to_write() {
        assert_eq!(
            duration("100").unwrap_err().to_string(),
            "`100` has no unit; write `100ms` (units: ns, us, ms, s, min, h)"
        );
        assert_eq!(
            rate("fast").unwrap_err().to_string(),
            "`fast` does not begin with a number; write `10mbit`"
        );
        assert!(ratio("150%").unwrap_err().to_string().contains("0% to 100%"));
        let bare = |text| ratio(text).unwrap_err().to_string();
        assert_eq!(bare("1"), "`1` has no unit; write 1% or 0.01");
        assert_eq!(bare(" 5 "), "`5` has no unit; write 5% or 0.05");
        assert_eq!(bare("1.0"), "`1.0` has no unit; write 1.0% or 0.01");
        assert_eq!((ratio("0"), ratio("0.01"), ratio("100%")), (Ok(0.0), Ok(0.01), Ok(1.0)));
        for share in [0.0, 0.015, 0.999, 1.0] {
            assert_eq!(ratio(&ratio_text(share)), Ok(share));
        }
        assert!(ratio("NaN").is_err());
        assert!(ratio("-1%").is_err());
    }
}
