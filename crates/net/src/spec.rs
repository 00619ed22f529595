//! Conversion of settings as typed (`rtt=100ms`, `down.loss=1%`) to the links of a network.
//!
//! A command line and a TOML file differ only in the position of a setting, so both end up here. A [`TypedNetwork`] holds
//! what was typed, every part optional; [`ResolvedLinks`] is the complete result, with a note for every assumption.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::error::{ValueError, nearest};
use crate::network::Hop;
use crate::trace::Direction;
use crate::{
    LaneScheduling, LinkConfig, Network, NetworkSpecError, QueueLimit, RadioConfig, Rate,
    SettingOrigin,
};

mod radio;
mod side;
mod values;

use radio::{HandoverSpec, RadioSpec};
use side::DirectionSpec;
pub(crate) use values::queue;
pub use values::rtt as parse_rtt;

/// A key, its value and their position.
#[derive(Clone, Debug)]
pub(crate) struct TypedSetting {
    pub(crate) place: SettingOrigin,
    pub(crate) key: String,
    pub(crate) value: String,
}

/// Settings typed so far, of a whole network or of one of its farther hops.
#[derive(Default)]
pub(crate) struct TypedNetwork {
    rtt: Option<Duration>,
    both: DirectionSpec,
    up: DirectionSpec,
    down: DirectionSpec,
    /// Name of a farther hop.
    name: Option<String>,
    /// Farther hops, by number, from 1.
    hops: BTreeMap<u32, TypedNetwork>,
    radio: RadioSpec,
    handover: HandoverSpec,
}

/// Complete links, and the assumptions made.
pub(crate) struct ResolvedLinks {
    pub(crate) up: LinkConfig,
    pub(crate) down: LinkConfig,
    pub(crate) beyond: Vec<Hop>,
    pub(crate) radio: Option<RadioConfig>,
    pub(crate) notes: Vec<String>,
}

/// Settings of one direction (`down.loss`) and, except for the first two, of both (`loss`).
const FIELDS: [&str; 18] = [
    "rate",
    "delay",
    "trace",
    "loss",
    "gemodel",
    "gemodel-time",
    "loss_file",
    "queue",
    "aqm",
    "scheduler",
    "channels",
    "jitter",
    "reorder",
    "duplicate",
    "mtu",
    "emulator",
    "tick",
    "timer",
];

/// Maximum number of hops beyond the first.
const MOST_HOPS: u32 = 9;

/// Returns true if networks have a setting of this name.
pub fn is_setting(key: &str) -> bool {
    let of_hop = |key: &str| match key.strip_prefix("hop.").and_then(|rest| rest.split_once('.')) {
        Some((number, field)) => {
            matches!(number.parse(), Ok(1..=MOST_HOPS)) && (field == "name" || is_own(field))
        }
        None => false,
    };
    is_own(key) || of_hop(key) || radio::is_radio_setting(key) || radio::is_handover_setting(key)
}

/// Summary of all settings.
pub(crate) fn known_settings() -> String {
    let both = FIELDS[2..].join(", ");
    format!(
        "rtt, down, up, {both}, each also for one direction as down.loss, and for a farther hop as hop.1.rtt; radio and its own settings as radio.dch_inactivity; handover.every, handover.length, handover.lossless"
    )
}

/// Returns true if hops have a setting of this name.
fn is_own(key: &str) -> bool {
    keys().any(|known| known == key)
}

/// All keys of a hop. `down` is short for `down.rate`, and `rtt` is split evenly between the directions.
fn keys() -> impl Iterator<Item = String> {
    let both = ["rtt", "down", "up"].into_iter().chain(FIELDS.into_iter().skip(2));
    let one = ["down", "up"].into_iter();
    both.map(str::to_owned).chain(
        one.flat_map(|direction| {
            FIELDS.into_iter().map(move |field| format!("{direction}.{field}"))
        }),
    )
}

impl TypedNetwork {
    /// Combines the settings; the first bad one is the error.
    pub(crate) fn from_settings(
        settings: &[TypedSetting],
    ) -> Result<TypedNetwork, NetworkSpecError> {
        let mut spec = TypedNetwork::default();
        for setting in settings {
            spec.set(setting, &setting.key)?;
        }
        Ok(spec)
    }

    /// Checks that the rates can be parsed, each in its direction. Traces are not opened.
    pub(crate) fn check_rates(&self) -> Result<(), NetworkSpecError> {
        let directions = [(&self.down, Direction::Down), (&self.up, Direction::Up)];
        directions.into_iter().try_for_each(|(side, direction)| side.check_rate(direction))?;
        self.hops.values().try_for_each(TypedNetwork::check_rates)
    }

    /// Overlays the typed settings on `base`: a setting replaces the base's own. A new `rtt` is split in halves even
    /// if the base's was not.
    pub(crate) fn over(mut self, base: &Network) -> Result<TypedNetwork, NetworkSpecError> {
        self.radio.fill(base.radio.as_ref());
        self.handover.fill(base.down.handover);
        self.over_links(&base.up, &base.down, &base.beyond)
    }

    fn over_links(
        mut self,
        up: &LinkConfig,
        down: &LinkConfig,
        beyond: &[Hop],
    ) -> Result<TypedNetwork, NetworkSpecError> {
        if self.rtt.is_none() {
            self.up.delay.get_or_insert(up.delay);
            self.down.delay.get_or_insert(down.delay);
        }
        self.up.fill(&self.both, up, Direction::Up)?;
        self.down.fill(&self.both, down, Direction::Down)?;
        for (hop, number) in beyond.iter().zip(1..) {
            let mut changes = self.hops.remove(&number).unwrap_or_default();
            changes.name.get_or_insert_with(|| hop.name.clone());
            self.hops.insert(number, changes.over_links(&hop.up, &hop.down, &[])?);
        }
        Ok(self)
    }

    /// Resolves the links. `origin` names the text in messages about missing settings.
    pub(crate) fn resolve(mut self, origin: &str) -> Result<ResolvedLinks, NetworkSpecError> {
        let missing =
            |key, example| NetworkSpecError::Missing { origin: origin.to_owned(), key, example };
        let delays = self.delays().ok_or_else(|| missing("rtt", "rtt=100ms"))?;
        let down_rate = self.down.rate(&self.both, Direction::Down)?;
        let down_rate = down_rate.ok_or_else(|| missing("down", "down=10mbit"))?;
        let up_rate = self.up.rate(&self.both, Direction::Up)?;
        let up_rate = up_rate.ok_or_else(|| missing("up", "up=5mbit"))?;
        let mut links = self.links(origin, "", (up_rate, down_rate), delays)?;
        links.radio = std::mem::take(&mut self.radio).resolve(origin)?;
        let harq = links.radio.as_ref().and_then(RadioConfig::harq);
        (links.up.harq, links.down.harq) = (harq, harq);
        let handover = std::mem::take(&mut self.handover).resolve(origin)?;
        let shares = |link: &LinkConfig| link.scheduler != LaneScheduling::Fifo;
        if handover.is_some() && shares(&links.up) != shares(&links.down) {
            let origin = origin.to_owned();
            let with = "a scheduler of one direction alone";
            return Err(NetworkSpecError::Conflict { origin, setting: "handover", with });
        }
        for link in [&mut links.up, &mut links.down] {
            link.handover = handover;
            let conflict = side::conflict(link);
            if let Some((setting, with)) = conflict {
                return Err(NetworkSpecError::Conflict {
                    origin: origin.to_owned(),
                    setting,
                    with,
                });
            }
        }
        for ((number, hop), expected) in self.hops.into_iter().zip(1..) {
            if number != expected {
                let origin = origin.to_owned();
                return Err(NetworkSpecError::HopGap { origin, number, expected });
            }
            let (hop, notes) = hop.resolve_hop(origin, number)?;
            links.beyond.push(hop);
            links.notes.extend(notes);
        }
        Ok(links)
    }

    /// Resolves a farther hop; settings not given have no effect.
    fn resolve_hop(
        self,
        origin: &str,
        number: u32,
    ) -> Result<(Hop, Vec<String>), NetworkSpecError> {
        let delays = self.delays().unwrap_or_else(|| {
            let zero = Duration::ZERO;
            (self.up.delay.unwrap_or(zero), self.down.delay.unwrap_or(zero))
        });
        let up_rate = self.up.rate(&self.both, Direction::Up)?.unwrap_or(Rate::UNLIMITED);
        let down_rate = self.down.rate(&self.both, Direction::Down)?.unwrap_or(Rate::UNLIMITED);
        let label = format!("hop {number}: ");
        let links = self.links(origin, &label, (up_rate, down_rate), delays)?;
        let name = self.name.unwrap_or_else(|| format!("hop-{number}"));
        Ok((Hop { name, up: links.up, down: links.down }, links.notes))
    }

    /// One-way delays up and down; `None` unless both are given.
    fn delays(&self) -> Option<(Duration, Duration)> {
        match (self.rtt, self.up.delay, self.down.delay) {
            (Some(rtt), up, down) => Some((up.unwrap_or(rtt / 2), down.unwrap_or(rtt - rtt / 2))),
            (None, Some(up), Some(down)) => Some((up, down)),
            _ => None,
        }
    }

    /// Both directions, with notes that begin with `label`.
    fn links(
        &self,
        origin: &str,
        label: &str,
        (up_rate, down_rate): (Rate, Rate),
        (up_delay, down_delay): (Duration, Duration),
    ) -> Result<ResolvedLinks, NetworkSpecError> {
        let conflict = |(setting, with)| {
            let origin = origin.to_owned();
            NetworkSpecError::Conflict { origin, setting, with }
        };
        let mut notes = trace_notes(&up_rate, &down_rate);
        let up = self.up.resolve(up_rate, up_delay, &self.both).map_err(conflict)?;
        let down = self.down.resolve(down_rate, down_delay, &self.both).map_err(conflict)?;
        notes.extend(self.queue_note(&up, &down));
        let notes = notes.into_iter().map(|note| format!("{label}{note}")).collect();
        Ok(ResolvedLinks { up, down, beyond: Vec::new(), radio: None, notes })
    }

    fn queue_note(&self, up: &LinkConfig, down: &LinkConfig) -> Option<String> {
        let is_assumed = |side: &DirectionSpec, link: &LinkConfig| {
            side.queue.or(self.both.queue).is_none() && link.queue != QueueLimit::Unlimited
        };
        let (where_, limit) = match (is_assumed(&self.up, up), is_assumed(&self.down, down)) {
            (false, false) => return None,
            (true, true) if up.queue == down.queue => ("", up.queue.to_string()),
            (true, true) => ("", format!("{} up, {} down", up.queue, down.queue)),
            (true, false) => (" for up", up.queue.to_string()),
            (false, true) => (" for down", down.queue.to_string()),
        };
        let limit = limit.replace("pkt", " packets");
        Some(format!("no queue given{where_}: {limit}"))
    }

    /// Sets `key`, which is `setting`'s without the hop's prefix.
    fn set(&mut self, setting: &TypedSetting, key: &str) -> Result<(), NetworkSpecError> {
        if let Some(rest) = key.strip_prefix("hop.") {
            return self.set_hop(setting, rest);
        }
        if key == setting.key && (self.radio.set(setting)? || self.handover.set(setting)?) {
            return Ok(());
        }
        if !is_own(key) {
            return Err(unknown(setting, key));
        }
        if key == "rtt" {
            return put(&mut self.rtt, setting, values::rtt);
        }
        let (side, field) = match key.split_once('.') {
            Some(("down", field)) => (&mut self.down, field),
            Some((_, field)) => (&mut self.up, field),
            None if key == "down" => (&mut self.down, "rate"),
            None if key == "up" => (&mut self.up, "rate"),
            None => (&mut self.both, key),
        };
        side.set(setting, field)
    }

    /// Sets a setting of a hop. `rest` is the text after `hop.`: a number and a key.
    fn set_hop(&mut self, setting: &TypedSetting, rest: &str) -> Result<(), NetworkSpecError> {
        let numbered = rest.split_once('.').and_then(|(number, key)| {
            let number = number.parse().ok().filter(|number| (1..=MOST_HOPS).contains(number))?;
            (!key.starts_with("hop.")).then_some((number, key))
        });
        let Some((number, key)) = numbered else { return Err(unknown(setting, rest)) };
        let hop = self.hops.entry(number).or_default();
        match key {
            "name" => put(&mut hop.name, setting, values::name),
            _ => hop.set(setting, key),
        }
    }
}

fn trace_notes(up: &Rate, down: &Rate) -> Vec<String> {
    let note = |(direction, rate): (&str, &Rate)| match rate {
        Rate::Constant(_) => None,
        Rate::Trace(trace) => {
            let (mbit, seconds) = (trace.mean().0 as f64 / 1e6, trace.duration().as_secs_f64());
            let end = if trace.options().once { "then the link stands still" } else { "repeated" };
            let (origin, taken) = (trace.origin(), trace.taken());
            Some(format!(
                "{direction} follows {origin}: {taken}; mean {mbit:.3} Mbit/s over {seconds:.1} s, {end}"
            ))
        }
    };
    [("down", down), ("up", up)].into_iter().filter_map(note).collect()
}

/// The setting of a hop that `key` was probably meant to be.
fn nearest_own(key: &str) -> Option<String> {
    let known: Vec<String> = keys().collect();
    nearest(key, known.iter().map(String::as_str))
}

fn unknown(setting: &TypedSetting, key: &str) -> NetworkSpecError {
    let prefix = setting.key.strip_suffix(key).unwrap_or_default();
    let likely = nearest_own(key);
    NetworkSpecError::UnknownKey {
        place: setting.place.clone(),
        key: setting.key.clone(),
        nearest: likely.map(|key| format!("{prefix}{key}")),
        known: known_settings(),
    }
}

fn put<T>(
    slot: &mut Option<T>,
    setting: &TypedSetting,
    read: impl Fn(&str) -> Result<T, ValueError>,
) -> Result<(), NetworkSpecError> {
    let TypedSetting { place, key, value } = setting;
    if slot.is_some() {
        return Err(NetworkSpecError::Twice { place: place.clone(), key: key.clone() });
    }
    let value = read(value).map_err(|reason| NetworkSpecError::BadValue {
        place: place.clone(),
        key: key.clone(),
        reason: Box::new(reason),
    })?;
    *slot = Some(value);
    Ok(())
}
