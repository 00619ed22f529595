//! How long origins keep a connection of HTTP/1.1 open, and for how many requests.
//!
//! A server that closes first sends its FIN late, into a radio that has come to rest; one that answers few requests on a connection makes
//! browsers open new ones, and tells those that pipeline that it cannot be trusted with it.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use thiserror::Error;
use units::parse;

/// What is not said is as servers here have it: 75 s (nginx's `keepalive_timeout`), and any number of requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeepAlive {
    /// An idle connection is closed after so many nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_ns: Option<u64>,
    /// A connection is closed after so many requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<u32>,
}

/// A text that does not say how long connections are kept.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum KeepAliveError {
    /// Something else is said.
    #[error(
        "`{text}` says nothing of keeping connections: write `idle=5s`, `requests=100` or both, with a comma"
    )]
    Unknown {
        /// What was written.
        text: String,
    },
    /// A span that is none, or out of range.
    #[error("`idle={value}`: it is a time from 1s to 1h{why}")]
    Idle {
        /// What was written.
        value: String,
        /// What is wrong with it, if it is no time at all.
        why: String,
    },
    /// A number that is none.
    #[error("`requests={value}`: it is a number from 1 on")]
    Requests {
        /// What was written.
        value: String,
    },
    /// The same is said twice.
    #[error("`{key}` is said twice; keep one")]
    Twice {
        /// What.
        key: &'static str,
    },
}

impl KeepAlive {
    /// Whether all is as servers here have it.
    pub fn is_usual(&self) -> bool {
        *self == KeepAlive::default()
    }

    fn say(&mut self, text: &str) -> Result<(), KeepAliveError> {
        let unknown = || KeepAliveError::Unknown { text: text.to_owned() };
        let (key, value) = text.split_once('=').ok_or_else(unknown)?;
        match key.trim() {
            "idle" if self.idle_ns.is_some() => Err(KeepAliveError::Twice { key: "idle" }),
            "idle" => {
                self.idle_ns = Some(idle(value.trim())?);
                Ok(())
            }
            "requests" if self.requests.is_some() => Err(KeepAliveError::Twice { key: "requests" }),
            "requests" => {
                let number = value.trim().parse().ok().filter(|number| *number > 0);
                let wrong = || KeepAliveError::Requests { value: value.to_owned() };
                self.requests = Some(number.ok_or_else(wrong)?);
                Ok(())
            }
            _ => Err(unknown()),
        }
    }
}

/// Servers' timers are coarse: 0.2 s are nothing to a second.
fn idle(value: &str) -> Result<u64, KeepAliveError> {
    let wrong = |why: String| KeepAliveError::Idle { value: value.to_owned(), why };
    let span = parse::duration(value).map_err(|error| wrong(format!(" ({error})")))?;
    match (Duration::from_secs(1)..=Duration::from_secs(3600)).contains(&span) {
        true => Ok(span.as_nanos() as u64),
        false => Err(wrong(String::new())),
    }
}

impl FromStr for KeepAlive {
    type Err = KeepAliveError;

    fn from_str(text: &str) -> Result<KeepAlive, KeepAliveError> {
        let mut keep_alive = KeepAlive::default();
        for item in text.split(',').map(str::trim).filter(|item| !item.is_empty()) {
            keep_alive.say(item)?;
        }
        Ok(keep_alive)
    }
}

impl fmt::Display for KeepAlive {
    /// As it is read; nothing where all is usual.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let idle = self.idle_ns.map(|ns| format!("idle={}ms", ns as f64 / 1e6));
        let requests = self.requests.map(|number| format!("requests={number}"));
        f.write_str(&idle.into_iter().chain(requests).collect::<Vec<_>>().join(","))
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
        assert_eq!(
            " requests = 7 , idle = 1min".parse::<KeepAlive>().unwrap().to_string(),
            "idle=60000ms,requests=7"
        );
    }

    #[test]
    fn anything_else_is_refused() {
        for (text, says) in [
            ("idle", "says nothing of keeping"),
            ("idle=5", "from 1s to 1h ("),
            ("idle=1ms", "from 1s to 1h"),
            ("requests=0", "from 1 on"),
            ("idle=5s,idle=6s", "`idle` is said twice"),
            ("close=yes", "write `idle=5s`"),
        ] {
            let error = text.parse::<KeepAlive>().unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
    }
}
