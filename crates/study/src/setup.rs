//! What a study did, as experiments of ours, and what was chosen where it does not say.

use serde::Deserialize;

use super::StudyError;
use scenario::choice;

choice! {
    /// What an experiment is to its study.
    pub enum Role, "role" {
        /// The study's own.
        AsPublished = "as-published",
        /// The study's with one thing changed, because a statement or a doubt asks for it.
        Variant = "variant",
        /// With what came after the study: newer protocols, TCP, browsers.
        Afterwards = "afterwards",
        /// Nothing of the study's: it shows why a claim is not confirmed (`causes.toml`).
        Cause = "cause",
    }
    not_yet {}
}

/// The study and its set-up.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setup {
    /// The format of the file.
    pub format: u32,
    /// The document's title.
    pub title: String,
    /// Who wrote it.
    pub authors: String,
    /// When.
    pub year: u32,
    /// What it asks.
    pub question: String,
    /// What it did.
    #[serde(rename = "experiment")]
    pub experiments: Vec<StudyExperiment>,
    /// What it does not say, and what was chosen.
    #[serde(rename = "assumption")]
    pub assumptions: Vec<Assumption>,
}

/// One experiment of a study.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StudyExperiment {
    /// Its name within the study.
    pub id: String,
    /// The experiment file, unless it cannot be written yet.
    pub file: Option<String>,
    /// Where the study describes it.
    pub section: String,
    /// What it measures.
    pub what: String,
    /// What it is to the study.
    pub role: Role,
    /// Features that it needs to be the study's own and that are not there.
    pub waits_for: Vec<String>,
}

impl StudyExperiment {
    /// Whether other laboratories run it: they are for claims, and no claim is about what came after the study.
    pub fn is_run_elsewhere(&self) -> bool {
        self.role != Role::Afterwards
    }
}

/// A value that the study does not state.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Assumption {
    /// Its name within the study.
    pub id: String,
    /// What was chosen.
    pub value: String,
    /// Why.
    pub reason: String,
    /// What could have been chosen as well.
    pub alternatives: Vec<String>,
}

/// The name of the file.
pub(super) const FILE: &str = "study.toml";

/// The file whose experiments show causes; they are no part of the set-up.
pub(crate) const CAUSES: &str = "causes.toml";

/// The experiments of [`CAUSES`], whose other entries are read where claims are judged.
#[derive(Deserialize)]
struct Shows {
    #[serde(default, rename = "experiment")]
    experiments: Vec<StudyExperiment>,
}

/// The set-up of `study`, read from the text of its file, with the experiments that `causes` adds; `has` says whether a file is in the
/// folder.
pub(super) fn read(
    study: &str,
    text: &str,
    causes: Option<&str>,
    has: impl Fn(&str) -> bool,
) -> Result<Setup, StudyError> {
    let mut setup: Setup = super::whole::typed(study, FILE, text)?;
    super::whole::known_format(study, FILE, setup.format)?;
    if let Some(text) = causes {
        let shows: Shows = super::whole::typed(study, CAUSES, text)?;
        setup.experiments.extend(shows.experiments);
    }
    unique(study, setup.experiments.iter().map(|experiment| &experiment.id))?;
    unique(study, setup.assumptions.iter().map(|assumption| &assumption.id))?;
    for experiment in &setup.experiments {
        match &experiment.file {
            Some(file) if !has(file) => {
                return Err(StudyError::Missing {
                    study: study.to_owned(),
                    file: file.clone(),
                    named_by: Some(format!("experiment `{}` of {FILE}", experiment.id)),
                });
            }
            None if experiment.waits_for.is_empty() => {
                let why = "it waits for nothing, so it must have a file";
                return Err(wrong(study, &experiment.id, "file", why));
            }
            _ => {}
        }
    }
    Ok(setup)
}

/// Refuses a name that stands twice.
fn unique<'a>(study: &str, ids: impl Iterator<Item = &'a String>) -> Result<(), StudyError> {
    let mut seen = std::collections::BTreeSet::new();
    for id in ids {
        if !seen.insert(id) {
            return Err(wrong(study, id, "id", "a second entry of this name"));
        }
    }
    Ok(())
}

fn wrong(study: &str, entry: &str, field: &str, why: &str) -> StudyError {
    StudyError::Field {
        study: study.to_owned(),
        file: FILE.to_owned(),
        entry: entry.to_owned(),
        field: field.to_owned(),
        why: why.to_owned(),
    }
}
