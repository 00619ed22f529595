//! Verdicts on a study's claims, from the runs of its experiments in a store.

use std::num::NonZeroU32;

use thiserror::Error;

use super::inquiry::Inquiry;
use super::{Cause, Chance, Clauses, Concluded, Conclusions, Fault, Found, Judged, Verdict};
use crate::{Laboratory, LaboratoryKind, Manner, Study, StudyError};
use scenario::experiment::{Catalogue, ExperimentError};
use store::{RunRow, Store, StoreError};

/// A study with its verdicts.
#[derive(Clone, Debug, PartialEq)]
pub struct Hearing {
    /// The study.
    pub study: Study,
    /// Its experiments, with the runs that the verdicts rest on.
    pub experiments: Vec<Evidence>,
    /// Its claims, in the order of their file.
    pub judged: Vec<Judged>,
    /// The results of other laboratories, as far as they were run.
    pub elsewhere: Vec<Elsewhere>,
    /// Its conclusions, then and with later technology.
    pub conclusions: Vec<Concluded>,
    /// Causes of unconfirmed claims, with the verdicts on them.
    pub causes: Vec<Shown>,
    /// In a deep run, the frequency of each verdict with as few loads as the study made, in the order of the
    /// claims.
    pub chances: Vec<Chance>,
}

/// A cause, and the verdict on it.
#[derive(Clone, Debug, PartialEq)]
pub struct Shown {
    /// The cause.
    pub cause: Cause,
    /// Confirmed if a run shows it, refuted if not.
    pub verdict: Verdict,
    /// The findings behind the verdict.
    pub findings: Vec<Found>,
}

/// The verdicts in a laboratory other than the study's.
#[derive(Clone, Debug, PartialEq)]
pub struct Elsewhere {
    /// The laboratory.
    pub laboratory: Laboratory,
    /// True if all experiments are the same as in the study's own laboratory, so nothing can differ.
    pub is_same: bool,
    /// Number of loads of each cell, if fewer than in the study's own laboratory.
    pub loads: Option<NonZeroU32>,
    /// Verdicts, claim by claim.
    pub verdicts: Vec<Verdict>,
    /// The verdicts of the study's own laboratory with as many loads.
    pub beside: Vec<Verdict>,
}

/// An experiment of a study, with its run.
#[derive(Clone, Debug, PartialEq)]
pub struct Evidence {
    /// Its name.
    pub id: String,
    /// Its complete run, if there is one.
    pub run: Option<RunRow>,
    /// Missing features.
    pub waits_for: Vec<String>,
}

/// Failed to judge a study.
#[derive(Debug, Error)]
pub enum HearingError {
    /// Its folder is invalid.
    #[error(transparent)]
    Study(#[from] StudyError),
    /// One of its experiments is invalid.
    #[error(transparent)]
    Experiment(#[from] ExperimentError),
    /// The store cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A clause or a comparison cannot be read.
    #[error("{study}/{file}: `{entry}`: {fault}")]
    Clause {
        /// The study.
        study: String,
        /// The file that contains it.
        file: &'static str,
        /// The claim or conclusion that it belongs to.
        entry: String,
        /// The reason.
        fault: Fault,
    },
}

/// Judges `study` by the complete runs of its experiments in `store`, run in this manner. Other laboratories
/// that were not run in full in this manner are judged by their runs with `loads` loads of each cell, if given.
///
/// # Errors
/// A folder or a store that cannot be read.
pub fn hear(
    study: Study,
    store: &Store,
    manner: Manner,
    loads: Option<NonZeroU32>,
    catalogue: &dyn Catalogue,
) -> Result<Hearing, HearingError> {
    let clauses = Clauses::of_study(&study)?;
    let conclusions = Conclusions::of_study(&study)?;
    let inquiry = Inquiry {
        study: &study,
        clauses: &clauses,
        conclusions: &conclusions,
        store,
        manner,
        catalogue,
    };
    let plans = inquiry.plans(None)?;
    let (measured, experiments) = inquiry.published(&plans)?;
    let judged = inquiry.judge(&measured)?;
    let elsewhere = inquiry.elsewhere(&measured, &plans, &judged, loads)?;
    let concluded = inquiry.conclude(&measured)?;
    let mut causes = Vec::new();
    for cause in &clauses.causes {
        causes.extend(inquiry.shown(cause, &measured)?);
    }
    let chances = inquiry.chances(&measured)?;
    let conclusions = concluded;
    Ok(Hearing { study, experiments, judged, elsewhere, conclusions, causes, chances })
}

impl Hearing {
    /// The verdicts of a laboratory, if it was run.
    pub fn in_laboratory(&self, laboratory: Laboratory) -> Option<&Elsewhere> {
        self.elsewhere.iter().find(|there| there.laboratory == laboratory)
    }

    /// The wrong laboratories that confirm a claim, given by index.
    pub fn confirmed_wrongly(&self, claim: usize) -> Vec<Laboratory> {
        let confirms = |there: &Elsewhere| there.verdicts.get(claim) == Some(&Verdict::Confirmed);
        let wrong = Laboratory::of_kind(LaboratoryKind::Wrong);
        wrong.filter(|it| self.in_laboratory(*it).is_some_and(confirms)).collect()
    }

    /// True if all wrong laboratories confirm a claim, so that its confirmation means nothing.
    pub fn is_non_discriminating(&self, claim: usize) -> bool {
        let wrong = Laboratory::of_kind(LaboratoryKind::Wrong).count();
        self.confirmed_wrongly(claim).len() == wrong
    }
}

impl Evidence {
    pub(super) fn without(experiment: &crate::StudyExperiment) -> Evidence {
        let mut waits_for = experiment.waits_for.clone();
        if experiment.file.is_none() && waits_for.is_empty() {
            waits_for.push("its file".to_owned());
        }
        Evidence { id: experiment.id.clone(), run: None, waits_for }
    }
}
