//! Keep-alive of HTTP/1.1 at origins: idle timeout and requests per connection.
//!
//! A server that closes first sends its FIN late, into an idle radio; one that answers few requests per
//! connection makes browsers open new ones, and tells pipelining clients not to trust it with pipelining.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use units::parse;

use super::knobs::{self, KnobError, KnobProblem, Knobs};

/// `idle=5s,requests=100`. Defaults are those of the servers here: 75 s (nginx's `keepalive_timeout`), and any
/// number of requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeepAlive {
    /// Idle timeout of a connection.
    pub idle: Option<Duration>,
    /// Number of requests after which a connection is closed.
    pub requests: Option<u32>,
}

/// Lower limit. Servers' timers are coarse: 0.2 s matter little against a second.
const LEAST_IDLE: Duration = Duration::from_secs(1);
const MOST_IDLE: Duration = Duration::from_secs(3600);

impl KeepAlive {
    /// True if all is at the servers' defaults.
    pub fn is_usual(&self) -> bool {
        *self == KeepAlive::default()
    }
}

impl Knobs for KeepAlive {
    const ONE: &'static str = "knob of keep-alive";
    const ALL: &'static str = "idle and requests";

    fn turn(&mut self, knob: &str, value: &str) -> Result<(), KnobProblem> {
        match knob {
            "idle" => {
                let span = parse::duration(value).ok();
                let span = span.filter(|span| (LEAST_IDLE..=MOST_IDLE).contains(span));
                self.idle = Some(span.ok_or(KnobProblem::Expected("a time from 1s to 1h"))?);
            }
            "requests" => {
                let number = value.parse().ok().filter(|number| *number > 0);
                let number = number.ok_or(KnobProblem::Expected("a number from 1 on"))?;
                self.requests = Some(number);
            }
            _ => return Err(KnobProblem::Unknown),
        }
        Ok(())
    }
}

impl FromStr for KeepAlive {
    type Err = KnobError;

    fn from_str(text: &str) -> Result<KeepAlive, KnobError> {
        knobs::parse(text)
    }
}

impl fmt::Display for KeepAlive {
    /// In the form that is read; empty if all is at its default.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let idle = self.idle.map(|span| match span.subsec_nanos() {
            0 => format!("idle={}s", span.as_secs()),
            _ => format!("idle={}ns", span.as_nanos()),
        });
        let requests = self.requests.map(|number| format!("requests={number}"));
        f.write_str(&knobs::list([idle, requests]))
    }
}

impl Serialize for KeepAlive {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for KeepAlive {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<KeepAlive, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        for text in ["", "idle=5s", "requests=100", "idle=1500ms,requests=1"] {
            let read: KeepAlive = text.parse().unwrap();
            assert_eq!(read.to_string().parse(), Ok(read), "{text}");
            assert_eq!(read.is_usual(), text.is_empty());
        }
        let read: KeepAlive = " requests = 7 , idle = 1min".parse().unwrap();
        assert_eq!(read.to_string(), "idle=60s,requests=7");
    }

    #[test]
    fn anything_else_is_refused() {
        for (text, says) in [
            ("idle", "from 1s to 1h"),
            ("idle=5", "from 1s to 1h"),
            ("idle=1ms", "from 1s to 1h"),
            ("requests=0", "from 1 on"),
            ("idle=5s,idle=6s", "set twice"),
            ("close=yes", "there are idle and requests"),
        ] {
            let error = text.parse::<KeepAlive>().unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
    }
}
