//! SetupChanges to a study's set-up after its claims were first judged.
//!
//! A set-up is written before any claim can be evaluated. Later changes could have been made for the sake of
//! the verdicts, so each is listed in `changes.toml` with its reason and the verdicts that it moved. The list
//! begins with the hash of the set-up that was judged first and must lead to the hash of the current one: an
//! unlisted change is refused.

use serde::Deserialize;

use super::{Study, StudyError};

/// The file of the list.
const FILE: &str = "changes.toml";

/// Number of hexadecimal digits that identify a set-up.
pub const DIGITS: usize = 16;

/// The history of a study's set-up, from the one that was judged first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SetupChanges {
    /// The hash of the set-up that was judged first, by its first digits.
    pub first: String,
    /// The changes since, oldest first.
    pub changes: Vec<SetupChange>,
    /// True if they lead to the current set-up.
    pub are_complete: bool,
}

/// One change.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetupChange {
    /// The hash of the set-up after it.
    pub to: String,
    /// Description of the change.
    pub what: String,
    /// The reason.
    pub reason: String,
    /// The verdicts that it changed.
    #[serde(default)]
    pub moved: Vec<MovedVerdicts>,
}

/// Claims whose verdict changed in the same way.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MovedVerdicts {
    /// The verdict before.
    pub from: String,
    /// The verdict after.
    pub to: String,
    /// The claims.
    pub claims: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawChanges {
    format: u32,
    first: String,
    #[serde(default, rename = "change")]
    changes: Vec<SetupChange>,
}

impl SetupChanges {
    /// The list of `study`; a study without one still has its first set-up.
    pub(super) fn of(study: &Study) -> Result<SetupChanges, StudyError> {
        let hash = study.setup_digest()[..DIGITS].to_owned();
        if !study.files.contains_key(FILE) {
            return Ok(SetupChanges { first: hash, changes: Vec::new(), are_complete: true });
        }
        let raw: RawChanges = study.parsed(FILE, |raw: &RawChanges| raw.format)?;
        for change in &raw.changes {
            let mut moved = change.moved.iter().flat_map(|moved| &moved.claims);
            if let Some(other) = moved.find(|id| !study.has_claim(id)) {
                let why = format!("claims.toml has no claim `{other}`");
                return Err(study.wrong(FILE, &change.to, "moved", why));
            }
        }
        let are_complete = *raw.changes.last().map_or(&raw.first, |change| &change.to) == hash;
        Ok(SetupChanges { first: raw.first, changes: raw.changes, are_complete })
    }
}

#[cfg(test)]
mod tests {
    use crate::{NAMES, shipped};

    #[test]
    fn every_change_of_a_set_up_is_listed() {
        for name in NAMES {
            let study = shipped(name).unwrap_or_else(|error| panic!("{error}"));
            let hash = &study.setup_digest()[..super::DIGITS];
            assert!(study.changes.are_complete, "{name}: changes.toml does not lead to {hash}");
            assert!(study.changes.changes.iter().all(|it| !it.reason.is_empty()), "{name}");
        }
    }

    #[test]
    fn a_list_is_held_against_the_set_up() {
        let study = shipped("bth2013").unwrap();
        let read = |changes: &str| {
            let mut files: Vec<(&str, &str)> =
                study.files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
            files.retain(|(name, _)| *name != "changes.toml");
            files.push(("changes.toml", changes));
            crate::Study::read("bth2013", &files)
        };
        let stale = read("format = 1\nfirst = \"0123456789abcdef\"\n").unwrap();
        assert!(!stale.changes.are_complete);
        let hash = &study.setup_digest()[..super::DIGITS];
        let other = read(&format!(
            "format = 1\nfirst = \"0123456789abcdef\"\n[[change]]\nto = \"{hash}\"\nwhat = \"w\"\nreason = \"r\"\n\
             moved = [{{ from = \"open\", to = \"refuted\", claims = [\"none\"] }}]\n"
        ));
        let other = other.unwrap_err().to_string();
        assert!(other.contains("moved: claims.toml has no claim `none`"), "{other}");
    }
}
