//! A study's claims, judged by what a store holds of its experiments.

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
    /// What other laboratories, as far as they were run, say of them.
    pub elsewhere: Vec<Elsewhere>,
    /// What it concluded, then and with what came after.
    pub conclusions: Vec<Concluded>,
    /// Why claims are not confirmed, as far as that is shown.
    pub causes: Vec<Shown>,
    /// Of a deep run: how often so few loads as the study made would have given which verdict, in the order of the claims.
    pub chances: Vec<Chance>,
}

/// A cause, and whether a run shows it.
#[derive(Clone, Debug, PartialEq)]
pub struct Shown {
    /// The cause.
    pub cause: Cause,
    /// Confirmed if it is shown, refuted if it is not.
    pub verdict: Verdict,
    /// What was looked at.
    pub findings: Vec<Found>,
}

/// The verdicts of a laboratory that is not the study's.
#[derive(Clone, Debug, PartialEq)]
pub struct Elsewhere {
    /// Which.
    pub laboratory: Laboratory,
    /// Whether all experiments are the study's own there: nothing of it can be otherwise.
    pub is_same: bool,
    /// With how many loads of each cell, if with fewer than the study's own laboratory.
    pub loads: Option<NonZeroU32>,
    /// Claim by claim.
    pub verdicts: Vec<Verdict>,
    /// What the study's own laboratory says by as many loads.
    pub beside: Vec<Verdict>,
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
    /// A clause or a comparison cannot be read.
    #[error("{study}/{file}: `{entry}`: {fault}")]
    Clause {
        /// Which study.
        study: String,
        /// The file that it stands in.
        file: &'static str,
        /// The claim or conclusion that it is of.
        entry: String,
        /// Why.
        fault: Fault,
    },
}

/// Judges `study` by the complete runs that `store` holds of its experiments, run in this manner; and in every other laboratory that was
/// not run whole in this manner by so many `loads` of each cell, if that is said.
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

    /// The wrong laboratories that confirm a claim, by its place.
    pub fn confirmed_wrongly(&self, claim: usize) -> Vec<Laboratory> {
        let confirms = |there: &Elsewhere| there.verdicts.get(claim) == Some(&Verdict::Confirmed);
        let wrong = Laboratory::of_kind(LaboratoryKind::Wrong);
        wrong.filter(|it| self.in_laboratory(*it).is_some_and(confirms)).collect()
    }

    /// Whether all wrong laboratories confirm a claim, so that to confirm it says nothing.
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
