//! The path between client and server: links, a name, the source of the numbers; and its description as typed.

use std::path::Path;
use std::time::Duration;

use units::BitsPerSec;
use units::pairs::{KeyValue, pairs};

use crate::spec::{ResolvedLinks, TypedNetwork, TypedSetting, is_setting};
use crate::toml_text::{TomlTable, TomlText};
use crate::{
    LinkConfig, LossModel, NetworkSpecError, QueueLimit, RadioConfig, Rate, SettingOrigin,
    ValueError, profiles,
};

mod text;

/// A network: a profile, or one described by a user.
#[derive(Clone, Debug, PartialEq)]
pub struct Network {
    /// Name of the profile or file; of a custom network, its settings.
    pub name: String,
    /// Source of the numbers.
    pub source: String,
    /// The hop next to the client, uplink: from the client to the server.
    pub up: LinkConfig,
    /// The same hop, downlink: from the server to the client.
    pub down: LinkConfig,
    /// Farther hops, away from the client: a backhaul, the path to the server.
    pub beyond: Vec<Hop>,
    /// The client's radio, in front of the hop next to it: packets pass it before they enter `up` and `down`.
    pub radio: Option<RadioConfig>,
    /// Caveats for readers of a result: values that the source does not give, and our choices.
    pub notes: Vec<String>,
}

/// A hop of a network beyond the first.
#[derive(Clone, Debug, PartialEq)]
pub struct Hop {
    /// Name of the hop.
    pub name: String,
    /// From the client to the server.
    pub up: LinkConfig,
    /// From the server to the client.
    pub down: LinkConfig,
}

impl Network {
    /// The network that `text` names or describes:
    ///
    /// - a profile: `3g`, `sitespeed:3g`;
    /// - settings: `rtt=100ms,down=10mbit,up=5mbit,loss=1%,queue=64pkt`. `rtt`, `down` and `up` are
    ///   required. `loss`, `queue` and `mtu` hold for *each* direction (`loss=1%` loses 1 % of the
    ///   packets on their way up and 1 % on their way down); `down.loss`, `up.queue` and so on for
    ///   one. The round-trip time is split in halves, or set as `up.delay` and `down.delay`. Without
    ///   `queue`, 100 packets may wait, and a note says so. `hop.1.rtt`, `hop.1.down.rate` and so on
    ///   describe farther hops; settings not given have no effect. `docs/networks.md` has all
    ///   settings;
    /// - a file with the same settings, whose name ends in `.toml`;
    /// - a profile or file with changes: `cable,rtt=600ms`. Everything else is the profile's.
    pub fn parse(text: &str) -> Result<Network, NetworkSpecError> {
        let text = text.trim();
        let described = Description::parse(text)?;
        match described.base() {
            None => Network::from_settings(described.settings),
            Some(base) if described.settings.is_empty() => Network::named(base),
            Some(base) => {
                let changes = text[base.len()..].trim_start().trim_start_matches(',');
                Network::named(base)?.changed(text, changes, described.settings)
            }
        }
    }

    /// Parses a network in TOML; `file_name` appears in messages. Beside the settings of [`Network::parse`], it may
    /// have `name`, `source` and `notes`; those of one direction may be a table: `[down]` with `rate`, `delay`,
    /// `loss`, `queue`, `mtu`.
    pub fn from_toml(file_name: &str, text: &str) -> Result<Network, NetworkSpecError> {
        let toml = TomlText::new(file_name, text);
        let table = toml.parse()?;
        Network::from_table(&toml, table, file_name)
    }

    /// Base round-trip time: propagation both ways, over all hops.
    pub fn rtt(&self) -> Duration {
        self.up_delay() + self.down_delay()
    }

    /// Propagation from the client to the server, over all hops.
    pub fn up_delay(&self) -> Duration {
        self.up_links().map(|link| link.delay).sum()
    }

    /// Propagation from the server to the client, over all hops.
    pub fn down_delay(&self) -> Duration {
        self.down_links().map(|link| link.delay).sum()
    }

    /// Upper bound of the rate from the server to the client in any second.
    pub fn down_peak(&self) -> BitsPerSec {
        self.down_links().map(|link| link.rate.peak()).min().unwrap_or(BitsPerSec::UNLIMITED)
    }

    /// Largest packet that all hops carry from the server to the client.
    pub fn down_mtu(&self) -> u32 {
        self.down_links().map(|link| link.mtu).min().unwrap_or(u32::MAX)
    }

    /// The uplinks, the client's first.
    pub fn up_links(&self) -> impl Iterator<Item = &LinkConfig> {
        std::iter::once(&self.up).chain(self.beyond.iter().map(|hop| &hop.up))
    }

    /// The downlinks, the client's first.
    pub fn down_links(&self) -> impl Iterator<Item = &LinkConfig> {
        std::iter::once(&self.down).chain(self.beyond.iter().map(|hop| &hop.down))
    }

    /// Files that its links were read from: traces and lists of losses, from the client on, each as often as it is
    /// used.
    pub fn files(&self) -> Vec<&str> {
        self.up_links().chain(self.down_links()).flat_map(files_of).collect()
    }

    /// The caveat on the queue: that the source does not state it, or that none was given. `None` if the queue is
    /// part of the network's definition.
    #[cfg(test)]
    pub(crate) fn queue_caveat(&self) -> Option<&str> {
        let is_about_queue =
            |note: &&String| note.starts_with("queue:") || note.starts_with("no queue given");
        self.notes.iter().find(is_about_queue).map(String::as_str)
    }

    /// This network with a queue of `factor` bandwidth-delay products at each direction's bottleneck: its
    /// mean rate times the base round-trip time, in the unit of the queue that was there, at least one full
    /// packet. A direction without a rate limit keeps its queue.
    pub(crate) fn with_queue_bdp(mut self, factor: f64) -> Network {
        let rtt = self.rtt();
        let Network { up, down, beyond, .. } = &mut self;
        let (ups, downs): (Vec<_>, Vec<_>) =
            beyond.iter_mut().map(|hop| (&mut hop.up, &mut hop.down)).unzip();
        for links in [std::iter::once(up).chain(ups), std::iter::once(down).chain(downs)] {
            // The first of several equals is nearest to the client.
            if let Some(bottleneck) = links.min_by_key(|link| link.rate.mean()) {
                set_queue_bdp(bottleneck, rtt, factor);
            }
        }
        self.notes
            .retain(|note| !note.starts_with("queue:") && !note.starts_with("no queue given"));
        self.notes
            .push(format!("queue set to {factor} bandwidth-delay products of the bottleneck"));
        self
    }

    /// This network cut off after its first `hops` hops, counted from the client; at least one.
    #[must_use]
    pub fn up_to(&self, hops: usize) -> Network {
        let mut near = self.clone();
        near.beyond.truncate(hops.saturating_sub(1));
        near
    }

    /// The links without the client's radio and its effects on the link next to it.
    pub fn without_radio(mut self) -> Network {
        self.radio = None;
        (self.up.harq, self.down.harq) = (None, None);
        self
    }

    fn with_queue(self, bdp: Option<f64>) -> Network {
        match bdp {
            Some(factor) => self.with_queue_bdp(factor),
            None => self,
        }
    }

    /// Builds a network from a table; apart from its name, source and notes, everything must be a setting.
    pub(crate) fn from_table<'t>(
        toml: &TomlText<'t>,
        mut table: TomlTable<'t>,
        name: &str,
    ) -> Result<Network, NetworkSpecError> {
        let name = toml.take_string(&mut table, "name")?.unwrap_or_else(|| name.to_owned());
        let source = toml.take_string(&mut table, "source")?.unwrap_or_else(|| name.clone());
        let mut notes = toml.take_strings(&mut table, "notes")?;
        let mut settings = toml.settings(&table)?;
        let factor = take_bdp(&mut settings)?;
        let links = TypedNetwork::from_settings(&settings)?.resolve(&name)?;
        notes.extend(links.notes.iter().cloned());
        let ResolvedLinks { up, down, beyond, radio, .. } = links;
        Ok(Network { name, source, up, down, beyond, radio, notes }.with_queue(factor))
    }

    fn from_file(path: &Path) -> Result<Network, NetworkSpecError> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| NetworkSpecError::Unreadable { path: path.to_owned(), source })?;
        Network::from_toml(&path.display().to_string(), &text)
    }

    fn from_settings(mut settings: Vec<TypedSetting>) -> Result<Network, NetworkSpecError> {
        let factor = take_bdp(&mut settings)?;
        let links = TypedNetwork::from_settings(&settings)?.resolve("network")?;
        let ResolvedLinks { up, down, beyond, radio, notes } = links;
        let (name, source) = (String::new(), "as typed".to_owned());
        let network = Network { name, source, up, down, beyond, radio, notes };
        let mut network = network.with_queue(factor);
        network.name = network.to_string();
        Ok(network)
    }

    /// A profile, or the network of a file.
    fn named(name: &str) -> Result<Network, NetworkSpecError> {
        if Path::new(name).extension().is_some_and(|extension| extension == "toml") {
            return Network::from_file(Path::new(name));
        }
        profiles().get(name).cloned().ok_or_else(|| NetworkSpecError::UnknownProfile {
            name: name.to_owned(),
            nearest: profiles().nearest(name),
        })
    }

    /// This network with other settings, under the name `name`. A note that begins with a setting's name
    /// (`queue: not stated; ...`) is dropped when that setting is replaced.
    fn changed(
        self,
        name: &str,
        changes: &str,
        mut settings: Vec<TypedSetting>,
    ) -> Result<Network, NetworkSpecError> {
        let factor = take_bdp(&mut settings)?;
        let is_kept =
            |note: &String| !settings.iter().any(|s| note.starts_with(&format!("{}:", s.key)));
        let mut notes: Vec<String> = self.notes.iter().filter(|n| is_kept(n)).cloned().collect();
        notes.push(format!("{} changed as typed: {changes}", self.name, changes = changes.trim()));
        let spec = TypedNetwork::from_settings(&settings)?.over(&self)?;
        let ResolvedLinks { up, down, beyond, radio, notes: assumed } = spec.resolve("network")?;
        let is_new = |note: &String| !notes.contains(note);
        let assumed: Vec<String> = assumed.into_iter().filter(is_new).collect();
        notes.extend(assumed);
        let (name, source) = (name.to_owned(), self.source);
        Ok(Network { name, source, up, down, beyond, radio, notes }.with_queue(factor))
    }
}

/// Files that a link was read from.
fn files_of(link: &LinkConfig) -> impl Iterator<Item = &str> {
    let trace = match &link.rate {
        Rate::Trace(trace) => Some(trace.origin()),
        Rate::Constant(_) => None,
    };
    let losses = match &link.loss {
        LossModel::Listed(list) => Some(list.origin()),
        LossModel::Random(_) | LossModel::GilbertElliott(_) | LossModel::TimedGilbertElliott(_) => {
            None
        }
    };
    trace.into_iter().chain(losses)
}

/// Sets the queue of `link` to `factor` times its rate times `rtt`.
fn set_queue_bdp(link: &mut LinkConfig, rtt: Duration, factor: f64) {
    let rate = link.rate.mean();
    if rate == BitsPerSec::UNLIMITED {
        return;
    }
    let mtu = f64::from(link.mtu);
    let bytes = (factor * rate.0 as f64 / 8.0 * rtt.as_nanos() as f64 / 1e9).max(mtu);
    link.queue = match link.queue {
        QueueLimit::Bytes(_) => QueueLimit::Bytes(bytes.round() as u64),
        _ => QueueLimit::Packets((bytes / mtu).round() as u32),
    };
}

// Network as typed: `cable`, `rtt=100ms,down=10mbit,up=5mbit`, or `cable,rtt=600ms`.
//
// All programs parse networks here, so that they accept and refuse input in the same words.

/// A base and settings, all parseable and none set twice. They may still not make a valid network.
#[derive(Debug)]
pub struct Description {
    base: Option<String>,
    pub(crate) settings: Vec<TypedSetting>,
}

/// A queue as typed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum QueueSetting {
    /// A limit.
    Limit(QueueLimit),
    /// A multiple of the bottleneck's bandwidth-delay product.
    Bdp(f64),
}

impl Description {
    /// Parses the name of a profile or file, settings, or a name with settings that override its own.
    pub fn parse(text: &str) -> Result<Description, NetworkSpecError> {
        let text = text.trim();
        let is_file = |name: &str| name.ends_with(".toml");
        let first = text.split(',').next().unwrap_or_default().trim();
        let is_base = match first.split_once('=') {
            Some((key, _)) => is_file(first) && !is_setting(key.trim()),
            None => !first.is_empty(),
        };
        let typed = if is_base { text[first.len()..].trim_start_matches(',') } else { text };
        let twice = |twice: units::pairs::DuplicateKeyError| NetworkSpecError::Twice {
            place: SettingOrigin::Typed,
            key: twice.key,
        };
        let settings = pairs(typed).map_err(twice)?.into_iter().map(setting);
        let settings = settings.collect::<Result<Vec<_>, _>>()?;
        if !is_base && settings.is_empty() {
            return Err(NetworkSpecError::NotASetting {
                place: SettingOrigin::Typed,
                text: text.to_owned(),
            });
        }
        check(&settings)?;
        Ok(Description { base: is_base.then(|| first.to_owned()), settings })
    }

    /// Parses the value of one setting.
    pub fn of_setting(key: &str, value: &str) -> Result<Description, NetworkSpecError> {
        let (key, value) = (key.trim().to_owned(), value.trim().to_owned());
        let settings = vec![TypedSetting { place: SettingOrigin::Typed, key, value }];
        check(&settings)?;
        Ok(Description { base: None, settings })
    }

    /// Name of the profile or file.
    pub fn base(&self) -> Option<&str> {
        self.base.as_deref()
    }

    /// Keys and values, as typed.
    pub fn settings(&self) -> impl Iterator<Item = (&str, &str)> {
        self.settings.iter().map(|setting| (setting.key.as_str(), setting.value.as_str()))
    }
}

impl QueueSetting {
    /// Parses `64pkt`, `64KB`, `unlimited` or `2bdp`.
    pub fn parse(text: &str) -> Result<QueueSetting, ValueError> {
        match text.trim().to_ascii_lowercase().strip_suffix("bdp") {
            Some(number) => {
                let factor = number.trim().parse().ok();
                let expected =
                    "a number of bandwidth-delay products from 0.001 to 1000: write `2bdp`";
                factor
                    .filter(|factor| (0.001..=1000.0).contains(factor))
                    .map(QueueSetting::Bdp)
                    .ok_or_else(|| ValueError::Form { text: text.to_owned(), expected })
            }
            None => crate::spec::queue(text).map(QueueSetting::Limit),
        }
    }
}

fn setting(KeyValue { key, value }: KeyValue<'_>) -> Result<TypedSetting, NetworkSpecError> {
    match value {
        Some(value) => Ok(TypedSetting {
            place: SettingOrigin::Typed,
            key: key.to_owned(),
            value: value.to_owned(),
        }),
        None => {
            Err(NetworkSpecError::NotASetting { place: SettingOrigin::Typed, text: key.to_owned() })
        }
    }
}

/// Checks that every value can be parsed. Files are not opened.
fn check(settings: &[TypedSetting]) -> Result<(), NetworkSpecError> {
    let is_file = |setting: &&TypedSetting| setting.key.ends_with("loss_file");
    let mut others: Vec<TypedSetting> = settings.iter().filter(|s| !is_file(s)).cloned().collect();
    take_bdp(&mut others)?;
    TypedNetwork::from_settings(&others)?.check_rates()
}

/// Removes `queue=2bdp` from the settings, as it depends on all the others.
pub(crate) fn take_bdp(settings: &mut Vec<TypedSetting>) -> Result<Option<f64>, NetworkSpecError> {
    let is_bdp = |setting: &TypedSetting| {
        setting.key == "queue" && setting.value.to_ascii_lowercase().ends_with("bdp")
    };
    let Some(index) = settings.iter().position(is_bdp) else { return Ok(None) };
    let TypedSetting { place, key, value } = settings.remove(index);
    if settings.iter().any(|setting| setting.key == key) {
        return Err(NetworkSpecError::Twice { place, key });
    }
    match QueueSetting::parse(&value) {
        Ok(QueueSetting::Bdp(factor)) => Ok(Some(factor)),
        Ok(QueueSetting::Limit(_)) => Ok(None),
        Err(reason) => Err(NetworkSpecError::BadValue { place, key, reason: Box::new(reason) }),
    }
}

#[cfg(test)]
mod tests;
