//! Set-up of a study: its experiments in farlink's format, and the choices where the study does not say.

use serde::Deserialize;

use super::StudyError;
use scenario::choice;

choice! {
    /// Role of an experiment in its study.
    pub enum Role, "role" {
        /// The study's own.
        AsPublished = "as-published",
        /// The study's with one change that a statement or a doubt calls for.
        Variant = "variant",
        /// A version with later technology: newer protocols, TCP, browsers.
        Afterwards = "afterwards",
        /// Not the study's: it shows why a claim is not confirmed (`causes.toml`).
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
    /// The authors.
    pub authors: String,
    /// Year of publication.
    pub year: u32,
    /// The research question.
    pub question: String,
    /// Its experiments.
    #[serde(rename = "experiment")]
    pub experiments: Vec<StudyExperiment>,
    /// Choices where the study does not say.
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
    /// Section of the document that describes it.
    pub section: String,
    /// The measurement.
    pub what: String,
    /// Its role in the study.
    pub role: Role,
    /// Missing features without which it is not the study's own.
    pub waits_for: Vec<String>,
}

impl StudyExperiment {
    /// True if other laboratories run it: they serve to test claims, and no claim is about later technology.
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
    /// The chosen value.
    pub value: String,
    /// The reason.
    pub reason: String,
    /// Equally plausible values.
    pub alternatives: Vec<String>,
}

/// The name of the file.
pub(super) const FILE: &str = "study.toml";

/// The file whose experiments show causes; they are no part of the set-up.
pub(crate) const CAUSES: &str = "causes.toml";

/// The experiments of [`CAUSES`]; its other entries are read where claims are judged.
#[derive(Deserialize)]
struct Shows {
    #[serde(default, rename = "experiment")]
    experiments: Vec<StudyExperiment>,
}

/// The set-up of `study`, read from the text of its file, with the experiments of `causes`; `has` returns true
/// if a file is in the folder.
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

/// Refuses duplicate names.
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
