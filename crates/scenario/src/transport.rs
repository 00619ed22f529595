//! TCP's settings at both ends.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// TCP's settings at the servers and at the client.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "Stored")]
pub struct Transport {
    /// The servers' side, which sends the bulk.
    pub server: Tcp,
    /// The client's side.
    pub client: Tcp,
}

/// One side's settings. Its text is a generation and the knobs that differ from that generation's defaults:
/// `linux-3.2,iw=3,cc=reno`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tcp(tcp::Config);

impl Transport {
    /// Equal settings on both sides.
    pub fn both(tcp: Tcp) -> Transport {
        Transport { server: tcp.clone(), client: tcp }
    }

    /// Sets a knob on both sides.
    ///
    /// # Errors
    /// If there is no such knob, or it does not accept the value.
    pub fn set(&mut self, knob: &str, value: &str) -> Result<(), tcp::TransportSpecError> {
        for side in [&mut self.server, &mut self.client] {
            side.0.set(knob, value)?;
        }
        Ok(())
    }
}

impl Tcp {
    /// The settings themselves.
    pub fn config(&self) -> &tcp::Config {
        &self.0
    }

    /// The value of a knob.
    ///
    /// # Panics
    /// If there is no such knob.
    pub fn knob(&self, name: &str) -> String {
        let knob = tcp::Knob::find(name).expect("lab asks for knobs that TCP has");
        knob.get(&self.0)
    }

    /// A note for readers of results on the model behind these settings.
    pub fn note(&self) -> Option<String> {
        let generation = self.0.generation;
        (!generation.has_living_reference()).then(|| {
            format!(
                "TCP {generation} is modelled from that kernel's source; there is no running kernel to compare it with"
            )
        })
    }
}

impl FromStr for Tcp {
    type Err = tcp::TransportSpecError;
    fn from_str(text: &str) -> Result<Tcp, tcp::TransportSpecError> {
        tcp::Config::parse(text).map(Tcp)
    }
}

impl fmt::Display for Tcp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Serialize for Tcp {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Tcp {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Tcp, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// A transport as stored: both sides, or the three knobs of older versions with only one generation.
#[derive(Deserialize)]
#[serde(untagged)]
enum Stored {
    Sides { server: Box<Tcp>, client: Box<Tcp> },
    Three { congestion: String, initial_window_segments: u32, slow_start_after_idle: bool },
}

impl From<Stored> for Transport {
    fn from(stored: Stored) -> Transport {
        match stored {
            Stored::Sides { server, client } => Transport { server: *server, client: *client },
            Stored::Three { congestion, initial_window_segments, slow_start_after_idle } => {
                let idle = if slow_start_after_idle { "on" } else { "off" };
                let text = format!(
                    "cc={congestion},iw={initial_window_segments},slow-start-after-idle={idle}"
                );
                Transport::both(text.parse().unwrap_or_default())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transport_is_two_texts() {
        let mut transport = Transport::both("linux-3.2,cc=reno".parse().unwrap());
        transport.client = "acks=windows-7".parse().unwrap();
        let text = serde_json::to_string(&transport).unwrap();
        assert_eq!(text, r#"{"server":"linux-3.2,cc=reno","client":"linux-6,acks=windows-7"}"#);
        assert_eq!(serde_json::from_str::<Transport>(&text).unwrap(), transport);
    }

    #[test]
    fn the_form_of_older_stores_is_read() {
        let old =
            r#"{"congestion":"reno","initial_window_segments":3,"slow_start_after_idle":false}"#;
        let transport: Transport = serde_json::from_str(old).unwrap();
        assert_eq!(transport.server.to_string(), "linux-6,iw=3,cc=reno,slow-start-after-idle=off");
        assert_eq!(transport.client, transport.server);
    }

    #[test]
    fn only_the_living_generation_needs_no_note() {
        assert_eq!(Tcp::default().note(), None);
        assert!("linux-3.0".parse::<Tcp>().unwrap().note().unwrap().contains("linux-3.0"));
    }
}
