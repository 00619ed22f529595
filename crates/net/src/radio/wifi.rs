//! A station of a wireless LAN in power save mode (IEEE 802.11, adaptive power save as in phones).
//!
//! Some time after the last packet the station dozes and tells the access point so. Downlink packets then wait for
//! the next beacon that it listens to; an uplink packet wakes it at once.

use std::time::Duration;

use units::Time;

use super::{RadioDirection, RadioMachine, RadioState};

/// Timers of a station.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wifi {
    /// Time after a packet until it dozes.
    pub inactivity: Duration,
    /// Beacon interval: 100 time units of 1.024 ms.
    pub beacon: Duration,
    /// It listens to one beacon in this many.
    pub listen_interval: u32,
}

impl Default for Wifi {
    fn default() -> Wifi {
        Wifi {
            inactivity: Duration::from_millis(200),
            beacon: Duration::from_micros(102_400),
            listen_interval: 1,
        }
    }
}

impl Wifi {
    pub(super) fn machine(&self) -> WifiMachine {
        WifiMachine { config: self.clone(), awake_since: None }
    }
}

#[derive(Clone)]
pub(super) struct WifiMachine {
    config: Wifi,
    /// Time of the last packet, while awake.
    awake_since: Option<Time>,
}

impl RadioMachine for WifiMachine {
    fn state(&self) -> RadioState {
        if self.awake_since.is_some() { RadioState::Awake } else { RadioState::Doze }
    }

    fn arrive(&mut self, now: Time, way: RadioDirection, _bytes: u32) -> Option<RadioState> {
        match (way, self.awake_since) {
            (RadioDirection::Up, None) => {
                self.awake_since = Some(now);
                Some(RadioState::Awake)
            }
            _ => None,
        }
    }

    /// Beacons come at multiples of their interval.
    fn release(&self, ready: Time, way: RadioDirection, _bytes: u32) -> Option<Time> {
        if way == RadioDirection::Up || self.awake_since.is_some() {
            return Some(ready);
        }
        let cycle = u64::try_from(self.config.beacon.as_nanos()).unwrap_or(u64::MAX)
            * u64::from(self.config.listen_interval.max(1));
        Some(Time::from_nanos(ready.as_nanos().next_multiple_of(cycle.max(1))))
    }

    fn left(&mut self, now: Time, _way: RadioDirection, _bytes: u32) -> Option<RadioState> {
        let before = self.state();
        self.awake_since = Some(now);
        (before != RadioState::Awake).then_some(RadioState::Awake)
    }

    fn timer(&self) -> Option<Time> {
        self.awake_since.map(|since| since + self.config.inactivity)
    }

    fn fire(&mut self, _now: Time) -> RadioState {
        self.awake_since = None;
        RadioState::Doze
    }

    fn clone_box(&self) -> Box<dyn RadioMachine> {
        Box::new(self.clone())
    }
}
