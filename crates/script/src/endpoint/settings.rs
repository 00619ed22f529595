//! How the endpoint under test is configured.

use std::ops::Range;
use std::sync::Arc;

use tcp::{AckPolicy, Config};

use super::Endpoint;
use crate::problem::{Problem, suggestion};

/// The configuration of the endpoint.
#[derive(Debug)]
pub(crate) struct Settings {
    config: Arc<Config>,
}

const KEYS: [&str; 5] = ["iw", "cc", "timestamps", "nagle", "ack"];

impl Settings {
    /// The settings of all `config` lines together.
    pub(crate) fn parse(lines: &[(String, Range<usize>)]) -> Result<Settings, Problem> {
        let mut config = Config::default();
        for (text, place) in lines {
            for setting in text.split(',') {
                set(&mut config, setting.trim(), place)?;
            }
        }
        Ok(Settings { config: Arc::new(config) })
    }

    pub(crate) fn endpoint(&self) -> Endpoint {
        Endpoint::new(self.config.clone())
    }

    /// The payload of a full segment.
    pub(crate) fn mss(&self) -> u32 {
        self.config.mss
    }
}

fn set(config: &mut Config, setting: &str, place: &Range<usize>) -> Result<(), Problem> {
    let wrong = |what: String| Problem::new(place.clone(), what);
    let (key, value) = setting.split_once('=').unwrap_or((setting, ""));
    match (key, value) {
        ("linux-6", "") => {}
        ("iw", _) => {
            config.initial_window =
                value.parse().map_err(|_| wrong(format!("`{value}` is no initial window")))?;
        }
        ("cc", "reno") => config.congestion = congestion::Algorithm::Reno,
        ("cc", "cubic") => config.congestion = congestion::Algorithm::Cubic,
        ("timestamps", "on" | "off") => config.timestamps = value == "on",
        ("nagle", "on" | "off") => config.nagle = value == "on",
        ("ack", "every") => config.ack_policy = AckPolicy::EVERY_SEGMENT,
        _ if KEYS.contains(&key) => return Err(wrong(format!("`{key}` cannot be `{value}`"))),
        _ => {
            return Err(
                wrong(format!("an endpoint has no setting `{key}`")).label(suggestion(key, KEYS))
            );
        }
    }
    Ok(())
}
