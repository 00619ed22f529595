//! What lies between client and server: two links, a name, and where the numbers come from.

use std::fmt;
use std::path::Path;
use std::time::Duration;

use units::BitsPerSec;

use crate::config::DEFAULT_MTU_BYTES;
use crate::spec::{Links, Setting, Spec};
use crate::toml_text::{Table, TomlText};
use crate::{LinkConfig, Place, SpecError, profiles};

/// A network: a profile, or one that a person described.
#[derive(Clone, Debug, PartialEq)]
pub struct Network {
    /// The profile's or file's name; of a custom network, its settings.
    pub name: String,
    /// Where the numbers come from.
    pub source: String,
    /// From the client to the server.
    pub up: LinkConfig,
    /// From the server to the client.
    pub down: LinkConfig,
    /// What a reader of a result must know: values that the source does not give, and our choices.
    pub notes: Vec<String>,
}

impl Network {
    /// The network that `text` names or describes:
    ///
    /// - a profile: `3g`, `sitespeed:3g`;
    /// - settings: `rtt=100ms,down=10mbit,up=5mbit,loss=1%,queue=64pkt`. `rtt`, `down` and `up` must
    ///   be there. `loss`, `queue` and `mtu` hold for *each* direction (`loss=1%` loses 1 % of the
    ///   packets on their way up and 1 % on their way down); `down.loss`, `up.queue` and so on for
    ///   one. The round-trip time is split in halves, or set as `up.delay` and `down.delay`. Without
    ///   `queue`, 100 packets may wait, and a note says so;
    /// - a file with the same settings, whose name ends in `.toml`;
    /// - a profile or file with changes: `cable,rtt=600ms`. What is not said is the profile's.
    pub fn parse(text: &str) -> Result<Network, SpecError> {
        let text = text.trim();
        if Path::new(text).extension().is_some_and(|extension| extension == "toml") {
            Network::from_file(Path::new(text))
        } else if text.contains('=') {
            Network::from_settings(text)
        } else {
            profiles().get(text).cloned().ok_or_else(|| SpecError::UnknownProfile {
                name: text.to_owned(),
                nearest: profiles().nearest(text),
            })
        }
    }

    /// The network that a TOML text describes; `file_name` stands in messages. Beside the settings
    /// of [`Network::parse`], it may have `name`, `source` and `notes`; those of one direction may
    /// be a table: `[down]` with `rate`, `delay`, `loss`, `queue`, `mtu`.
    pub fn from_toml(file_name: &str, text: &str) -> Result<Network, SpecError> {
        let toml = TomlText::new(file_name, text);
        let table = toml.parse()?;
        Network::from_table(&toml, table, file_name)
    }

    /// Base round-trip time: propagation both ways.
    pub fn rtt(&self) -> Duration {
        self.up.delay + self.down.delay
    }

    /// What is left of a table once its name, source and notes are taken out must be settings.
    pub(crate) fn from_table<'t>(
        toml: &TomlText<'t>,
        mut table: Table<'t>,
        name: &str,
    ) -> Result<Network, SpecError> {
        let name = toml.take_string(&mut table, "name")?.unwrap_or_else(|| name.to_owned());
        let source = toml.take_string(&mut table, "source")?.unwrap_or_else(|| name.clone());
        let mut notes = toml.take_strings(&mut table, "notes")?;
        let links = Spec::from_settings(&toml.settings(&table)?)?.resolve(&name)?;
        notes.extend(links.notes);
        Ok(Network { name, source, up: links.up, down: links.down, notes })
    }

    fn from_file(path: &Path) -> Result<Network, SpecError> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| SpecError::Unreadable { path: path.to_owned(), source })?;
        Network::from_toml(&path.display().to_string(), &text)
    }

    fn from_settings(text: &str) -> Result<Network, SpecError> {
        if let Some((base, changes)) = text.split_once(',')
            && !base.contains('=')
        {
            return Network::parse(base)?.changed(text, changes);
        }
        let settings = text.split(',').map(setting).collect::<Result<Vec<_>, _>>()?;
        let Links { up, down, notes } = Spec::from_settings(&settings)?.resolve("network")?;
        let mut network =
            Network { name: String::new(), source: "as typed".to_owned(), up, down, notes };
        network.name = network.to_string();
        Ok(network)
    }

    /// This network with other settings, under the name `name`. A note that begins with a setting's
    /// name (`queue: not stated; ...`) goes when that setting is replaced.
    fn changed(self, name: &str, changes: &str) -> Result<Network, SpecError> {
        let settings = changes.split(',').map(setting).collect::<Result<Vec<_>, _>>()?;
        let is_kept =
            |note: &String| !settings.iter().any(|s| note.starts_with(&format!("{}:", s.key)));
        let mut notes: Vec<String> = self.notes.iter().filter(|n| is_kept(n)).cloned().collect();
        notes.push(format!("{} changed as typed: {changes}", self.name, changes = changes.trim()));
        let links =
            Spec::from_settings(&settings)?.over(&self.up, &self.down).resolve("network")?;
        let (up, down) = (links.up, links.down);
        Ok(Network { name: name.to_owned(), source: self.source, up, down, notes })
    }
}

fn setting(text: &str) -> Result<Setting, SpecError> {
    let (key, value) = text
        .split_once('=')
        .ok_or_else(|| SpecError::NotASetting { place: Place::Typed, text: text.to_owned() })?;
    let (key, value) = (key.trim().to_owned(), value.trim().to_owned());
    Ok(Setting { place: Place::Typed, key, value })
}

impl fmt::Display for Network {
    /// The links as settings that [`Network::parse`] reads back to the same links. The processing
    /// jitter is not among them: it belongs to the experiment.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (up, down) = (&self.up, &self.down);
        let rtt = self.rtt();
        if up.delay == rtt / 2 {
            write!(f, "rtt={}", Span(rtt))?;
        } else {
            write!(f, "up.delay={},down.delay={}", Span(up.delay), Span(down.delay))?;
        }
        write!(f, ",down={},up={}", Rate(down.rate), Rate(up.rate))?;
        if (up.loss, down.loss) != (0.0, 0.0) {
            pair(f, "loss", Ratio(up.loss), Ratio(down.loss))?;
        }
        pair(f, "queue", up.queue, down.queue)?;
        if (up.mtu, down.mtu) != (DEFAULT_MTU_BYTES, DEFAULT_MTU_BYTES) {
            pair(f, "mtu", up.mtu, down.mtu)?;
        }
        Ok(())
    }
}

/// A setting of both directions, or one of each.
fn pair<T: fmt::Display + PartialEq>(
    f: &mut fmt::Formatter<'_>,
    key: &str,
    up: T,
    down: T,
) -> fmt::Result {
    if up == down {
        write!(f, ",{key}={up}")
    } else {
        write!(f, ",up.{key}={up},down.{key}={down}")
    }
}

/// A duration in the largest unit that states it exactly.
struct Span(Duration);

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_nanos() {
            ns if ns.is_multiple_of(1_000_000) => write!(f, "{}ms", ns / 1_000_000),
            ns if ns.is_multiple_of(1_000) => write!(f, "{}us", ns / 1_000),
            ns => write!(f, "{ns}ns"),
        }
    }
}

/// A rate in the largest unit that states it in whole numbers.
struct Rate(BitsPerSec);

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            BitsPerSec::UNLIMITED => f.write_str("unlimited"),
            BitsPerSec(bits) if bits.is_multiple_of(1_000_000) => {
                write!(f, "{}mbit", bits / 1_000_000)
            }
            BitsPerSec(bits) if bits.is_multiple_of(1_000) => write!(f, "{}kbit", bits / 1_000),
            BitsPerSec(bits) => write!(f, "{bits}bit"),
        }
    }
}

/// A probability in per cent where that reads back to the same number, else as a fraction.
#[derive(PartialEq)]
struct Ratio(f64);

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = format!("{}%", self.0 * 100.0);
        match units::parse::ratio(&percent) {
            Ok(same) if same == self.0 && percent.len() < 8 => f.write_str(&percent),
            _ => write!(f, "{}", self.0),
        }
    }
}

#[cfg(test)]
mod tests;
