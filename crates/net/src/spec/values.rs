//! Parsers of single settings.

use std::path::Path;
use std::time::Duration;

use units::parse::{self, ParseError};

use super::side::EmulatorName;
use crate::error::ValueError;
use crate::trace::{RateUnit, TraceOptions};
use crate::{
    Channels, Codel, DropList, GilbertElliott, Jitter, JitterShape, LaneScheduling, LossModel,
    Management, Pie, ProportionalFair, QueueLimit, Reorder, TimedGilbertElliott,
};

/// Light takes 22 minutes to Mars at its farthest; a longer delay is a typing error.
const LONGEST_ONE_WAY: Duration = Duration::from_secs(1800);

/// Parses a round-trip time.
pub fn rtt(text: &str) -> Result<Duration, ValueError> {
    let rtt = parse::duration(text)?;
    if rtt > 2 * LONGEST_ONE_WAY {
        return Err(out_of_range(text, "a round trip takes at most 1h"));
    }
    Ok(rtt)
}

pub(super) fn delay(text: &str) -> Result<Duration, ValueError> {
    let delay = parse::duration(text)?;
    if delay > LONGEST_ONE_WAY {
        return Err(out_of_range(text, "a one-way delay is at most 30min"));
    }
    Ok(delay)
}

pub(crate) fn queue(text: &str) -> Result<QueueLimit, ValueError> {
    let lower = text.trim().to_ascii_lowercase();
    if lower == "unlimited" {
        return Ok(QueueLimit::Unlimited);
    }
    let packets =
        ["packets", "packet", "pkts", "pkt"].into_iter().find_map(|unit| lower.strip_suffix(unit));
    match packets {
        Some(number) => match number.trim().parse() {
            Ok(0) => Err(out_of_range(text, "a queue holds at least 1pkt")),
            Ok(packets) => Ok(QueueLimit::Packets(packets)),
            Err(_) => Err(form(text, "a whole number of packets: write `64pkt`")),
        },
        None => match parse::size_bytes(&lower) {
            Ok(0) => Err(out_of_range(text, "a queue holds at least 1B")),
            Ok(bytes) => Ok(QueueLimit::Bytes(bytes)),
            Err(ParseError::OutOfRange { range, .. }) => Err(out_of_range(text, range)),
            Err(_) => Err(form(
                text,
                "a queue: write `64pkt`, `64KB`, `unlimited` or, for both directions, `1bdp`",
            )),
        },
    }
}

/// From the smallest packet that every IPv4 host must accept (RFC 791, section 3.2) to the largest that its length
/// field can state. In bytes, with or without the unit.
pub(super) fn mtu(text: &str) -> Result<u32, ValueError> {
    let bytes = match text.trim().parse::<u32>() {
        Ok(bytes) => u64::from(bytes),
        Err(_) => parse::size_bytes(text)?,
    };
    match u32::try_from(bytes) {
        Ok(bytes @ 576..=65_535) => Ok(bytes),
        _ => Err(out_of_range(text, "an MTU lies between 576 and 65535 bytes")),
    }
}

/// `P [R [1-H [1-K]]]`, with the defaults of tc-netem(8): `R` is `1 - P`, bad states lose everything, good ones
/// nothing.
pub(super) fn gemodel(text: &str) -> Result<LossModel, ValueError> {
    let shares: Vec<f64> = text.split_whitespace().map(parse::ratio).collect::<Result<_, _>>()?;
    let [to_bad, rest @ ..] = shares.as_slice() else { return Err(form(text, GEMODEL)) };
    if rest.len() > 3 {
        return Err(form(text, GEMODEL));
    }
    Ok(LossModel::GilbertElliott(GilbertElliott {
        to_bad: *to_bad,
        to_good: rest.first().copied().unwrap_or(1.0 - to_bad),
        loss_in_bad: rest.get(1).copied().unwrap_or(1.0),
        loss_in_good: rest.get(2).copied().unwrap_or(0.0),
    }))
}

const GEMODEL: &str =
    "one to four probabilities: into the bad state, out of it, loss in it, loss outside: `1% 25%`";

/// `GOOD BAD [1-H [1-K]]`: mean lengths of the good and the bad state, then losses with [`gemodel`]'s defaults.
pub(super) fn gemodel_time(text: &str) -> Result<LossModel, ValueError> {
    const FORM: &str = "two mean lengths, of the good state and of the bad one, and perhaps the loss in \
                        the bad one and outside: `2s 80ms` or `2s 80ms 50% 0.1%`";
    let mut words = text.split_whitespace();
    let mut length = || -> Result<Duration, ValueError> {
        let word = words.next().ok_or_else(|| form(text, FORM))?;
        let span = parse::duration(word)?;
        match TimedGilbertElliott::LENGTHS.contains(&span) {
            true => Ok(span),
            false => Err(out_of_range(word, "a state lasts between 100us and 1h on average")),
        }
    };
    let (good, bad) = (length()?, length()?);
    let shares: Vec<f64> = words.map(parse::ratio).collect::<Result<_, _>>()?;
    if shares.len() > 2 {
        return Err(form(text, FORM));
    }
    Ok(LossModel::TimedGilbertElliott(TimedGilbertElliott {
        good,
        bad,
        loss_in_bad: shares.first().copied().unwrap_or(1.0),
        loss_in_good: shares.get(1).copied().unwrap_or(0.0),
    }))
}

pub(super) fn loss_file(path: &Path) -> Result<LossModel, ValueError> {
    Ok(LossModel::Listed(DropList::read(path)?.into()))
}

/// The file of a trace, and the options after it.
pub(super) fn trace(text: &str) -> Result<(&str, TraceOptions), ValueError> {
    let (mut path, mut options) = (text.trim(), TraceOptions::default());
    while let Some((before, word)) = path.rsplit_once(' ') {
        match RateUnit::named(word) {
            _ if word == "once" => options.once = true,
            Some(unit) => options.unit = Some(unit),
            None => break,
        }
        path = before.trim_end();
    }
    if path.is_empty() {
        return Err(form(text, "a trace: write `FILE`, `FILE once` or `FILE mbyte`"));
    }
    Ok((path, options))
}

/// A discipline, optionally followed by `ecn`, `target 5ms`, `interval 100ms`.
pub(super) fn management(text: &str) -> Result<Management, ValueError> {
    const FORM: &str = "queue management: write `droptail`, `drophead`, `codel`, `fq_codel` or `pie`; \
                        the last three may be followed by `ecn`, `target 5ms`, and, but for `pie`, \
                        `interval 100ms`";
    let mut words = text.split_whitespace();
    let name = words.next().unwrap_or_default();
    let (mut ecn, mut target, mut interval) = (false, None, None);
    while let Some(word) = words.next() {
        let mut span = || -> Result<Option<Duration>, ValueError> {
            let value = words.next().ok_or_else(|| form(text, FORM))?;
            let span = parse::duration(value)?;
            if span.is_zero() || span > Duration::from_secs(60) {
                return Err(out_of_range(value, "more than nothing and at most 1min"));
            }
            Ok(Some(span))
        };
        match word {
            "ecn" => ecn = true,
            "target" => target = span()?,
            "interval" => interval = span()?,
            _ => return Err(form(text, FORM)),
        }
    }
    let codel = Codel {
        target: target.unwrap_or(Codel::default().target),
        interval: interval.unwrap_or(Codel::default().interval),
        ecn,
    };
    let is_plain = !ecn && target.is_none() && interval.is_none();
    match name {
        "codel" => Ok(Management::Codel(codel)),
        "fq_codel" => Ok(Management::FqCodel(codel)),
        "pie" if interval.is_none() => {
            Ok(Management::Pie(Pie { target: target.unwrap_or(Pie::default().target), ecn }))
        }
        "droptail" if is_plain => Ok(Management::DropTail),
        "drophead" if is_plain => Ok(Management::DropHead),
        _ => Err(form(text, FORM)),
    }
}

/// A scheduler; proportional fairness is optionally followed by `slot 2ms` and `window 100ms`.
pub(super) fn scheduler(text: &str) -> Result<LaneScheduling, ValueError> {
    const FORM: &str = "a scheduler: write `fifo`, `round-robin` or `proportional-fair`; the last may be followed by \
                        `slot 2ms` and `window 100ms`";
    let mut words = text.split_whitespace();
    match words.next() {
        Some("proportional-fair") => {
            let mut fair = ProportionalFair::default();
            while let Some(word) = words.next() {
                let span = parse::duration(words.next().ok_or_else(|| form(text, FORM))?)?;
                if span.is_zero() || span > Duration::from_secs(60) {
                    return Err(out_of_range(text, "more than nothing and at most 1min"));
                }
                match word {
                    "slot" => fair.slot = span,
                    "window" => fair.window = span,
                    _ => return Err(form(text, FORM)),
                }
            }
            Ok(LaneScheduling::ProportionalFair(fair))
        }
        Some("fifo") if words.next().is_none() => Ok(LaneScheduling::Fifo),
        Some("round-robin") if words.next().is_none() => Ok(LaneScheduling::RoundRobin),
        _ => Err(form(text, FORM)),
    }
}

/// Shares of the rate, one per user.
pub(super) fn channels(text: &str) -> Result<Channels, ValueError> {
    const LEAST: f64 = 0.001;
    let shares: Vec<f64> = text.split_whitespace().map(parse::ratio).collect::<Result<_, _>>()?;
    if shares.is_empty() {
        return Err(form(text, "a share of the rate for each client: `100% 50%`"));
    }
    if shares.iter().any(|share| *share < LEAST) {
        return Err(out_of_range(text, "a channel has at least 0.1% of the rate"));
    }
    Ok(Channels::new(shares))
}

/// A spread, optionally followed by its distribution.
pub(super) fn jitter(text: &str) -> Result<Jitter, ValueError> {
    let (spread, shape) = match text.trim().rsplit_once(' ') {
        Some((spread, "normal")) => (spread, JitterShape::Normal),
        Some((spread, "uniform")) => (spread, JitterShape::Uniform),
        Some((_, word))
            if word.chars().all(char::is_alphabetic) && parse::duration(text).is_err() =>
        {
            return Err(form(text, "a jitter: write `10ms`, `10ms uniform` or `10ms normal`"));
        }
        _ => (text, JitterShape::Uniform),
    };
    Ok(Jitter { spread: delay(spread)?, shape })
}

pub(super) fn reorder(text: &str) -> Result<Reorder, ValueError> {
    match text.trim() {
        "never" => Ok(Reorder::Never),
        "jitter" => Ok(Reorder::ByJitter),
        share => match parse::ratio(share) {
            Ok(share) => Ok(Reorder::Jump(share)),
            Err(ParseError::NoNumber { .. }) => {
                Err(form(text, "a share of packets that jump ahead, `jitter` or `never`"))
            }
            Err(error) => Err(error.into()),
        },
    }
}

pub(super) fn emulator(text: &str) -> Result<EmulatorName, ValueError> {
    match text.trim() {
        "farlink" => Ok(EmulatorName::Farlink),
        "dummynet" => Ok(EmulatorName::Dummynet),
        "netem" => Ok(EmulatorName::Netem),
        _ => Err(form(text, "an emulator: write `farlink`, `dummynet` or `netem`")),
    }
}

/// Dummynet's `hz` is a whole number from 100 to 1000; ticks here are whole milliseconds.
pub(super) fn tick(text: &str) -> Result<Duration, ValueError> {
    let tick = parse::duration(text)?;
    match [1, 2, 4, 5, 10].map(Duration::from_millis).contains(&tick) {
        true => Ok(tick),
        false => Err(out_of_range(text, "dummynet's tick is 1ms, 2ms, 4ms, 5ms or 10ms")),
    }
}

pub(super) fn timer(text: &str) -> Result<Duration, ValueError> {
    let timer = parse::duration(text)?;
    let is_whole = timer.subsec_nanos() % 1_000_000 == 0;
    if !is_whole || timer.is_zero() || timer > Duration::from_millis(100) {
        return Err(out_of_range(
            text,
            "dummynet's timer runs every 1ms to 100ms, in whole ticks of 1ms",
        ));
    }
    Ok(timer)
}

/// Name of a farther hop, which keys its random streams and its report.
pub(super) fn name(text: &str) -> Result<String, ValueError> {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if text.is_empty() || !text.chars().all(is_plain) {
        return Err(form(text, "a hop's name: small letters, digits and hyphens"));
    }
    Ok(text.to_owned())
}

pub(super) fn out_of_range(text: &str, range: &'static str) -> ValueError {
    ValueError::OutOfRange { text: text.to_owned(), range }
}

pub(super) fn form(text: &str, expected: &'static str) -> ValueError {
    ValueError::Form { text: text.to_owned(), expected }
}
