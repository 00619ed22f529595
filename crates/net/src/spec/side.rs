//! Settings of one direction, or of both, as typed.

use std::time::Duration;

use units::parse;

use super::{TypedSetting, put, values};
use crate::cell::parse_rate;
use crate::config::DEFAULT_MTU_BYTES;
use crate::error::ValueError;
use crate::trace::{Direction, TraceOptions};
use crate::{
    Channels, EmulatorModel, Jitter, LaneScheduling, LinkConfig, LossModel, Management,
    NetworkSpecError, ProcessingJitter, QueueLimit, Rate, Reorder, SettingOrigin, Trace,
};

/// All settings of a direction.
#[derive(Default)]
pub(super) struct DirectionSpec {
    rate: Option<RateSource>,
    pub(super) delay: Option<Duration>,
    loss: Option<LossModel>,
    pub(super) queue: Option<QueueLimit>,
    management: Option<Management>,
    scheduler: Option<LaneScheduling>,
    channels: Option<Channels>,
    jitter: Option<Jitter>,
    reorder: Option<Reorder>,
    duplicate: Option<f64>,
    mtu: Option<u32>,
    emulator: Option<EmulatorName>,
    tick: Option<Duration>,
    timer: Option<Duration>,
}

/// Source of a rate. Traces and typed rates are parsed once their direction is known, as a cell's links differ.
#[derive(Clone)]
enum RateSource {
    Given(Rate),
    Typed { place: SettingOrigin, key: String, text: String },
    File { place: SettingOrigin, key: String, path: std::path::PathBuf, options: TraceOptions },
}

/// An emulator by name; its clock has settings of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EmulatorName {
    Farlink,
    Dummynet,
    Netem,
}

impl RateSource {
    fn read(&self, direction: Direction) -> Result<Rate, NetworkSpecError> {
        let (read, place, key) = match self {
            RateSource::Given(rate) => return Ok(rate.clone()),
            RateSource::Typed { place, key, text } => {
                (parse_rate(direction, text).map(Rate::Constant), place, key)
            }
            RateSource::File { place, key, path, options } => {
                let trace = Trace::read(path, direction, *options);
                (
                    trace.map(|trace| Rate::Trace(trace.into())).map_err(ValueError::Trace),
                    place,
                    key,
                )
            }
        };
        read.map_err(|reason| NetworkSpecError::BadValue {
            place: place.clone(),
            key: key.clone(),
            reason: Box::new(reason),
        })
    }
}

impl DirectionSpec {
    /// Parses and sets a field.
    pub(super) fn set(
        &mut self,
        setting: &TypedSetting,
        field: &str,
    ) -> Result<(), NetworkSpecError> {
        match field {
            "rate" => put(&mut self.rate, setting, |text| typed_rate(setting, text)),
            "trace" => put(&mut self.rate, setting, |text| trace(setting, text)),
            "delay" => put(&mut self.delay, setting, values::delay),
            "loss" => {
                put(&mut self.loss, setting, |text| Ok(LossModel::Random(parse::ratio(text)?)))
            }
            "gemodel" => put(&mut self.loss, setting, values::gemodel),
            "gemodel-time" => put(&mut self.loss, setting, values::gemodel_time),
            "loss_file" => put(&mut self.loss, setting, |text| {
                values::loss_file(&setting.place.relative(text))
            }),
            "queue" => put(&mut self.queue, setting, values::queue),
            "aqm" => put(&mut self.management, setting, values::management),
            "scheduler" => put(&mut self.scheduler, setting, values::scheduler),
            "channels" => put(&mut self.channels, setting, values::channels),
            "jitter" => put(&mut self.jitter, setting, values::jitter),
            "reorder" => put(&mut self.reorder, setting, values::reorder),
            "duplicate" => put(&mut self.duplicate, setting, |text| Ok(parse::ratio(text)?)),
            "emulator" => put(&mut self.emulator, setting, values::emulator),
            "tick" => put(&mut self.tick, setting, values::tick),
            "timer" => put(&mut self.timer, setting, values::timer),
            _ => put(&mut self.mtu, setting, values::mtu),
        }
    }

    /// Fills settings not typed for this direction from `both`, then from `base`.
    pub(super) fn fill(
        &mut self,
        both: &DirectionSpec,
        base: &LinkConfig,
        direction: Direction,
    ) -> Result<(), NetworkSpecError> {
        let rate = self.rate(both, direction)?.unwrap_or_else(|| base.rate.clone());
        self.rate = Some(RateSource::Given(rate));
        let loss = || both.loss.clone().unwrap_or_else(|| base.loss.clone());
        self.loss.get_or_insert_with(loss);
        self.queue.get_or_insert(both.queue.unwrap_or(base.queue));
        self.management.get_or_insert(both.management.unwrap_or(base.management));
        self.scheduler.get_or_insert(both.scheduler.unwrap_or(base.scheduler));
        let channels = || both.channels.clone().unwrap_or_else(|| base.channels.clone());
        self.channels.get_or_insert_with(channels);
        self.jitter.get_or_insert(both.jitter.unwrap_or(base.jitter));
        self.reorder.get_or_insert(both.reorder.unwrap_or(base.reorder));
        self.duplicate.get_or_insert(both.duplicate.unwrap_or(base.duplicate));
        self.mtu.get_or_insert(both.mtu.unwrap_or(base.mtu));
        let (name, clock) = match base.emulator {
            EmulatorModel::Farlink => (EmulatorName::Farlink, None),
            EmulatorModel::Dummynet { tick, timer } => {
                (EmulatorName::Dummynet, Some((tick, timer)))
            }
            EmulatorModel::Netem => (EmulatorName::Netem, None),
        };
        let name = *self.emulator.get_or_insert(both.emulator.unwrap_or(name));
        if name == EmulatorName::Dummynet {
            let typed = self.tick.or(both.tick);
            // The base's timer belongs with the base's tick.
            let clock = clock.filter(|_| typed.is_none());
            self.tick = typed.or(clock.map(|(tick, _)| tick));
            self.timer = self.timer.or(both.timer).or(clock.map(|(_, timer)| timer));
        }
        Ok(())
    }

    /// Checks that a typed rate can be parsed.
    pub(super) fn check_rate(&self, direction: Direction) -> Result<(), NetworkSpecError> {
        match &self.rate {
            Some(rate @ RateSource::Typed { .. }) => rate.read(direction).map(drop),
            _ => Ok(()),
        }
    }

    /// The rate in this direction, if one was typed.
    pub(super) fn rate(
        &self,
        both: &DirectionSpec,
        direction: Direction,
    ) -> Result<Option<Rate>, NetworkSpecError> {
        self.rate.as_ref().or(both.rate.as_ref()).map(|rate| rate.read(direction)).transpose()
    }

    /// Resolves the direction; the error is a pair of settings that exclude each other.
    pub(super) fn resolve(
        &self,
        rate: Rate,
        delay: Duration,
        both: &DirectionSpec,
    ) -> Result<LinkConfig, (&'static str, &'static str)> {
        let management = self.management.or(both.management).unwrap_or(Management::DropTail);
        let emulator = self.emulator(both)?;
        let is_bare_delay = rate == Rate::UNLIMITED && self.rate.is_none() && both.rate.is_none();
        let queue = self.queue.or(both.queue).unwrap_or_else(|| match emulator.default_queue() {
            Some(queue) => queue,
            None if is_bare_delay => QueueLimit::Unlimited,
            None => management.default_queue(),
        });
        let link = LinkConfig {
            rate,
            delay,
            jitter: self.jitter.or(both.jitter).unwrap_or(Jitter::NONE),
            reorder: self.reorder.or(both.reorder).unwrap_or(Reorder::Never),
            queue,
            management,
            scheduler: self.scheduler.or(both.scheduler).unwrap_or_default(),
            channels: self.channels.clone().or(both.channels.clone()).unwrap_or_default(),
            handover: None,
            loss: self.loss.clone().or(both.loss.clone()).unwrap_or(LossModel::NONE),
            duplicate: self.duplicate.or(both.duplicate).unwrap_or(0.0),
            mtu: self.mtu.or(both.mtu).unwrap_or(DEFAULT_MTU_BYTES),
            emulator,
            harq: None,
            processing_jitter: ProcessingJitter::None,
        };
        match conflict(&link) {
            Some(pair) => Err(pair),
            None => Ok(link),
        }
    }
}

impl DirectionSpec {
    /// Dummynet's timer runs every tick if a tick is given, as on FreeBSD.
    fn emulator(
        &self,
        both: &DirectionSpec,
    ) -> Result<EmulatorModel, (&'static str, &'static str)> {
        let (tick, timer) = (self.tick.or(both.tick), self.timer.or(both.timer));
        match self.emulator.or(both.emulator) {
            Some(EmulatorName::Dummynet) => {
                let timer = timer.or(tick).unwrap_or(EmulatorModel::DEFAULT_TIMER);
                let tick = tick.unwrap_or(EmulatorModel::DEFAULT_TICK);
                match timer.as_nanos().is_multiple_of(tick.as_nanos()) {
                    true => Ok(EmulatorModel::Dummynet { tick, timer }),
                    false => Err(("timer", "a tick that does not divide it")),
                }
            }
            _ if tick.is_some() => Err(("tick", "any emulator but dummynet")),
            _ if timer.is_some() => Err(("timer", "any emulator but dummynet")),
            Some(EmulatorName::Netem) => Ok(EmulatorModel::Netem),
            Some(EmulatorName::Farlink) | None => Ok(EmulatorModel::Farlink),
        }
    }
}

/// Settings that an imitated emulator does not support.
pub(super) fn conflict(link: &LinkConfig) -> Option<(&'static str, &'static str)> {
    let name = match link.emulator {
        EmulatorModel::Farlink => return None,
        EmulatorModel::Dummynet { .. } => "emulator=dummynet",
        EmulatorModel::Netem => "emulator=netem",
    };
    let is_dummynet = link.emulator != EmulatorModel::Netem;
    if matches!(link.rate, Rate::Trace(_)) {
        return Some(("trace", name));
    }
    if link.management != Management::DropTail {
        return Some(("aqm", name));
    }
    if link.scheduler != LaneScheduling::Fifo {
        return Some(("scheduler", name));
    }
    if !link.channels.are_perfect() {
        return Some(("channels", name));
    }
    if link.handover.is_some() {
        return Some(("handover", name));
    }
    if matches!(link.loss, LossModel::TimedGilbertElliott(_)) {
        return Some(("gemodel-time", name));
    }
    if is_dummynet && link.jitter != Jitter::NONE {
        return Some(("jitter", name));
    }
    if is_dummynet && link.reorder != Reorder::Never {
        return Some(("reorder", name));
    }
    if is_dummynet && link.duplicate > 0.0 {
        return Some(("duplicate", name));
    }
    if !is_dummynet && matches!(link.queue, QueueLimit::Bytes(_)) {
        return Some(("a queue in bytes", name));
    }
    None
}

/// A rate as typed.
fn typed_rate(setting: &TypedSetting, text: &str) -> Result<RateSource, ValueError> {
    let (place, key, text) = (setting.place.clone(), setting.key.clone(), text.to_owned());
    Ok(RateSource::Typed { place, key, text })
}

/// `FILE`, optionally followed by a unit and `once`.
fn trace(setting: &TypedSetting, text: &str) -> Result<RateSource, ValueError> {
    let (path, options) = values::trace(text)?;
    let (place, key) = (setting.place.clone(), setting.key.clone());
    Ok(RateSource::File { path: place.relative(path), place, key, options })
}
