//! Configuration of the endpoint under test: a transport in the usual notation (`linux-3.2,iw=3`), and the segment size.

use std::sync::Arc;

use tcp::Config;

use super::Endpoint;
use super::numbers::Numbers;
use crate::problem::Problem;
use crate::script::Setting;

/// The configuration of the endpoint.
#[derive(Debug)]
pub(crate) struct Settings {
    config: Arc<Config>,
}

/// The payload of an Ethernet packet without options: the largest possible segment.
const LARGEST_MSS: u32 = 1460;

impl Settings {
    /// Parses the `config` lines. A generation comes first, if there is one.
    pub(crate) fn parse(settings: &[Setting]) -> Result<Settings, Problem> {
        let mut config = Config::default();
        for (index, setting) in settings.iter().enumerate() {
            let Setting { text, span } = setting;
            let wrong = |message: String| Problem::new(span.clone(), message);
            match text.split_once('=') {
                Some((name, number)) if name.trim() == "mss" => {
                    config.mss = segment_size(number.trim()).map_err(wrong)?;
                }
                Some((name, value)) => {
                    config
                        .set(name.trim(), value.trim())
                        .map_err(|error| wrong(error.to_string()))?;
                }
                None if index == 0 => {
                    config = Config::parse(text).map_err(|error| wrong(error.to_string()))?;
                }
                None => {
                    return Err(wrong(format!("`{text}` has no value")).help(
                        "write `name=value`; a generation, such as `linux-3.2`, comes first",
                    ));
                }
            }
        }
        Ok(Settings { config: Arc::new(config) })
    }

    pub(crate) fn endpoint(&self) -> Endpoint {
        Endpoint::new(self.config.clone())
    }

    pub(crate) fn numbers(&self) -> Numbers {
        Numbers { mss: self.config.mss }
    }
}

fn segment_size(text: &str) -> Result<u32, String> {
    let size = text.parse().ok().filter(|size| (1..=LARGEST_MSS).contains(size));
    size.ok_or_else(|| format!("a full segment has from 1 to {LARGEST_MSS} bytes, not `{text}`"))
}
