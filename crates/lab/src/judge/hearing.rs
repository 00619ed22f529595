//! A study's claims, judged by what a store holds of its experiments.

use thiserror::Error;

use super::measured::complete_run;
use super::{Clauses, Fault, Judged, Measured, judge};
use crate::experiment::{Catalogue, ExperimentError, resolve};
use crate::store::{RunRow, Store, StoreError};
use crate::study::{Manner, Study, StudyError};

/// A study with its verdicts.
#[derive(Clone, Debug, PartialEq)]
pub struct Hearing {
    /// The study.
    pub study: Study,
    /// Its experiments, with the runs that the verdicts rest on.
    pub experiments: Vec<Evidence>,
    /// Its claims, in the order of their file.
    pub judged: Vec<Judged>,
}

/// An experiment of a study, and what there is of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Evidence {
    /// Its name.
    pub id: String,
    /// Its complete run, if there is one.
    pub run: Option<RunRow>,
    /// What it waits for.
    pub waits_for: Vec<String>,
}

/// Failed to judge a study.
#[derive(Debug, Error)]
pub enum HearingError {
    /// Its folder is not right.
    #[error(transparent)]
    Study(#[from] StudyError),
    /// One of its experiments is not.
    #[error(transparent)]
    Experiment(#[from] ExperimentError),
    /// The store cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A clause cannot be read.
    #[error("{study}/clauses.toml: `{claim}`: {fault}")]
    Clause {
        /// Which study.
        study: String,
        /// The claim whose clause it is.
        claim: String,
        /// Why.
        fault: Fault,
    },
}

/// Judges `study` by the complete runs that `store` holds of its experiments, run in this manner.
///
/// # Errors
/// A folder or a store that cannot be read.
pub fn hear(
    study: Study,
    store: &Store,
    manner: Manner,
    catalogue: &dyn Catalogue,
) -> Result<Hearing, HearingError> {
    let clauses = Clauses::of_study(&study)?;
    let mut measured = Measured::new();
    let mut experiments: Vec<Evidence> =
        study.setup.experiments.iter().map(Evidence::without).collect();
    for (experiment, mut source) in study.experiments() {
        manner.apply(&mut source)?;
        let plan = resolve(&source, catalogue)?;
        let Some(run) = complete_run(store, &plan.digest())? else { continue };
        measured.gather(store, run, &experiment.id, &clauses.quantities(&experiment.id))?;
        let evidence = experiments.iter_mut().find(|evidence| evidence.id == experiment.id);
        if let Some(evidence) = evidence {
            evidence.run = Some(store.run(run)?);
        }
    }
    let judged = judge(&study.claims, &clauses, &measured, &study.files);
    let judged = judged.map_err(|(claim, fault)| HearingError::Clause {
        study: study.name.clone(),
        claim,
        fault,
    })?;
    Ok(Hearing { study, experiments, judged })
}

impl Evidence {
    fn without(experiment: &crate::study::StudyExperiment) -> Evidence {
        let mut waits_for = experiment.waits_for.clone();
        if experiment.file.is_none() && waits_for.is_empty() {
            waits_for.push("its file".to_owned());
        }
        Evidence { id: experiment.id.clone(), run: None, waits_for }
    }
}
