//! How the link under test is configured: the settings of one direction of a network.

use std::ops::Range;

use net::{LinkConfig, Network};

use super::Wire;
use crate::problem::Problem;
use crate::script::Line;

/// The configuration of the link.
#[derive(Debug)]
pub(crate) struct Settings {
    config: LinkConfig,
    seed: u64,
}

const EXAMPLE: &str = "write `config rate=10mbit,delay=50ms,queue=3pkt`";

impl Settings {
    /// The settings of all `config` lines together. They are those of a network's direction (`docs/networks.md`),
    /// and `seed` for its chances; `header` is blamed where there are none.
    pub(crate) fn parse(
        lines: &[(String, Range<usize>)],
        header: &Line<'_>,
    ) -> Result<Settings, Problem> {
        let (mut typed, mut seed) = (Vec::new(), 0);
        for setting in lines.iter().flat_map(|(text, _)| text.split(',')).map(str::trim) {
            match setting.strip_prefix("seed=") {
                Some(number) => {
                    seed = number.parse().map_err(|_| {
                        Problem::new(place(lines, header), format!("`{number}` is no seed"))
                            .help("a seed is a whole number")
                    })?;
                }
                None => typed.push(format!("down.{setting}")),
            }
        }
        // The other direction is there because a network has two.
        typed.push("up=unlimited,up.delay=0ms".to_owned());
        let network = Network::parse(&typed.join(","))
            .map_err(|error| Problem::new(place(lines, header), error.to_string()).help(EXAMPLE))?;
        Ok(Settings { config: network.down, seed })
    }

    pub(crate) fn wire(&self) -> Wire {
        Wire::new(self.config.clone(), self.seed)
    }
}

/// All `config` lines, or the header where there are none.
fn place(lines: &[(String, Range<usize>)], header: &Line<'_>) -> Range<usize> {
    match (lines.first(), lines.last()) {
        (Some((_, first)), Some((_, last))) => first.start..last.end,
        _ => header.cursor().span(),
    }
}
