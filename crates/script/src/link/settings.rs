//! Configuration of the link under test: the settings of one direction of a network.

use std::ops::Range;

use net::{LinkConfig, Network};

use super::Wire;
use crate::problem::Problem;
use crate::script::Setting;

/// The configuration of the link.
#[derive(Debug)]
pub(crate) struct Settings {
    config: LinkConfig,
    seed: u64,
}

impl Settings {
    /// Parses the `config` lines: settings of a network's direction (`docs/networks.md`), and `seed` for its
    /// randomness. Errors point at `header` if there are none.
    pub(crate) fn parse(settings: &[Setting], header: Range<usize>) -> Result<Settings, Problem> {
        let place = match (settings.first(), settings.last()) {
            (Some(first), Some(last)) => first.span.start..last.span.end,
            _ => header,
        };
        // The other direction is there because a network has two.
        let mut typed = vec!["up=unlimited,up.delay=0ms".to_owned()];
        let mut seed = 0;
        for Setting { text, span } in settings {
            match text.strip_prefix("seed=") {
                Some(number) => {
                    seed = number.parse().map_err(|_| {
                        Problem::new(span.clone(), format!("`{number}` is no whole number"))
                    })?;
                }
                None => typed.push(format!("down.{text}")),
            }
        }
        let network = Network::parse(&typed.join(",")).map_err(|error| {
            let help = "write `config rate=10mbit,delay=50ms,queue=3pkt`";
            // The direction is implied, and not part of the script.
            Problem::new(place, error.to_string().replace("down.", "")).help(help)
        })?;
        Ok(Settings { config: network.down, seed })
    }

    pub(crate) fn wire(&self) -> Wire {
        Wire::new(self.config.clone(), self.seed)
    }
}
