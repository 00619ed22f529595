//! A study's claims, judged by what a store holds of its experiments.

use thiserror::Error;

use super::measured::complete_run;
use super::{Clauses, Concluded, Conclusions, Fault, Judged, Measured, Verdict, judge};
use super::{clauses, conclusions};
use crate::experiment::{Catalogue, ExperimentError};
use crate::plan::Plan;
use crate::store::{RunId, RunRow, Store, StoreError};
use crate::study::{Laboratory, LaboratoryKind, Manner, Study, StudyError};

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
}

/// The verdicts of a laboratory that is not the study's.
#[derive(Clone, Debug, PartialEq)]
pub struct Elsewhere {
    /// Which.
    pub laboratory: Laboratory,
    /// Whether all experiments are the study's own there: nothing of it can be otherwise.
    pub is_same: bool,
    /// Claim by claim.
    pub verdicts: Vec<Verdict>,
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

/// Judges `study` by the complete runs that `store` holds of its experiments, run in this manner, in every laboratory.
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
    let conclusions = Conclusions::of_study(&study)?;
    let mut plans = Vec::new();
    for (experiment, source) in study.experiments() {
        let (_, plan) = manner.plan(source, catalogue)?;
        plans.push((experiment.id.clone(), plan));
    }
    let inquiry = Inquiry {
        study: &study,
        clauses: &clauses,
        conclusions: &conclusions,
        plans: &plans,
        store,
    };
    let (measured, experiments) = inquiry.published()?;
    let judged = inquiry.judge(&measured)?;
    let elsewhere = inquiry.elsewhere(&measured, &judged)?;
    let conclusions = inquiry.conclude(&measured)?;
    Ok(Hearing { study, experiments, judged, elsewhere, conclusions })
}

/// A study with the plans of its experiments, and where they have been run.
struct Inquiry<'a> {
    study: &'a Study,
    clauses: &'a Clauses,
    conclusions: &'a Conclusions,
    plans: &'a [(String, Plan)],
    store: &'a Store,
}

impl Inquiry<'_> {
    /// What the study's own laboratory measured, and by which runs.
    fn published(&self) -> Result<(Measured, Vec<Evidence>), HearingError> {
        let mut experiments: Vec<Evidence> =
            self.study.setup.experiments.iter().map(Evidence::without).collect();
        let (measured, runs) = self.measured(Laboratory::AsPublished)?;
        for (id, run) in runs {
            if let Some(evidence) = experiments.iter_mut().find(|evidence| evidence.id == id) {
                evidence.run = Some(self.store.run(run)?);
            }
        }
        Ok((measured, experiments))
    }

    /// The verdicts of all other laboratories in which something was run, or nothing can be otherwise.
    fn elsewhere(
        &self,
        published: &Measured,
        judged: &[Judged],
    ) -> Result<Vec<Elsewhere>, HearingError> {
        let verdicts = |judged: &[Judged]| judged.iter().map(|it| it.verdict.clone()).collect();
        let mut all = Vec::new();
        let others = Laboratory::ALL.iter().filter(|it| **it != Laboratory::AsPublished);
        for laboratory in others.copied() {
            let (is_same, verdicts) = match self.known(laboratory)? {
                Known::TheSame => (true, verdicts(judged)),
                Known::NoRun => continue,
                Known::Relabelled => {
                    let swapped = published.clone().with_labels_swapped();
                    (false, verdicts(&self.judge(&swapped)?))
                }
                Known::Run => {
                    let (measured, _) = self.measured(laboratory)?;
                    (false, verdicts(&self.judge(&measured)?))
                }
            };
            all.push(Elsewhere { laboratory, is_same, verdicts });
        }
        Ok(all)
    }

    /// What there is of a laboratory.
    fn known(&self, laboratory: Laboratory) -> Result<Known, HearingError> {
        if laboratory.swaps_labels() {
            return Ok(Known::Relabelled);
        }
        let plans = self.plans.iter().map(|(_, published)| (laboratory.plan(published), published));
        let others: Vec<Plan> = plans
            .filter(|(plan, published)| plan.cells() != published.cells())
            .map(|(plan, _)| plan)
            .collect();
        for plan in &others {
            if complete_run(self.store, &plan.digest())?.is_some() {
                return Ok(Known::Run);
            }
        }
        Ok(if others.is_empty() { Known::TheSame } else { Known::NoRun })
    }

    fn measured(
        &self,
        laboratory: Laboratory,
    ) -> Result<(Measured, Vec<(String, RunId)>), HearingError> {
        let mut measured = Measured::new();
        let mut runs = Vec::new();
        for (id, plan) in self.plans {
            let digest = laboratory.plan(plan).digest();
            let Some(run) = complete_run(self.store, &digest)? else { continue };
            let mut quantities = self.clauses.quantities(id);
            quantities.extend(self.conclusions.quantities(id));
            measured.gather(self.store, run, id, &quantities, plan.cells())?;
            runs.push((id.clone(), run));
        }
        Ok((measured, runs))
    }

    fn judge(&self, measured: &Measured) -> Result<Vec<Judged>, HearingError> {
        let Study { claims, files, .. } = self.study;
        judge(claims, self.clauses, measured, files)
            .map_err(|(claim, fault)| self.unreadable(clauses::FILE, claim, fault))
    }

    fn conclude(&self, measured: &Measured) -> Result<Vec<Concluded>, HearingError> {
        self.conclusions
            .draw(measured, &self.study.files)
            .map_err(|(conclusion, fault)| self.unreadable(conclusions::FILE, conclusion, fault))
    }

    fn unreadable(&self, file: &'static str, entry: String, fault: Fault) -> HearingError {
        HearingError::Clause { study: self.study.name.clone(), file, entry, fault }
    }
}

/// What there is of a laboratory.
enum Known {
    /// Nothing in the study can be otherwise.
    TheSame,
    /// What the study's own measured, by other names.
    Relabelled,
    /// A run of an experiment that is another one there.
    Run,
    /// No such run.
    NoRun,
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
    fn without(experiment: &crate::study::StudyExperiment) -> Evidence {
        let mut waits_for = experiment.waits_for.clone();
        if experiment.file.is_none() && waits_for.is_empty() {
            waits_for.push("its file".to_owned());
        }
        Evidence { id: experiment.id.clone(), run: None, waits_for }
    }
}
