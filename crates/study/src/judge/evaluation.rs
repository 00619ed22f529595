//! Evaluation of a study by the runs of its experiments in a store.
//!
//! The same clauses are judged on several sets of cells: the study's own runs, [variants](Variant) of them in other
//! laboratories or with other numbers of loads, and portions of a deep run.

use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZeroU32;

use thiserror::Error;

use super::measurements::{Portion, complete_run};
use super::pointwise::pointwise;
use super::verdict::judge_clause;
use super::{
    Cause, Ceiling, ClaimResult, ClauseError, ClauseResult, Clauses, ConclusionResult, Conclusions,
    Finding, Measurements, PublishedTable, Queries, Sources, TestOutcome, Verdict, clauses,
    conclusions, judge_claims,
};
use crate::{
    CAUSES, Depth, Laboratory, LaboratoryKind, RunMode, Strength, Study, StudyError,
    StudyExperiment,
};
use scenario::Plan;
use scenario::experiment::{Catalogue, ExperimentError};
use store::{RunRow, Store, StoreError};

/// Maximum number of portions of a deep run that are judged; a share of them is known to some 10 %.
const MOST_PORTIONS: u32 = 20;

/// A study with its verdicts.
#[derive(Clone, Debug, PartialEq)]
pub struct StudyResult {
    /// The study.
    pub study: Study,
    /// Its experiments, with the runs that the verdicts rest on.
    pub experiments: Vec<ExperimentRun>,
    /// Its claims, in the order of their file.
    pub claims: Vec<ClaimResult>,
    /// The results of other laboratories, as far as they were run.
    pub laboratories: Vec<LaboratoryResult>,
    /// Its conclusions, then and with later technology.
    pub conclusions: Vec<ConclusionResult>,
    /// Causes of unconfirmed claims, with the verdicts on them.
    pub causes: Vec<CauseResult>,
    /// In a deep run, the frequency of each verdict with as few loads as the study made, in the order of the
    /// claims; empty for other runs, and for a run with fewer loads than the study's.
    pub frequencies: Vec<VerdictFrequency>,
    /// The verdicts on the measurements that the study itself published.
    pub ceiling: Ceiling,
    /// Its published tables of measurements, with the distance of ours.
    pub published: Vec<PublishedTable>,
}

/// An experiment of a study, with its run.
#[derive(Clone, Debug, PartialEq)]
pub struct ExperimentRun {
    /// Its name.
    pub id: String,
    /// Its complete run, if there is one.
    pub run: Option<RunRow>,
    /// Missing features.
    pub waits_for: Vec<String>,
}

/// The verdicts in a laboratory other than the study's.
#[derive(Clone, Debug, PartialEq)]
pub struct LaboratoryResult {
    /// The laboratory.
    pub laboratory: Laboratory,
    /// True if all experiments are the same as in the study's own laboratory, so nothing can differ.
    pub is_same: bool,
    /// Number of loads of each cell, if fewer than in the study's own laboratory.
    pub loads: Option<NonZeroU32>,
    /// Verdicts, claim by claim.
    pub verdicts: Vec<Verdict>,
    /// The verdicts of the study's own laboratory with as many loads.
    pub baseline: Vec<Verdict>,
}

/// A claim whose verdict another laboratory changes.
#[derive(Clone, Debug, PartialEq)]
pub struct ChangedVerdict<'a> {
    /// The claim.
    pub claim: &'a str,
    /// The verdict in the study's own laboratory.
    pub before: &'a Verdict,
    /// The verdict in the other one.
    pub after: &'a Verdict,
}

/// A cause, and the verdict on it.
#[derive(Clone, Debug, PartialEq)]
pub struct CauseResult {
    /// The cause.
    pub cause: Cause,
    /// Confirmed if a run shows it, refuted if not.
    pub verdict: Verdict,
    /// The findings behind the verdict.
    pub findings: Vec<ClauseResult>,
}

/// A claim's verdicts on portions of a deep run, each as large as the study's own run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VerdictFrequency(pub Vec<Verdict>);

/// Failed to evaluate a study.
#[derive(Debug, Error)]
pub enum EvaluationError {
    /// Its folder is invalid.
    #[error(transparent)]
    Study(#[from] StudyError),
    /// One of its experiments is invalid.
    #[error(transparent)]
    Experiment(#[from] ExperimentError),
    /// The store cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A clause or a comparison has a mistake.
    #[error("{study}/{file}: `{entry}`: {error}")]
    Clause {
        /// The study.
        study: String,
        /// The file that contains it.
        file: &'static str,
        /// The claim or conclusion that it belongs to.
        entry: String,
        /// The mistake.
        error: ClauseError,
    },
}

type Result<T> = std::result::Result<T, EvaluationError>;

/// Judges `study` by the complete runs of its experiments in `store`, run in this mode. Other laboratories that
/// were not run in full in this mode are judged by their runs with `loads` loads of each cell, if given.
///
/// # Errors
/// A folder or a store that cannot be read.
pub fn evaluate_study(
    study: Study,
    store: &Store,
    mode: RunMode,
    loads: Option<NonZeroU32>,
    catalogue: &dyn Catalogue,
) -> Result<StudyResult> {
    let clauses = Clauses::of_study(&study)?;
    let conclusions = Conclusions::of_study(&study)?;
    let queries = clauses.terms.queries();
    let evaluator = Evaluator {
        study: &study,
        clauses: &clauses,
        conclusions: &conclusions,
        store,
        mode,
        catalogue,
        queries: &queries,
    };
    let plans = evaluator.plans(mode.depth)?;
    let own = evaluator.gather(Laboratory::AsPublished, &plans)?;
    let claims = evaluator.judge(&own)?;
    let run = |experiment: &StudyExperiment| -> Result<ExperimentRun> {
        let run = own.run(&experiment.id).map(|run| store.run(run)).transpose()?;
        let (id, waits_for) = (experiment.id.clone(), experiment.waits_for.clone());
        Ok(ExperimentRun { id, run, waits_for })
    };
    let experiments = study.setup.experiments.iter().map(run).collect::<Result<_>>()?;
    let laboratories = evaluator.laboratories(&own, &plans, &claims, loads)?;
    let concluded = conclusions
        .evaluate(&own, &study.files)
        .map_err(|(id, error)| evaluator.mistake(conclusions::FILE, id, error))?;
    let mut causes = Vec::new();
    for cause in &clauses.causes {
        causes.extend(evaluator.cause(cause, &own)?);
    }
    let frequencies = evaluator.frequencies(&own)?;
    let conclusions = concluded;
    let ceiling = Ceiling::of(&study, &clauses, &evaluator.plans(Depth::Usual)?)
        .map_err(|error| evaluator.mistake(clauses::FILE, "terms".to_owned(), error))?;
    let published = pointwise(&own, &clauses.terms, &study.files)
        .map_err(|error| evaluator.mistake(clauses::FILE, "terms".to_owned(), error))?;
    Ok(StudyResult {
        study,
        experiments,
        claims,
        laboratories,
        conclusions,
        causes,
        frequencies,
        ceiling,
        published,
    })
}

/// A study, and the runs that a store holds of its experiments.
struct Evaluator<'a> {
    study: &'a Study,
    clauses: &'a Clauses,
    conclusions: &'a Conclusions,
    store: &'a Store,
    mode: RunMode,
    catalogue: &'a dyn Catalogue,
    queries: &'a Queries,
}

/// Plans of a study's experiments, as published.
type Plans = Vec<(String, Plan)>;

/// Runs of a study in another laboratory.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Variant {
    /// All experiments are the same there.
    Same,
    /// Its cells are the study's own, with other labels.
    Relabelled,
    /// The store has all runs of it.
    Run,
    /// The store lacks some.
    RunInPart,
    /// The store has none.
    NotRun,
}

impl Evaluator<'_> {
    fn plans(&self, depth: Depth) -> Result<Plans> {
        let mode = RunMode { depth, ..self.mode };
        let plan = |(experiment, source): (&StudyExperiment, _)| -> Result<(String, Plan)> {
            Ok((experiment.id.clone(), mode.plan(source, self.catalogue)?.1))
        };
        self.study.experiments().map(plan).collect()
    }

    /// The measurements of the complete runs of these plans in a laboratory.
    fn gather(&self, laboratory: Laboratory, plans: &Plans) -> Result<Measurements> {
        let mut measurements = Measurements::default();
        for (id, plan) in plans {
            let digest = laboratory.plan(plan).digest();
            let Some(run) = complete_run(self.store, &digest)? else { continue };
            let mut quantities = self.clauses.quantities(id);
            quantities.extend(self.conclusions.quantities(id));
            let asked = (self.queries, &quantities);
            measurements.gather(self.store, run, id, asked, plan.cells())?;
        }
        Ok(measurements)
    }

    /// The same, with the study's own runs of experiments that are the same there.
    fn cells(
        &self,
        laboratory: Laboratory,
        plans: &Plans,
        own: &Measurements,
    ) -> Result<Measurements> {
        let mut there = self.gather(laboratory, plans)?;
        // More loads in the study's own laboratory are not the study's own loads.
        let is_same = |(id, plan): &&(String, Plan)| {
            laboratory != Laboratory::AsPublished
                && there.run(id).is_none()
                && laboratory.plan(plan).cells() == plan.cells()
        };
        let same: Plans = plans.iter().filter(is_same).cloned().collect();
        there.add_all(own.portion(&portions(&same), 0));
        Ok(there)
    }

    fn judge(&self, measurements: &Measurements) -> Result<Vec<ClaimResult>> {
        judge_claims(&self.study.claims, self.clauses, measurements, &self.study.files)
            .map_err(|(claim, error)| self.mistake(clauses::FILE, claim, error))
    }

    fn verdicts(&self, measurements: &Measurements) -> Result<Vec<Verdict>> {
        Ok(self.judge(measurements)?.into_iter().map(|claim| claim.verdict).collect())
    }

    fn mistake(&self, file: &'static str, entry: String, error: ClauseError) -> EvaluationError {
        EvaluationError::Clause { study: self.study.name.clone(), file, entry, error }
    }

    /// The verdicts of other laboratories, as far as the store has runs of them: those of the depth at hand, or
    /// those with `loads` loads of each cell, beside the study's own first so many loads.
    fn laboratories(
        &self,
        own: &Measurements,
        plans: &Plans,
        claims: &[ClaimResult],
        loads: Option<NonZeroU32>,
    ) -> Result<Vec<LaboratoryResult>> {
        let fewer = self.plans(loads.map_or(self.mode.depth, Depth::Loads))?;
        let digests = |plans: &Plans| -> Vec<String> {
            self.varied(plans).map(|(_, plan)| plan.digest()).collect()
        };
        let are_fewer = digests(&fewer) != digests(plans);
        let here: Vec<Verdict> = claims.iter().map(|claim| claim.verdict.clone()).collect();
        let by_fewer = match loads {
            Some(_) => self.verdicts(&own.portion(&portions(&fewer), 0))?,
            None => here.clone(),
        };
        let mut all = Vec::new();
        for laboratory in Laboratory::ALL.iter().copied().skip(1) {
            let in_full = match self.variant(laboratory, plans)? {
                Variant::Same | Variant::Relabelled => true,
                known => known == Variant::Run && are_fewer,
            };
            let (plans, loads, baseline) = match in_full {
                true => (plans, None, &here),
                false => (&fewer, loads, &by_fewer),
            };
            let variant = self.variant(laboratory, plans)?;
            let verdicts = match variant {
                Variant::NotRun => continue,
                Variant::Same => here.clone(),
                Variant::Relabelled => self.verdicts(&own.clone().with_labels_swapped())?,
                Variant::Run | Variant::RunInPart => {
                    self.verdicts(&self.cells(laboratory, plans, own)?)?
                }
            };
            let (is_same, baseline) = (variant == Variant::Same, baseline.clone());
            all.push(LaboratoryResult { laboratory, is_same, loads, verdicts, baseline });
        }
        Ok(all)
    }

    fn variant(&self, laboratory: Laboratory, plans: &Plans) -> Result<Variant> {
        if laboratory.swaps_labels() {
            return Ok(Variant::Relabelled);
        }
        let (mut all, mut run) = (0, 0);
        for (_, published) in self.varied(plans) {
            let plan = laboratory.plan(published);
            if plan.cells() != published.cells() {
                all += 1;
                run += usize::from(complete_run(self.store, &plan.digest())?.is_some());
            }
        }
        Ok(match run {
            _ if all == 0 => Variant::Same,
            0 => Variant::NotRun,
            _ if run < all => Variant::RunInPart,
            _ => Variant::Run,
        })
    }

    /// The plans of experiments that run in other laboratories, too.
    fn varied<'p>(&self, plans: &'p Plans) -> impl Iterator<Item = &'p (String, Plan)> {
        let experiments = &self.study.setup.experiments;
        plans
            .iter()
            .filter(move |(id, _)| experiments.iter().any(|it| it.id == *id && it.is_varied()))
    }

    /// The results of a cause. One that is tested by its claims' verdicts may apply to some claims and not to
    /// others.
    fn cause(&self, cause: &Cause, own: &Measurements) -> Result<Vec<CauseResult>> {
        let there;
        let measurements = match cause.is_elsewhere() {
            true => {
                // Causes are run with the study's depth (`study run --causes`), whatever the depth at which its
                // claims are judged.
                let mut plans = self.plans(cause.loads.map_or(Depth::Usual, Depth::Loads))?;
                let wanted = self.clauses.experiments_of(cause);
                plans.retain(|(id, _)| wanted.contains(id));
                there = self.cells(cause.laboratory, &plans, own)?;
                &there
            }
            false => own,
        };
        match cause.clauses.is_empty() {
            true => self.cause_by_verdicts(cause, measurements),
            false => Ok(vec![self.cause_by_clauses(cause, measurements)?]),
        }
    }

    fn cause_by_clauses(&self, cause: &Cause, cells: &Measurements) -> Result<CauseResult> {
        let terms = &self.clauses.terms;
        let sources = Sources { measurements: cells, terms, tables: &self.study.files };
        let (mut findings, mut waits_for) = (Vec::new(), Vec::new());
        for (index, clause) in cause.clauses.iter().enumerate() {
            let name = format!("cause of {}/{index}", cause.of[0]);
            match judge_clause(clause, &name, sources) {
                Ok((finding, _)) => {
                    findings.push(ClauseResult { clause: clause.to_string(), finding });
                }
                Err(mistake @ ClauseError::Invalid(_)) => {
                    return Err(self.mistake(CAUSES, name, mistake));
                }
                Err(missing) => waits_for.push(missing.to_string()),
            }
        }
        let verdict = match waits_for.is_empty() {
            true => Verdict::of_findings(&findings),
            false => Verdict::Open(waits_for),
        };
        Ok(CauseResult { cause: cause.clone(), verdict, findings })
    }

    /// The verdicts on a cause's claims where it shows, grouped: as expected, not as expected, and waiting for
    /// something.
    fn cause_by_verdicts(&self, cause: &Cause, cells: &Measurements) -> Result<Vec<CauseResult>> {
        let mut groups: Vec<CauseResult> = Vec::new();
        for claim in self.judge(cells)?.iter().filter(|it| cause.of.contains(&it.id)) {
            let (verdict, finding) = cause.by_verdict(claim);
            let known = groups.iter().position(|group| group.verdict == verdict);
            let index = known.unwrap_or_else(|| {
                let cause = Cause { of: Vec::new(), ..cause.clone() };
                groups.push(CauseResult { cause, verdict, findings: Vec::new() });
                groups.len() - 1
            });
            groups[index].cause.of.push(claim.id.clone());
            groups[index].findings.extend(finding);
        }
        Ok(groups)
    }

    /// Cuts a deep run into portions of the study's own size, each with its own chance, and judges each like the
    /// study's own run.
    fn frequencies(&self, own: &Measurements) -> Result<Vec<VerdictFrequency>> {
        let Depth::Deep(loads) = self.mode.depth else { return Ok(Vec::new()) };
        let mut usual = portions(&self.plans(Depth::Usual)?);
        usual.retain(|id, _| own.run(id).is_some() && !self.clauses.quantities(id).is_empty());
        let whole = usual.values().map(|portion| loads.get() / portion.loads.max(1)).min();
        let whole = whole.unwrap_or(0).min(MOST_PORTIONS);
        let mut frequencies = vec![VerdictFrequency::default(); self.study.claims.len()];
        for index in 0..whole {
            let verdicts = self.verdicts(&own.portion(&usual, index))?;
            frequencies.iter_mut().zip(verdicts).for_each(|(it, verdict)| it.0.push(verdict));
        }
        Ok(if whole == 0 { Vec::new() } else { frequencies })
    }
}

/// The portions of these plans' sizes.
fn portions(plans: &Plans) -> BTreeMap<String, Portion> {
    plans.iter().map(|(id, plan)| (id.clone(), Portion::of(plan))).collect()
}

impl Cause {
    /// The verdict on it by one of its claims, with the finding behind it.
    fn by_verdict(&self, claim: &ClaimResult) -> (Verdict, Option<ClauseResult>) {
        if let Verdict::Open(missing) = &claim.verdict {
            let missing = missing.iter().map(|what| format!("{what}{}", self.place()));
            return (Verdict::Open(missing.collect()), None);
        }
        let name = claim.verdict.name();
        let (verdict, outcome) = match self.come_to.iter().any(|expected| expected == name) {
            true => (Verdict::Confirmed, TestOutcome::Holds),
            false => (Verdict::Refuted, TestOutcome::Fails),
        };
        let clause = format!("{} there {}", claim.id, self.come_to.join(" or "));
        let note = Some(format!("it is {name}"));
        let finding = Finding { outcome, numbers: Vec::new(), note, reproduces: None };
        (verdict, Some(ClauseResult { clause, finding }))
    }
}

impl StudyResult {
    /// The verdicts of a laboratory, if it was run.
    pub fn in_laboratory(&self, laboratory: Laboratory) -> Option<&LaboratoryResult> {
        self.laboratories.iter().find(|there| there.laboratory == laboratory)
    }

    /// The wrong laboratories that confirm a claim, given by index.
    pub fn confirmed_wrongly(&self, claim: usize) -> Vec<Laboratory> {
        let confirms =
            |there: &LaboratoryResult| there.verdicts.get(claim) == Some(&Verdict::Confirmed);
        let wrong = Laboratory::of_kind(LaboratoryKind::Wrong);
        wrong.filter(|it| self.in_laboratory(*it).is_some_and(confirms)).collect()
    }

    /// True if all wrong laboratories confirm a claim, so that its confirmation means nothing.
    pub fn is_non_discriminating(&self, claim: usize) -> bool {
        let wrong = Laboratory::of_kind(LaboratoryKind::Wrong).count();
        self.confirmed_wrongly(claim).len() == wrong
    }

    /// The claims whose verdict differs in another laboratory.
    pub fn changed_verdicts<'a>(&'a self, there: &'a LaboratoryResult) -> Vec<ChangedVerdict<'a>> {
        let both = there.baseline.iter().zip(&there.verdicts);
        let changed = self.claims.iter().zip(both).filter(|(_, (before, after))| {
            before != after && !before.is_open() && !after.is_open()
        });
        changed
            .map(|(claim, (before, after))| ChangedVerdict { claim: &claim.id, before, after })
            .collect()
    }

    /// The claims that the study supports strongly and that are refuted or inconclusive.
    pub fn unconfirmed(&self) -> Vec<&str> {
        let claims = self.study.claims.iter().zip(&self.claims);
        let unconfirmed = claims.filter(|(claim, result)| {
            claim.strength == Strength::Strong
                && matches!(result.verdict, Verdict::Refuted | Verdict::Inconclusive)
        });
        unconfirmed.map(|(claim, _)| claim.id.as_str()).collect()
    }

    /// The causes given for a claim.
    pub fn causes_of(&self, claim: &str) -> impl Iterator<Item = &CauseResult> {
        self.causes.iter().filter(move |it| it.cause.of.iter().any(|id| id == claim))
    }
}

impl CauseResult {
    /// True if a run shows it.
    pub fn is_shown(&self) -> bool {
        self.verdict == Verdict::Confirmed
    }

    /// The answer in a word or two.
    pub fn answer(&self) -> String {
        match &self.verdict {
            Verdict::Confirmed => "shown".to_owned(),
            Verdict::Refuted => "not shown".to_owned(),
            other => other.to_string(),
        }
    }
}

/// `confirmed 17 of 20, inconclusive 3`
impl fmt::Display for VerdictFrequency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = |wanted: &Verdict| self.0.iter().filter(|it| *it == wanted).count();
        let mut kinds: Vec<&Verdict> = self.0.iter().collect();
        kinds.sort();
        kinds.dedup();
        kinds.sort_by_key(|kind| std::cmp::Reverse(count(kind)));
        for (index, kind) in kinds.into_iter().enumerate() {
            let (name, count) = (kind.name(), count(kind));
            match index {
                0 => write!(f, "{name} {count} of {}", self.0.len())?,
                _ => write!(f, ", {name} {count}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_commonest_verdict_comes_first() {
        let verdicts = [Verdict::Confirmed, Verdict::Refuted, Verdict::Refuted];
        let frequency = VerdictFrequency(verdicts.to_vec());
        assert_eq!(frequency.to_string(), "refuted 2 of 3, confirmed 1");
        assert_eq!(VerdictFrequency::default().to_string(), "");
    }
}
