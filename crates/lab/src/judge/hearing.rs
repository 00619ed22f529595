//! A study's claims, judged by what a store holds of its experiments.

use std::num::NonZeroU32;

use thiserror::Error;

use super::frame::Sources;
use super::measured::complete_run;
use super::verdict::{judge_clause, of_findings};
use super::{
    Cause, Clauses, Concluded, Conclusions, Fault, Finding, Found, Judged, Measured, Outcome,
    Verdict, judge,
};
use super::{clauses, conclusions};
use crate::experiment::{Catalogue, ExperimentError};
use crate::plan::Plan;
use crate::store::{RunId, RunRow, Store, StoreError};
use crate::study::{CAUSES, Depth, Laboratory, LaboratoryKind, Manner, Study, StudyError};

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

/// Judges `study` by the complete runs that `store` holds of its experiments, run in this manner; and in every other laboratory by so
/// many `loads` of each cell, if that is said.
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
    let elsewhere = inquiry.elsewhere(&measured, &judged, loads)?;
    let concluded = inquiry.conclude(&measured)?;
    let causes: Result<_, HearingError> =
        clauses.causes.iter().map(|cause| inquiry.shown(cause, &measured)).collect();
    let causes = causes?;
    Ok(Hearing { study, experiments, judged, elsewhere, conclusions: concluded, causes })
}

/// A study, and where its experiments have been run.
struct Inquiry<'a> {
    study: &'a Study,
    clauses: &'a Clauses,
    conclusions: &'a Conclusions,
    store: &'a Store,
    manner: Manner,
    catalogue: &'a dyn Catalogue,
}

/// The plans of a study's experiments, by their names.
type Plans = Vec<(String, Plan)>;

impl Inquiry<'_> {
    /// What the experiments come to in the study's own laboratory, with so many loads if that is said.
    fn plans(&self, loads: Option<NonZeroU32>) -> Result<Plans, HearingError> {
        let depth = loads.map_or(self.manner.depth, Depth::Loads);
        let manner = Manner { depth, ..self.manner };
        let mut plans = Vec::new();
        for (experiment, source) in self.study.experiments() {
            let (_, plan) = manner.plan(source, self.catalogue)?;
            plans.push((experiment.id.clone(), plan));
        }
        Ok(plans)
    }

    /// What the study's own laboratory measured, and by which runs.
    fn published(&self, plans: &Plans) -> Result<(Measured, Vec<Evidence>), HearingError> {
        let mut experiments: Vec<Evidence> =
            self.study.setup.experiments.iter().map(Evidence::without).collect();
        let (measured, runs) = self.measured(Laboratory::AsPublished, plans)?;
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
        loads: Option<NonZeroU32>,
    ) -> Result<Vec<Elsewhere>, HearingError> {
        let plans = self.plans(loads)?;
        let here = verdicts(judged);
        let beside = match loads {
            Some(loads) => verdicts(&self.judge(&published.first(loads.get()))?),
            None => here.clone(),
        };
        let mut all = Vec::new();
        let others = Laboratory::ALL.iter().filter(|it| **it != Laboratory::AsPublished);
        for laboratory in others.copied() {
            let by_all = |is_same, verdicts| Elsewhere {
                laboratory,
                is_same,
                loads: None,
                verdicts,
                beside: here.clone(),
            };
            all.push(match self.known(laboratory, &plans)? {
                Known::TheSame => by_all(true, here.clone()),
                Known::NoRun => continue,
                Known::Relabelled => {
                    let swapped = published.clone().with_labels_swapped();
                    by_all(false, verdicts(&self.judge(&swapped)?))
                }
                Known::Run => {
                    let (measured, _) = self.measured(laboratory, &plans)?;
                    let verdicts = verdicts(&self.judge(&measured)?);
                    let beside = beside.clone();
                    Elsewhere { laboratory, is_same: false, loads, verdicts, beside }
                }
            });
        }
        Ok(all)
    }

    /// What there is of a laboratory.
    fn known(&self, laboratory: Laboratory, plans: &Plans) -> Result<Known, HearingError> {
        if laboratory.swaps_labels() {
            return Ok(Known::Relabelled);
        }
        let plans = plans.iter().map(|(_, published)| (laboratory.plan(published), published));
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
        plans: &Plans,
    ) -> Result<(Measured, Vec<(String, RunId)>), HearingError> {
        let mut measured = Measured::new();
        let mut runs = Vec::new();
        for (id, plan) in plans {
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

    /// Whether a run shows a cause; `published` is what the study's own laboratory measured.
    fn shown(&self, cause: &Cause, published: &Measured) -> Result<Shown, HearingError> {
        let there = match cause.is_elsewhere() {
            true => {
                let mut plans = self.plans(cause.loads)?;
                let wanted = self.clauses.experiments_of(cause);
                plans.retain(|(id, _)| wanted.contains(id));
                Some(self.measured(cause.laboratory, &plans)?.0)
            }
            false => None,
        };
        let measured = there.as_ref().unwrap_or(published);
        let (findings, waits_for) = match cause.clauses.is_empty() {
            true => self.come_to(cause, measured)?,
            false => self.findings(cause, measured)?,
        };
        let verdict = match waits_for.is_empty() {
            true => of_findings(&findings),
            false => Verdict::Open(waits_for),
        };
        Ok(Shown { cause: cause.clone(), verdict, findings })
    }

    /// What the clauses of a cause come to, and what is missing for them.
    fn findings(
        &self,
        cause: &Cause,
        measured: &Measured,
    ) -> Result<(Vec<Found>, Vec<String>), HearingError> {
        let sources = Sources { measured, terms: &self.clauses.terms, tables: &self.study.files };
        let (mut findings, mut waits_for) = (Vec::new(), Vec::new());
        for (index, clause) in cause.clauses.iter().enumerate() {
            let name = format!("cause of {}/{index}", cause.of[0]);
            match judge_clause(clause, &name, sources) {
                Ok((finding, _)) => findings.push(Found { clause: clause.to_string(), finding }),
                Err(fault @ Fault::Clause(_)) => {
                    return Err(self.unreadable(CAUSES, name, fault));
                }
                Err(missing) => waits_for.push(missing.to_string()),
            }
        }
        Ok((findings, waits_for))
    }

    /// What the claims of a cause come to where it shows, and what is missing for that.
    fn come_to(
        &self,
        cause: &Cause,
        measured: &Measured,
    ) -> Result<(Vec<Found>, Vec<String>), HearingError> {
        let (mut findings, mut waits_for) = (Vec::new(), Vec::new());
        for judged in self.judge(measured)?.iter().filter(|it| cause.of.contains(&it.id)) {
            if let Verdict::Open(missing) = &judged.verdict {
                waits_for.extend(missing.iter().map(|what| format!("{what}{}", cause.place())));
                continue;
            }
            let name = judged.verdict.name();
            let is_expected = cause.come_to.iter().any(|expected| expected == name);
            let outcome = if is_expected { Outcome::Holds } else { Outcome::Fails };
            let note = Some(format!("it is {name}"));
            let clause = format!("{} there {}", judged.id, cause.come_to.join(" or "));
            findings
                .push(Found { clause, finding: Finding { outcome, figures: Vec::new(), note } });
        }
        waits_for.dedup();
        Ok((findings, waits_for))
    }
}

fn verdicts(judged: &[Judged]) -> Vec<Verdict> {
    judged.iter().map(|it| it.verdict.clone()).collect()
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
