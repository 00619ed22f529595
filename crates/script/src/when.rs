//! Times in scripts: `0.250`, `250ms`, `+0`, `+40ms`, `0.240~0.260`.
//!
//! A bare number is seconds. A plus counts from the preceding event. Times are exact to the nanosecond unless a tilde
//! joins the earliest and the latest time permitted.

use std::ops::RangeInclusive;
use std::time::Duration;

use units::Time;

use crate::cursor::Cursor;
use crate::problem::ScriptProblem;

/// Time of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct When {
    earliest: Instant,
    latest: Instant,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Instant {
    At(Time),
    After(Duration),
}

/// Later than any script needs: twelve days. It keeps sums far from overflow.
const LIMIT_NANOS: u64 = 1_000_000_000_000_000;

const UNITS: [(&str, u64); 5] =
    [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000), ("ns", 1), ("min", 60_000_000_000)];

impl When {
    /// At the same time as the preceding event.
    pub(crate) const AT_ONCE: When =
        When { earliest: Instant::After(Duration::ZERO), latest: Instant::After(Duration::ZERO) };

    pub(crate) fn at(time: Time) -> When {
        When { earliest: Instant::At(time), latest: Instant::At(time) }
    }

    pub(crate) fn is_exact(self) -> bool {
        self.earliest == self.latest
    }

    /// The times permitted, `now` being that of the preceding event.
    pub(crate) fn from(self, now: Time) -> RangeInclusive<Time> {
        self.earliest.from(now)..=self.latest.from(now)
    }

    /// A time in front of an event, if there is one: default is at once.
    pub(crate) fn parse(cursor: &mut Cursor<'_>) -> Result<When, ScriptProblem> {
        if !cursor.peek().is_some_and(|c| c.is_ascii_digit() || c == '+' || c == '.') {
            return Ok(When::AT_ONCE);
        }
        let from = cursor.mark();
        let earliest = Instant::parse(cursor)?;
        let latest = if cursor.eat("~") { Instant::parse(cursor)? } else { earliest };
        let in_order = match (earliest, latest) {
            (Instant::At(a), Instant::At(b)) => a <= b,
            (Instant::After(a), Instant::After(b)) => a <= b,
            _ => false,
        };
        if !in_order {
            let message = "a range goes from the earlier to the later time, both of one kind";
            return Err(ScriptProblem::new(cursor.since(from), message)
                .help("write `0.240~0.260` or `+40ms~+60ms`"));
        }
        Ok(When { earliest, latest })
    }
}

impl Instant {
    fn from(self, now: Time) -> Time {
        match self {
            Instant::At(time) => time,
            Instant::After(span) => now + span,
        }
    }

    fn parse(cursor: &mut Cursor<'_>) -> Result<Instant, ScriptProblem> {
        if cursor.eat("+") {
            Ok(Instant::After(span(cursor)?))
        } else {
            Ok(Instant::At(Time::ZERO + span(cursor)?))
        }
    }
}

/// An instant counted from the beginning: `0.1`, `100ms`.
pub(crate) fn instant(cursor: &mut Cursor<'_>) -> Result<Time, ScriptProblem> {
    Ok(Time::ZERO + span(cursor)?)
}

/// A span of time: `0.1`, `100ms`.
pub(crate) fn span(cursor: &mut Cursor<'_>) -> Result<Duration, ScriptProblem> {
    let from = cursor.mark();
    let number = cursor.take_while(|c| c.is_ascii_digit() || c == '.');
    if number.is_empty() {
        return Err(cursor.unexpected("a time, for example `0.1` or `100ms`"));
    }
    let unit = if cursor.next_is(' ') { "" } else { cursor.word() };
    let place = cursor.since(from);
    let known = UNITS.iter().find(|(name, _)| *name == unit || (unit.is_empty() && *name == "s"));
    let Some((_, factor)) = known else {
        return Err(ScriptProblem::new(place, format!("unknown time unit `{unit}`"))
            .help(crate::problem::suggestion(unit, UNITS.map(|(name, _)| name))));
    };
    decimal(number, *factor)
        .filter(|nanos| *nanos <= LIMIT_NANOS)
        .map(Duration::from_nanos)
        .ok_or_else(|| {
            ScriptProblem::new(place, format!("`{number}{unit}` is no time that a script can name"))
                .help("times are decimal numbers of whole nanoseconds, a million seconds at most")
        })
}

/// `number` times `factor`, if that is a whole number.
fn decimal(number: &str, factor: u64) -> Option<u64> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if fraction.contains('.') || fraction.len() > 12 || (whole.is_empty() && fraction.is_empty()) {
        return None;
    }
    let digits = |text: &str| if text.is_empty() { Some(0) } else { text.parse::<u64>().ok() };
    let scale = 10u128.pow(fraction.len() as u32);
    let parts = u128::from(digits(fraction)?) * u128::from(factor);
    let parts = (parts % scale == 0).then_some(parts / scale)?;
    u64::try_from(u128::from(digits(whole)?) * u128::from(factor) + parts).ok()
}

/// A time in the notation of scripts, in seconds without needless zeros.
pub(crate) fn seconds(time: Time) -> String {
    let nanos = time.as_nanos();
    let text = format!("{}.{:09}", nanos / 1_000_000_000, nanos % 1_000_000_000);
    let short = text.trim_end_matches('0');
    let digits = short.len() - short.find('.').map_or(0, |at| at + 1);
    text[..text.len() - 9 + digits.max(3)].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<u64> {
        let mut cursor = Cursor::new(text, 0);
        let time = instant(&mut cursor).ok()?;
        cursor.is_at_end().then_some(time.as_nanos())
    }

    #[test]
    fn times_are_exact() {
        assert_eq!(read("0.1"), Some(100_000_000));
        assert_eq!(read(".000000001"), Some(1));
        assert_eq!(read("450ms"), Some(450_000_000));
        assert_eq!(read("1.5us"), Some(1_500));
        assert_eq!(read("2min"), Some(120_000_000_000));
        for bad in ["", ".", "1.2.3", "0.5ns", "1 0", "3weeks", "99999999999"] {
            assert_eq!(read(bad), None, "{bad}");
        }
    }

    #[test]
    fn times_are_written_in_seconds() {
        assert_eq!(seconds(Time::from_millis(100)), "0.100");
        assert_eq!(seconds(Time::from_nanos(1_000_000_001)), "1.000000001");
        assert_eq!(seconds(Time::ZERO), "0.000");
        assert_eq!(seconds(Time::from_micros(226_900)), "0.2269");
    }

    #[test]
    fn ranges_go_forward() {
        let when = |text| When::parse(&mut Cursor::new(text, 0));
        let range = when("+10ms~+20ms").expect("a range").from(Time::from_millis(5));
        assert_eq!(range, Time::from_millis(15)..=Time::from_millis(25));
        assert!(when("0.2~0.1").is_err());
        assert!(when("0.2~+0.1").is_err());
    }
}
