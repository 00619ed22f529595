//! Named networks, read from `data/profiles.toml`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use toml::de::DeValue;

use crate::error::nearest;
use crate::toml_text::{TomlTable, TomlText};
use crate::{Network, NetworkSpecError};

const FILE: &str = "profiles.toml";
const TEXT: &str = include_str!("../data/profiles.toml");

/// The built-in profiles, in the order of the data file.
pub fn profiles() -> &'static Profiles {
    static PROFILES: LazyLock<Profiles> = LazyLock::new(|| match Profiles::read() {
        Ok(profiles) => profiles,
        Err(error) => panic!("farlink's own table of networks is broken: {error}"),
    });
    &PROFILES
}

/// A table of named networks, with aliases for some of them.
pub struct Profiles {
    networks: Vec<Network>,
    aliases: BTreeMap<String, String>,
}

/// Commonly requested networks without a profile, with the closest profile.
const RELATED: [(&str, &str); 4] =
    [("5g", "lte"), ("nr", "lte"), ("wifi", "cable"), ("fibre", "fios")];

impl Profiles {
    /// All profiles.
    pub fn iter(&self) -> impl Iterator<Item = &Network> {
        self.networks.iter()
    }

    /// Aliases, each with the profile that it stands for.
    pub fn aliases(&self) -> impl Iterator<Item = (&str, &str)> {
        self.aliases.iter().map(|(alias, name)| (alias.as_str(), name.as_str()))
    }

    /// The profile with the name or alias `name`, ignoring case.
    pub fn get(&self, name: &str) -> Option<&Network> {
        let name = name.to_ascii_lowercase();
        let name = self.aliases.get(&name).unwrap_or(&name);
        self.networks.iter().find(|network| network.name == *name)
    }

    /// The known name closest to `name`.
    pub fn nearest(&self, name: &str) -> Option<String> {
        let related = RELATED.iter().find(|(other, _)| other.eq_ignore_ascii_case(name));
        if let Some((_, profile)) = related {
            return Some((*profile).to_owned());
        }
        let names = self.networks.iter().map(|network| network.name.as_str());
        nearest(name, names.chain(self.aliases.keys().map(String::as_str)))
    }

    /// Parses the file, a list of collections, each with a source and notes for all its profiles.
    fn read() -> Result<Profiles, NetworkSpecError> {
        let toml = TomlText::new(FILE, TEXT);
        let mut file = toml.parse()?;
        let mut networks = Vec::new();
        for collection in tables_of(file.remove("collection").map(|value| value.into_inner())) {
            networks.extend(read_collection(&toml, collection)?);
        }
        let aliases = toml
            .settings(&file)?
            .into_iter()
            .filter_map(|alias| Some((alias.key.strip_prefix("alias.")?.to_owned(), alias.value)))
            .collect();
        Ok(Profiles { networks, aliases })
    }
}

fn read_collection<'t>(
    toml: &TomlText<'t>,
    mut collection: TomlTable<'t>,
) -> Result<Vec<Network>, NetworkSpecError> {
    let source = toml.take_string(&mut collection, "source")?;
    let notes = toml.take_strings(&mut collection, "notes")?;
    let mut networks = Vec::new();
    for (name, profile) in collection {
        let DeValue::Table(mut profile) = profile.into_inner() else { continue };
        let own_source = toml.take_string(&mut profile, "source")?;
        let mut network = Network::from_table(toml, profile, name.get_ref())?;
        let sources: Vec<_> = source.iter().chain(&own_source).map(String::as_str).collect();
        network.source = sources.join(": ");
        network.notes.extend(notes.iter().cloned());
        networks.push(network);
    }
    Ok(networks)
}

fn tables_of(list: Option<DeValue<'_>>) -> Vec<TomlTable<'_>> {
    let Some(DeValue::Array(items)) = list else { return Vec::new() };
    items
        .into_iter()
        .filter_map(|item| match item.into_inner() {
            DeValue::Table(table) => Some(table),
            _ => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::QueueLimit;

    #[test]
    fn every_profile_is_complete_and_states_its_source() {
        let mut names = Vec::new();
        for network in profiles().iter() {
            assert!(!network.source.is_empty(), "{} states no source", network.name);
            assert!(
                !network.notes.iter().any(|note| note.starts_with("no queue given")),
                "{} states no queue",
                network.name
            );
            // No source states a queue; the last profile has none to state.
            let is_caveat_missing = network.queue_caveat().is_none();
            assert_eq!(is_caveat_missing, network.name == "loopback", "{}", network.name);
            let again = Network::parse(&network.to_string()).expect("its settings parse");
            assert_eq!((&again.up, &again.down), (&network.up, &network.down));
            assert_eq!((&again.beyond, &again.radio), (&network.beyond, &network.radio));
            names.push(network.name.clone());
        }
        assert!(names.len() > 35, "only {} profiles were read", names.len());
        for (alias, name) in profiles().aliases() {
            assert!(names.iter().any(|n| n == name), "{alias} means {name}, which does not exist");
            names.push(alias.to_owned());
        }
        let count = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), count, "a name is used twice");
        assert!(names.iter().all(|name| *name == name.to_ascii_lowercase()));
    }

    /// sitespeed.io took WebPageTest's round-trip times for twice their value.
    #[test]
    fn sitespeeds_round_trips_are_half_of_webpagetests() {
        let pairs = [
            "2g", "3g", "3g-fast", "3g-em", "3g-slow", "4g", "lte", "edge", "dial", "dsl", "cable",
            "fios",
        ];
        for name in pairs {
            let theirs = profiles().get(&format!("sitespeed:{name}")).expect("listed");
            let original = profiles().get(name).expect("listed");
            assert_eq!(theirs.rtt() * 2, original.rtt(), "{name}");
            assert_eq!(theirs.down.rate, original.down.rate, "{name}");
            assert_eq!(theirs.up.rate, original.up.rate, "{name}");
        }
    }

    #[test]
    fn the_lossy_study_link_is_as_its_scripts_set_it() {
        let network = profiles().get("BTH2013").expect("listed, in any case");
        assert_eq!(
            network.to_string(),
            "rtt=150ms,down=10150kbit,up=5075kbit,loss=1.5%,queue=50pkt"
        );
        assert_eq!(network.down.queue, QueueLimit::Packets(50));
    }

    /// PRB 4, 17 and 25 of the study's cell, whose S1 link is a hop of its own.
    #[test]
    fn the_studys_cell_has_the_tables_rates_and_a_named_s1() {
        for (name, mbit, s1) in [
            ("kallio2016-cell-4prb", 4.816, 1000),
            ("kallio2016-cell-17prb", 20.592, 1000),
            ("kallio2016-cell-25prb", 30.528, 1000),
            ("kallio2016-cell-s1-10mbit", 30.528, 10),
        ] {
            let network = profiles().get(name).expect("listed");
            assert_eq!(network.down.rate.mean().0 as f64 / 1e6, mbit, "{name}");
            assert_eq!(network.up.rate.mean().0, 8_504_000, "{name}");
            let [hop] = network.beyond.as_slice() else { panic!("{name} has one farther hop") };
            assert_eq!((hop.name.as_str(), hop.down.rate.mean().0), ("s1", s1 * 1_000_000));
        }
    }
}
