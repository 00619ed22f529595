//! Device profiles: CPU costs of a client, charged to its threads. Data, in `data/devices.toml`.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::time::Duration;

use page::Kind;
use serde::Deserialize;
use thiserror::Error;
use units::Time;

use crate::named_table::{NamedTable, UnknownName};

/// The costs of one client, in microseconds of its main or network thread.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Device {
    /// One line for people.
    pub summary: String,
    #[serde(default)]
    navigation_us: u64,
    object_us: u64,
    connection_us: u64,
    tls_handshake_us: u64,
    decrypt_us_per_kb: u64,
    document_us_per_kb: u64,
    stylesheet_us_per_kb: u64,
    script_us_per_kb: u64,
    image_us_per_kb: u64,
    font_us_per_kb: u64,
    other_us_per_kb: u64,
    /// Slowdown relative to the profile (`--cpu 4x`).
    #[serde(skip, default = "one")]
    pub slowdown: f64,
}

/// Costs found by calibration.
pub(crate) struct Costs {
    pub(crate) summary: String,
    pub(crate) navigation_us: u64,
    pub(crate) object_us: u64,
    pub(crate) tls_handshake_us: u64,
    pub(crate) document_us_per_kb: u64,
    pub(crate) stylesheet_us_per_kb: u64,
    pub(crate) script_us_per_kb: u64,
    pub(crate) image_us_per_kb: u64,
    pub(crate) font_us_per_kb: u64,
    pub(crate) other_us_per_kb: u64,
}

/// Error in choosing a device.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DeviceError {
    /// No profile has that name.
    #[error(transparent)]
    Unknown(#[from] UnknownName),
    /// The file cannot be read.
    #[error("cannot read the device {path}: {why}")]
    Unreadable {
        /// Its path.
        path: String,
        /// The system's error.
        why: String,
    },
    /// The file is not a device.
    #[error("{path} is not a device file: {why}")]
    Malformed {
        /// Its path.
        path: String,
        /// The error, and its position.
        why: String,
    },
}

fn one() -> f64 {
    1.0
}

static TABLE: NamedTable<Device> = NamedTable::new("device", include_str!("../data/devices.toml"));

impl Device {
    /// The device called `name`.
    ///
    /// # Errors
    /// If there is none; the message lists those that exist.
    pub fn named(name: &str) -> Result<Device, UnknownName> {
        TABLE.find(name)
    }

    /// The device that `spec` names: a profile, or a TOML file of one device as [`Device::to_toml`] writes it.
    ///
    /// # Errors
    /// If there is none of that name, or the file holds none.
    pub fn open(spec: &str) -> Result<Device, DeviceError> {
        if !spec.ends_with(".toml") {
            return Ok(Device::named(spec)?);
        }
        let path = || spec.to_owned();
        let text = std::fs::read_to_string(spec)
            .map_err(|error| DeviceError::Unreadable { path: path(), why: error.to_string() })?;
        let malformed = |why: String| DeviceError::Malformed { path: path(), why };
        let mut devices: BTreeMap<String, Device> =
            toml::from_str(&text).map_err(|error| malformed(error.to_string()))?;
        match (devices.pop_first(), devices.len()) {
            (Some((_, device)), 0) => Ok(Device { slowdown: 1.0, ..device }),
            (None, _) => Err(malformed("it is empty".to_owned())),
            (Some(_), others) => Err(malformed(format!("it contains {} of them", others + 1))),
        }
    }

    /// All devices by name.
    pub fn all() -> &'static BTreeMap<String, Device> {
        TABLE.all()
    }

    /// A device of which only these costs were measured: the others, which are smaller, are `desktop`'s.
    pub(crate) fn measured(costs: Costs) -> Device {
        let desktop = TABLE.find("desktop").expect("the table has a desktop");
        Device {
            summary: costs.summary,
            navigation_us: costs.navigation_us,
            object_us: costs.object_us,
            tls_handshake_us: costs.tls_handshake_us,
            document_us_per_kb: costs.document_us_per_kb,
            stylesheet_us_per_kb: costs.stylesheet_us_per_kb,
            script_us_per_kb: costs.script_us_per_kb,
            image_us_per_kb: costs.image_us_per_kb,
            font_us_per_kb: costs.font_us_per_kb,
            other_us_per_kb: costs.other_us_per_kb,
            ..desktop
        }
    }

    /// The device as a table of `data/devices.toml`.
    pub fn to_toml(&self, name: &str) -> String {
        let costs = [
            ("navigation_us", self.navigation_us),
            ("object_us", self.object_us),
            ("connection_us", self.connection_us),
            ("tls_handshake_us", self.tls_handshake_us),
            ("decrypt_us_per_kb", self.decrypt_us_per_kb),
            ("document_us_per_kb", self.document_us_per_kb),
            ("stylesheet_us_per_kb", self.stylesheet_us_per_kb),
            ("script_us_per_kb", self.script_us_per_kb),
            ("image_us_per_kb", self.image_us_per_kb),
            ("font_us_per_kb", self.font_us_per_kb),
            ("other_us_per_kb", self.other_us_per_kb),
        ];
        let lines: String = costs.iter().map(|(key, us)| format!("{key} = {us}\n")).collect();
        format!("[{name}]\nsummary = {:?}\n{lines}", self.summary)
    }

    /// Main thread: setting up a new page, once its document's head has arrived: ending the old page, creating the
    /// new one, and its load event at the end.
    pub fn navigation(&self) -> Duration {
        self.micros(self.navigation_us as f64)
    }

    /// Main thread: handling an object, once it has arrived, regardless of its size.
    pub fn object(&self) -> Duration {
        self.micros(self.object_us as f64)
    }

    /// Main thread: processing `bytes` of an object (parsing, decoding, running).
    pub fn work(&self, kind: Kind, bytes: u64) -> Duration {
        let per_kb = match kind {
            Kind::Document => self.document_us_per_kb,
            Kind::Stylesheet => self.stylesheet_us_per_kb,
            Kind::Script => self.script_us_per_kb,
            Kind::Image => self.image_us_per_kb,
            Kind::Font => self.font_us_per_kb,
            Kind::Media | Kind::Data | Kind::Redirect | Kind::Other => self.other_us_per_kb,
        };
        self.micros(per_kb as f64 * bytes as f64 / 1000.0)
    }

    /// Network thread: opening a connection, with TLS or without.
    pub fn connection(&self, tls: bool) -> Duration {
        let tls = if tls { self.tls_handshake_us } else { 0 };
        self.micros((self.connection_us + tls) as f64)
    }

    /// Network thread: reading `bytes` from a connection that uses TLS.
    pub fn decrypt(&self, bytes: usize) -> Duration {
        self.micros(self.decrypt_us_per_kb as f64 * bytes as f64 / 1000.0)
    }

    /// A recorded span of client compute, scaled to this device.
    pub fn recorded(&self, span: Duration) -> Duration {
        span.mul_f64(self.slowdown)
    }

    fn micros(&self, micros: f64) -> Duration {
        Duration::from_nanos((micros * 1000.0 * self.slowdown).round() as u64)
    }
}

/// One thread. Work is queued in order of submission and never preempted, so the completion time of each piece is
/// known when it is queued.
#[derive(Default)]
pub(crate) struct Thread {
    free_at: Cell<Time>,
}

impl Thread {
    /// Queues work that takes `cost`, at `now`; returns its completion time.
    pub(crate) fn queue(&self, now: Time, cost: Duration) -> Time {
        if cost.is_zero() && self.free_at.get() <= now {
            return now;
        }
        let done = self.free_at.get().max(now) + cost;
        self.free_at.set(done);
        done
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_costs_nothing_and_slowdown_multiplies() {
        let zero = Device::named("zero").unwrap();
        assert_eq!(zero.work(Kind::Script, 1_000_000), Duration::ZERO);
        let mut desktop = Device::named("desktop").unwrap();
        let once = desktop.work(Kind::Document, 10_000);
        desktop.slowdown = 4.0;
        assert_eq!(desktop.work(Kind::Document, 10_000), once * 4);
        assert_eq!(desktop.recorded(Duration::from_millis(5)), Duration::from_millis(20));
    }

    #[test]
    fn a_device_from_a_file_is_the_one_that_was_written() {
        let directory = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = directory.path().join(name);
            std::fs::write(&path, text).unwrap();
            path.to_str().unwrap().to_owned()
        };
        let nexus7 = Device::named("nexus7").unwrap();
        let text = nexus7.to_toml("mine");
        assert_eq!(Device::open(&file("mine.toml", &text)).unwrap(), nexus7);
        assert_eq!(Device::open("nexus7").unwrap(), nexus7);
        let refused = |path: &str| Device::open(path).unwrap_err().to_string();
        let two = text.clone() + &nexus7.to_toml("other");
        assert!(refused(&file("two.toml", &two)).ends_with("it contains 2 of them"));
        assert!(refused(&file("none.toml", "")).ends_with("it is empty"));
        let wrong = text.replace("object_us", "objekt_us");
        assert!(refused(&file("wrong.toml", &wrong)).contains("objekt_us"));
        assert!(refused("nowhere.toml").starts_with("cannot read the device nowhere.toml"));
    }

    #[test]
    fn every_device_reads() {
        let all = Device::all();
        for name in ["zero", "desktop", "desktop-2013", "nexus7"] {
            assert!(all.contains_key(name), "{name}");
        }
    }

    #[test]
    fn work_is_done_one_after_another() {
        let thread = Thread::default();
        let ms = Time::from_millis;
        assert_eq!(thread.queue(ms(0), Duration::from_millis(10)), ms(10));
        assert_eq!(thread.queue(ms(5), Duration::from_millis(10)), ms(20));
        assert_eq!(thread.queue(ms(5), Duration::ZERO), ms(20));
        assert_eq!(thread.queue(ms(30), Duration::ZERO), ms(30));
    }
}
