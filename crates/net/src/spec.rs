//! From settings as typed (`rtt=100ms`, `down.loss=1%`) to the two directions of a network.
//!
//! A command line and a TOML file differ only in where a setting stands, so both end up here. What
//! was typed is a [`Spec`], every part optional; what it comes to is [`Links`], complete, with a note
//! for everything that had to be assumed.

use std::time::Duration;

use units::BitsPerSec;
use units::parse::{self, ParseError};

use crate::config::DEFAULT_MTU_BYTES;
use crate::error::{ValueError, nearest};
use crate::{LinkConfig, Place, ProcessingJitter, QueueLimit, SpecError};

/// A key and its value, and where they stand.
pub(crate) struct Setting {
    pub(crate) place: Place,
    pub(crate) key: String,
    pub(crate) value: String,
}

/// What was typed so far.
#[derive(Default)]
pub(crate) struct Spec {
    rtt: Option<Duration>,
    both: Side,
    up: Side,
    down: Side,
}

/// What was typed for one direction, or for both.
#[derive(Default)]
struct Side {
    rate: Option<BitsPerSec>,
    delay: Option<Duration>,
    loss: Option<f64>,
    queue: Option<QueueLimit>,
    mtu: Option<u32>,
}

/// Two complete directions, and what was assumed.
pub(crate) struct Links {
    pub(crate) up: LinkConfig,
    pub(crate) down: LinkConfig,
    pub(crate) notes: Vec<String>,
}

/// Every key there is. `down` is short for `down.rate`, and `rtt` is halved between the directions.
const KEYS: [&str; 16] = [
    "rtt",
    "down",
    "up",
    "loss",
    "queue",
    "mtu",
    "down.rate",
    "down.delay",
    "down.loss",
    "down.queue",
    "down.mtu",
    "up.rate",
    "up.delay",
    "up.loss",
    "up.queue",
    "up.mtu",
];

/// The queue of a link that states none.
const DEFAULT_QUEUE: QueueLimit = QueueLimit::Packets(100);

/// Light takes 22 minutes to Mars at its farthest; a longer delay is a typing error.
const LONGEST_ONE_WAY: Duration = Duration::from_secs(1800);

impl Spec {
    /// The settings together; the first bad one is the error.
    pub(crate) fn from_settings(settings: &[Setting]) -> Result<Spec, SpecError> {
        let mut spec = Spec::default();
        for setting in settings {
            spec.set(setting)?;
        }
        Ok(spec)
    }

    /// What was typed, over what `base` is: a setting replaces the base's own. A new `rtt` is split in
    /// halves even if the base's was not.
    pub(crate) fn over(mut self, up: &LinkConfig, down: &LinkConfig) -> Spec {
        if self.rtt.is_none() {
            self.up.delay.get_or_insert(up.delay);
            self.down.delay.get_or_insert(down.delay);
        }
        self.up.fill(&self.both, up);
        self.down.fill(&self.both, down);
        self
    }

    /// The two directions. `origin` names the text in the message about what is missing.
    pub(crate) fn resolve(self, origin: &str) -> Result<Links, SpecError> {
        let missing = |key, example| SpecError::Missing { origin: origin.to_owned(), key, example };
        let (down_delay, up_delay) = match (self.rtt, self.down.delay, self.up.delay) {
            (Some(rtt), down, up) => (down.unwrap_or(rtt - rtt / 2), up.unwrap_or(rtt / 2)),
            (None, Some(down), Some(up)) => (down, up),
            _ => return Err(missing("rtt", "rtt=100ms")),
        };
        let down_rate = self.down.rate.ok_or_else(|| missing("down", "down=10mbit"))?;
        let up_rate = self.up.rate.ok_or_else(|| missing("up", "up=5mbit"))?;
        Ok(Links {
            notes: self.notes(),
            up: self.up.resolve(up_rate, up_delay, &self.both),
            down: self.down.resolve(down_rate, down_delay, &self.both),
        })
    }

    fn set(&mut self, setting: &Setting) -> Result<(), SpecError> {
        let key = setting.key.as_str();
        if !KEYS.contains(&key) {
            return Err(SpecError::UnknownKey {
                place: setting.place.clone(),
                key: key.to_owned(),
                nearest: nearest(key, KEYS),
                known: KEYS.join(", "),
            });
        }
        if key == "rtt" {
            return put(&mut self.rtt, setting, rtt);
        }
        let (side, field) = match key.split_once('.') {
            Some(("down", field)) => (&mut self.down, field),
            Some((_, field)) => (&mut self.up, field),
            None if key == "down" => (&mut self.down, "rate"),
            None if key == "up" => (&mut self.up, "rate"),
            None => (&mut self.both, key),
        };
        match field {
            "rate" => put(&mut side.rate, setting, |text| Ok(parse::rate(text)?)),
            "delay" => put(&mut side.delay, setting, delay),
            "loss" => put(&mut side.loss, setting, |text| Ok(parse::ratio(text)?)),
            "queue" => put(&mut side.queue, setting, queue),
            _ => put(&mut side.mtu, setting, mtu),
        }
    }

    fn notes(&self) -> Vec<String> {
        let given = |side: &Side| side.queue.or(self.both.queue).is_some();
        let where_ = match (given(&self.up), given(&self.down)) {
            (true, true) => return Vec::new(),
            (false, false) => "",
            (false, true) => " for up",
            (true, false) => " for down",
        };
        vec![format!("no queue given{where_}: 100 packets")]
    }
}

impl Side {
    /// Takes from `both`, then from `base`, what was not typed for this direction.
    fn fill(&mut self, both: &Side, base: &LinkConfig) {
        self.rate.get_or_insert(base.rate);
        self.loss.get_or_insert(both.loss.unwrap_or(base.loss));
        self.queue.get_or_insert(both.queue.unwrap_or(base.queue));
        self.mtu.get_or_insert(both.mtu.unwrap_or(base.mtu));
    }

    fn resolve(&self, rate: BitsPerSec, delay: Duration, both: &Side) -> LinkConfig {
        LinkConfig {
            rate,
            delay,
            queue: self.queue.or(both.queue).unwrap_or(DEFAULT_QUEUE),
            loss: self.loss.or(both.loss).unwrap_or(0.0),
            mtu: self.mtu.or(both.mtu).unwrap_or(DEFAULT_MTU_BYTES),
            processing_jitter: ProcessingJitter::None,
        }
    }
}

fn put<T>(
    slot: &mut Option<T>,
    setting: &Setting,
    read: impl Fn(&str) -> Result<T, ValueError>,
) -> Result<(), SpecError> {
    let Setting { place, key, value } = setting;
    if slot.is_some() {
        return Err(SpecError::Twice { place: place.clone(), key: key.clone() });
    }
    let value = read(value).map_err(|reason| SpecError::BadValue {
        place: place.clone(),
        key: key.clone(),
        reason: Box::new(reason),
    })?;
    *slot = Some(value);
    Ok(())
}

fn rtt(text: &str) -> Result<Duration, ValueError> {
    let rtt = parse::duration(text)?;
    if rtt > 2 * LONGEST_ONE_WAY {
        return Err(out_of_range(text, "a round trip takes at most 1h"));
    }
    Ok(rtt)
}

fn delay(text: &str) -> Result<Duration, ValueError> {
    let delay = parse::duration(text)?;
    if delay > LONGEST_ONE_WAY {
        return Err(out_of_range(text, "a one-way delay is at most 30min"));
    }
    Ok(delay)
}

fn queue(text: &str) -> Result<QueueLimit, ValueError> {
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
            Err(_) => Err(form(text, "a queue: write `64pkt`, `64KB` or `unlimited`")),
        },
    }
}

/// From the smallest packet that every IPv4 host must take (RFC 791, section 3.2) to the largest
/// that its length field can state. Bytes, with or without the unit.
fn mtu(text: &str) -> Result<u32, ValueError> {
    let bytes = match text.trim().parse::<u32>() {
        Ok(bytes) => u64::from(bytes),
        Err(_) => parse::size_bytes(text)?,
    };
    match u32::try_from(bytes) {
        Ok(bytes @ 576..=65_535) => Ok(bytes),
        _ => Err(out_of_range(text, "an MTU lies between 576 and 65535 bytes")),
    }
}

fn out_of_range(text: &str, range: &'static str) -> ValueError {
    ValueError::OutOfRange { text: text.to_owned(), range }
}

fn form(text: &str, expected: &'static str) -> ValueError {
    ValueError::Form { text: text.to_owned(), expected }
}
