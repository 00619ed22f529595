//! Instants of the calendar and spans as HTTP counts them.
//!
//! The cache never reads a clock: every call that depends on the time takes a [`Date`]. A simulated world makes one of its plan's
//! start and its virtual time, the real world of the machine's clock.

use std::fmt;
use std::time::{Duration, SystemTime};

/// An instant of the calendar: milliseconds since 1970-01-01T00:00:00Z.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Date(u64);

impl Date {
    /// The instant `since` after the Unix epoch.
    pub fn after_epoch(since: Duration) -> Date {
        Date(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
    }

    /// The instant `secs` seconds after the Unix epoch.
    pub const fn from_unix_secs(secs: u64) -> Date {
        Date(secs.saturating_mul(1_000))
    }

    /// The instant `millis` milliseconds after the Unix epoch.
    pub const fn from_unix_millis(millis: u64) -> Date {
        Date(millis)
    }

    /// Milliseconds since the Unix epoch.
    pub const fn unix_millis(self) -> u64 {
        self.0
    }

    /// Milliseconds since `earlier`; zero if that is later.
    pub const fn millis_since(self, earlier: Date) -> u64 {
        self.0.saturating_sub(earlier.0)
    }

    /// The instant `millis` milliseconds later.
    pub const fn plus_millis(self, millis: u64) -> Date {
        Date(self.0.saturating_add(millis))
    }

    /// Reads an HTTP-date in any of its three formats (RFC 9110 section 5.6.7). Names may have any case, and the weekday may be wrong: what
    /// is meant is plain.
    pub fn parse(text: &[u8]) -> Option<Date> {
        let text = std::str::from_utf8(text).ok()?.trim();
        let read = httpdate::parse_http_date(text).ok().or_else(|| parse_leniently(text))?;
        Some(Date::after_epoch(read.duration_since(SystemTime::UNIX_EPOCH).ok()?))
    }
}

/// Names of the weekdays; the first three letters are the short ones.
const WEEKDAYS: [&str; 7] =
    ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

/// Reads a date that has a name of a weekday, whether or not it is the right one.
fn parse_leniently(text: &str) -> Option<SystemTime> {
    let (weekday, rest) = text.split_at(text.find([',', ' '])?);
    let forms = |length: Option<usize>| WEEKDAYS.map(|name| &name[..length.unwrap_or(name.len())]);
    let names = [forms(Some(3)), forms(None)]
        .into_iter()
        .find(|names| names.iter().any(|name| name.eq_ignore_ascii_case(weekday)))?;
    let rest = usual_case(rest);
    names.iter().find_map(|name| httpdate::parse_http_date(&format!("{name}{rest}")).ok())
}

/// The text with `GMT` in capitals and other words with a capital first.
fn usual_case(text: &str) -> String {
    let mut after_letter = false;
    let cased = text.chars().map(|letter| {
        let cased = match after_letter {
            true => letter.to_ascii_lowercase(),
            false => letter.to_ascii_uppercase(),
        };
        after_letter = letter.is_ascii_alphabetic();
        cased
    });
    cased.collect::<String>().replace("Gmt", "GMT")
}

/// IMF-fixdate, the preferred format for sending.
impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The format has four digits for the year: no date past 9999 can be written.
        let millis = self.0.min(253_402_300_799_000);
        let instant = SystemTime::UNIX_EPOCH + Duration::from_millis(millis);
        httpdate::HttpDate::from(instant).fmt(f)
    }
}

/// A span in whole seconds (`delta-seconds`, RFC 9111 section 1.2.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeltaSeconds(u32);

impl DeltaSeconds {
    /// No time at all.
    pub const ZERO: DeltaSeconds = DeltaSeconds(0);
    /// Upper limit of spans: 2^31, 68 years (RFC 9111 section 1.2.2).
    pub const MAX: DeltaSeconds = DeltaSeconds(1 << 31);

    /// `secs` seconds, at most [`DeltaSeconds::MAX`].
    pub const fn new(secs: u64) -> DeltaSeconds {
        DeltaSeconds(if secs < DeltaSeconds::MAX.0 as u64 {
            secs as u32
        } else {
            DeltaSeconds::MAX.0
        })
    }

    /// The whole seconds in `millis` milliseconds.
    pub const fn of_millis(millis: u64) -> DeltaSeconds {
        DeltaSeconds::new(millis / 1_000)
    }

    /// Number of seconds.
    pub const fn get(self) -> u32 {
        self.0
    }

    /// Number of milliseconds.
    pub const fn as_millis(self) -> u64 {
        self.0 as u64 * 1_000
    }

    /// Reads digits and nothing else; a number too large counts as [`DeltaSeconds::MAX`].
    pub fn parse(text: &[u8]) -> Option<DeltaSeconds> {
        if text.is_empty() || !text.iter().all(u8::is_ascii_digit) {
            return None;
        }
        let digit =
            |sum: u64, byte: &u8| sum.saturating_mul(10).saturating_add(u64::from(byte - b'0'));
        Some(DeltaSeconds::new(text.iter().fold(0, digit)))
    }
}

impl fmt::Display for DeltaSeconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_three_formats_and_writes_one() {
        let expected = Date::from_unix_secs(784_111_777);
        for text in [
            "Sun, 06 Nov 1994 08:49:37 GMT",
            "Sunday, 06-Nov-94 08:49:37 GMT",
            "Sun Nov  6 08:49:37 1994",
        ] {
            assert_eq!(Date::parse(text.as_bytes()), Some(expected), "{text}");
        }
        for text in [
            "SUN, 06 nov 1994 08:49:37 gMT",
            "sunday, 06-NOV-94 08:49:37 GMT",
            "Tue Nov  6 08:49:37 1994",
            "Mon, 06 Nov 1994 08:49:37 GMT",
        ] {
            assert_eq!(Date::parse(text.as_bytes()), Some(expected), "{text}");
        }
        for text in [
            "Sun, 06 Nov 1994 08:49:37 UTC",
            "Sun, 6 Nov 1994 08:49:37 GMT",
            "Sun, 06 Nov 94 08:49:37 GMT",
            "06 Nov 1994 08:49:37 GMT",
            "Son, 06 Nov 1994 08:49:37 GMT",
            "Sun 06 Nov 1994 08:49:37 GMT",
        ] {
            assert_eq!(Date::parse(text.as_bytes()), None, "{text}");
        }
        assert_eq!(expected.to_string(), "Sun, 06 Nov 1994 08:49:37 GMT");
        assert_eq!(Date::parse(b"0"), None);
        assert_eq!(Date::parse(b"\xff"), None);
    }

    #[test]
    fn seconds_are_digits_up_to_68_years() {
        assert_eq!(DeltaSeconds::parse(b"60"), Some(DeltaSeconds::new(60)));
        assert_eq!(DeltaSeconds::parse(b"99999999999999999999999"), Some(DeltaSeconds::MAX));
        for wrong in [&b""[..], b"-1", b"+1", b"1.5", b" 1", b"1h"] {
            assert_eq!(DeltaSeconds::parse(wrong), None);
        }
    }

    #[test]
    fn any_date_can_be_written() {
        assert!(Date::from_unix_millis(u64::MAX).to_string().starts_with("Fri, 31 Dec 9999"));
    }
}
