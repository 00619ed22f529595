//! Judging a study by the runs that a store holds of its experiments, laboratory by laboratory.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use super::hearing::{Elsewhere, Evidence, HearingError};
use super::measured::{Portion, complete_run};
use super::{Clauses, Concluded, Conclusions, Fault, Judged, Measured, Verdict, judge};
use super::{clauses, conclusions};
use crate::{Depth, Laboratory, Manner, Study};
use scenario::Plan;
use scenario::experiment::Catalogue;
use store::{RunId, Store};

/// A study, and the store that holds the runs of its experiments.
pub(super) struct Inquiry<'a> {
    pub(super) study: &'a Study,
    pub(super) clauses: &'a Clauses,
    pub(super) conclusions: &'a Conclusions,
    pub(super) store: &'a Store,
    pub(super) manner: Manner,
    pub(super) catalogue: &'a dyn Catalogue,
}

/// The plans of a study's experiments, by their names.
pub(super) type Plans = Vec<(String, Plan)>;

impl Inquiry<'_> {
    /// The plans of the experiments in the study's own laboratory, with this many loads if given.
    pub(super) fn plans(&self, loads: Option<NonZeroU32>) -> Result<Plans, HearingError> {
        self.plans_at(loads.map_or(self.manner.depth, Depth::Loads))
    }

    /// The plans there at that depth.
    pub(super) fn plans_at(&self, depth: Depth) -> Result<Plans, HearingError> {
        let manner = Manner { depth, ..self.manner };
        let mut plans = Vec::new();
        for (experiment, source) in self.study.experiments() {
            let (_, plan) = manner.plan(source, self.catalogue)?;
            plans.push((experiment.id.clone(), plan));
        }
        Ok(plans)
    }

    /// The measurements of the study's own laboratory, and the runs behind them.
    pub(super) fn published(
        &self,
        plans: &Plans,
    ) -> Result<(Measured, Vec<Evidence>), HearingError> {
        let mut experiments: Vec<Evidence> =
            self.study.setup.experiments.iter().map(Evidence::without).collect();
        let (measured, runs) = self.runs(Laboratory::AsPublished, plans)?;
        for (id, run) in runs {
            if let Some(evidence) = experiments.iter_mut().find(|evidence| evidence.id == id) {
                evidence.run = Some(self.store.run(run)?);
            }
        }
        Ok((measured, experiments))
    }

    /// The verdicts of all other laboratories in which something was run, or nothing can differ. Those that
    /// were not run in full as often as the study's own are judged by `loads` loads, if given.
    pub(super) fn elsewhere(
        &self,
        published: &Measured,
        own: &Plans,
        judged: &[Judged],
        loads: Option<NonZeroU32>,
    ) -> Result<Vec<Elsewhere>, HearingError> {
        let fewer = self.plans(loads)?;
        let are_fewer = self.digests(&fewer) != self.digests(own);
        let here = verdicts(judged);
        let by_fewer = match loads {
            Some(_) => verdicts(&self.judge(&published.portion(&portions(&fewer), 0))?),
            None => here.clone(),
        };
        let mut all = Vec::new();
        let others = Laboratory::ALL.iter().filter(|it| **it != Laboratory::AsPublished);
        for laboratory in others.copied() {
            let (plans, loads, beside) = match self.known(laboratory, own)? {
                Known::TheSame | Known::Relabelled => (own, None, &here),
                Known::Run if are_fewer => (own, None, &here),
                Known::Run | Known::RunInPart | Known::NoRun => (&fewer, loads, &by_fewer),
            };
            let known = self.known(laboratory, plans)?;
            let verdicts = match known {
                Known::NoRun => continue,
                Known::TheSame => here.clone(),
                Known::Relabelled => {
                    verdicts(&self.judge(&published.clone().with_labels_swapped())?)
                }
                Known::Run | Known::RunInPart => {
                    verdicts(&self.judge(&self.measured(laboratory, plans, published)?)?)
                }
            };
            let is_same = known == Known::TheSame;
            all.push(Elsewhere { laboratory, is_same, loads, verdicts, beside: beside.clone() });
        }
        Ok(all)
    }

    /// The state of a laboratory's runs.
    fn known(&self, laboratory: Laboratory, plans: &Plans) -> Result<Known, HearingError> {
        if laboratory.swaps_labels() {
            return Ok(Known::Relabelled);
        }
        let others: Vec<Plan> = plans
            .iter()
            .filter(|(id, _)| self.is_run_elsewhere(id))
            .map(|(_, published)| (laboratory.plan(published), published))
            .filter(|(plan, published)| plan.cells() != published.cells())
            .map(|(plan, _)| plan)
            .collect();
        let mut run = 0;
        for plan in &others {
            run += usize::from(complete_run(self.store, &plan.digest())?.is_some());
        }
        Ok(match run {
            _ if others.is_empty() => Known::TheSame,
            0 => Known::NoRun,
            _ if run < others.len() => Known::RunInPart,
            _ => Known::Run,
        })
    }

    /// True if other laboratories run the experiment of this name.
    fn is_run_elsewhere(&self, id: &str) -> bool {
        self.study.setup.experiments.iter().any(|it| it.id == id && it.is_run_elsewhere())
    }

    /// The digests of the plans that other laboratories run.
    fn digests(&self, plans: &Plans) -> Vec<String> {
        let run = plans.iter().filter(|(id, _)| self.is_run_elsewhere(id));
        run.map(|(_, plan)| plan.digest()).collect()
    }

    /// The measurements of a laboratory. For an experiment that is the same there and was not run again, they
    /// are those of the study's own laboratory with as many loads.
    pub(super) fn measured(
        &self,
        laboratory: Laboratory,
        plans: &Plans,
        published: &Measured,
    ) -> Result<Measured, HearingError> {
        let (mut there, _) = self.runs(laboratory, plans)?;
        // More loads in the study's own laboratory are not the study's own loads.
        let is_the_same = |(id, plan): &&(String, Plan)| {
            laboratory != Laboratory::AsPublished
                && there.run(id).is_none()
                && laboratory.plan(plan).cells() == plan.cells()
        };
        let same: Plans = plans.iter().filter(is_the_same).cloned().collect();
        there.add_all(published.portion(&portions(&same), 0));
        Ok(there)
    }

    fn runs(
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

    pub(super) fn judge(&self, measured: &Measured) -> Result<Vec<Judged>, HearingError> {
        let Study { claims, files, .. } = self.study;
        judge(claims, self.clauses, measured, files)
            .map_err(|(claim, fault)| self.unreadable(clauses::FILE, claim, fault))
    }

    pub(super) fn conclude(&self, measured: &Measured) -> Result<Vec<Concluded>, HearingError> {
        self.conclusions
            .draw(measured, &self.study.files)
            .map_err(|(conclusion, fault)| self.unreadable(conclusions::FILE, conclusion, fault))
    }

    pub(super) fn unreadable(
        &self,
        file: &'static str,
        entry: String,
        fault: Fault,
    ) -> HearingError {
        HearingError::Clause { study: self.study.name.clone(), file, entry, fault }
    }
}

/// The portion of a longer run that each of these plans would have been.
pub(super) fn portions(plans: &Plans) -> BTreeMap<String, Portion> {
    plans.iter().map(|(id, plan)| (id.clone(), Portion::of(plan))).collect()
}

fn verdicts(judged: &[Judged]) -> Vec<Verdict> {
    judged.iter().map(|it| it.verdict.clone()).collect()
}

/// State of a laboratory's runs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Known {
    /// Nothing in the study can differ.
    TheSame,
    /// The measurements of the study's own laboratory, relabelled.
    Relabelled,
    /// Every experiment that differs there was run.
    Run,
    /// Some of them were.
    RunInPart,
    /// None was.
    NoRun,
}
