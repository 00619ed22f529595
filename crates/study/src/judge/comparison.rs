//! A study's [reduced grid](ReducedGrid) in both worlds: agreement between the verdicts with the kernel's TCP
//! and with the simulator's.
//!
//! ComparedClaim worlds are judged by the study's own clauses, as far as the grid has cells for them. A claim that needs
//! cells outside the grid is not covered and counts nowhere; likewise a claim for which a world has no complete
//! run of an experiment. A claim that only one of the worlds can judge counts as a disagreement.

use std::collections::BTreeSet;
use std::ops::AddAssign;

use super::measurements::complete_run;
use super::tables::{DataTable, clause, lines};
use super::verdict::judge_covered;
use super::{ClaimResult, ClauseResult, Clauses, EvaluationError, Measurements, Verdict};
use crate::{DIGITS, Depth, ReducedExperiment, ReducedGrid, RunMode, Study};
use report::Punctuality;
use scenario::World;
use scenario::experiment::Catalogue;
use store::{RunRow, Store};

/// A study in both worlds.
#[derive(Clone, Debug)]
pub struct WorldComparison {
    /// The study.
    pub study: Study,
    /// The reduced experiments.
    pub experiments: Vec<ReducedRuns>,
    /// Its claims, in the order of their file.
    pub claims: Vec<ComparedClaim>,
    /// Punctuality of the emulator.
    pub punctuality: Punctuality,
}

/// An experiment of the grid, with its runs.
#[derive(Clone, Debug)]
pub struct ReducedRuns {
    /// Its name within the study.
    pub id: String,
    /// Number of scenarios in the grid.
    pub cells: usize,
    /// Loads of each.
    pub repetitions: u32,
    /// Journeys that were not emulated, because the emulator was never on time.
    pub never_on_time: usize,
    /// The complete runs, simulated and emulated, if there are both.
    pub runs: Option<[RunRow; 2]>,
}

/// A claim, judged in both worlds.
#[derive(Clone, Debug, PartialEq)]
pub struct ComparedClaim {
    /// By the simulator's TCP.
    pub simulated: ClaimResult,
    /// By the kernel's.
    pub emulated: ClaimResult,
}

/// Relation of two verdicts on a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Agreement {
    /// Both confirm or both refute.
    Decided,
    /// Both are inconclusive.
    Inconclusive,
    /// One world decides; the repetitions of the other are inconclusive.
    Undecided,
    /// One confirms and the other refutes, or one cannot be judged.
    Opposite,
    /// Not judged in either world.
    NotCovered,
}

/// Counts of claims by the relation of their verdicts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AgreementCounts([usize; 5]);

/// Compares the worlds by the complete runs of the study's reduced grid in `store`.
///
/// # Errors
/// A folder or a store that cannot be read.
pub fn compare(
    study: Study,
    store: &Store,
    depth: Depth,
    catalogue: &dyn Catalogue,
) -> Result<WorldComparison, EvaluationError> {
    let clauses = Clauses::of_study(&study)?;
    let queries = clauses.terms.queries();
    let grid = ReducedGrid::of_study(&study)?;
    let in_world = |world| grid.experiments(&study, RunMode { depth, world }, catalogue);
    let (simulated, emulated) = (in_world(World::Sim)?, in_world(World::Emu)?);
    let mut worlds = [Measurements::default(), Measurements::default()];
    let mut experiments = Vec::new();
    let mut punctuality = Punctuality::default();
    for (simulated, emulated) in simulated.iter().zip(&emulated) {
        let ReducedExperiment { id, plan, .. } = emulated;
        let (cells, repetitions) = (plan.cells().len(), plan.repetitions());
        let mut reduced =
            ReducedRuns { id: id.clone(), cells, repetitions, never_on_time: 0, runs: None };
        let complete = |it: &ReducedExperiment| complete_run(store, &it.plan.digest());
        if let (Some(sim), Some(emu)) = (complete(simulated)?, complete(emulated)?) {
            for ((world, run), experiment) in
                worlds.iter_mut().zip([sim, emu]).zip([simulated, emulated])
            {
                let asked = (&queries, &clauses.quantities(id));
                world.gather(store, run, id, asked, experiment.published.cells())?;
            }
            reduced.never_on_time =
                store.journeys(emu)?.iter().filter(|it| it.failure.is_some()).count();
            for visit in store.visits(emu)? {
                store.emulation(visit.key)?.iter().for_each(|visit| punctuality.take(visit));
            }
            reduced.runs = Some([store.run(sim)?, store.run(emu)?]);
        }
        experiments.push(reduced);
    }
    let [simulated, emulated] =
        worlds.map(|world| judge_covered(&study.claims, &clauses, &world, &study.files));
    let both = simulated.into_iter().zip(emulated);
    let claims = both.map(|(simulated, emulated)| ComparedClaim { simulated, emulated }).collect();
    Ok(WorldComparison { study, experiments, claims, punctuality })
}

impl ComparedClaim {
    /// The relation of the verdicts.
    pub fn agreement(&self) -> Agreement {
        use Verdict::{Confirmed, Inconclusive, Open, Refuted, Untestable};
        match (&self.simulated.verdict, &self.emulated.verdict) {
            (Untestable, _) | (Open(_), Open(_)) => Agreement::NotCovered,
            (Inconclusive, Inconclusive) => Agreement::Inconclusive,
            (one, other) if one == other => Agreement::Decided,
            (Inconclusive, Confirmed | Refuted) | (Confirmed | Refuted, Inconclusive) => {
                Agreement::Undecided
            }
            _ => Agreement::Opposite,
        }
    }
}

impl WorldComparison {
    /// Counts of its claims.
    pub fn agreements(&self) -> AgreementCounts {
        let mut counts = AgreementCounts::default();
        self.claims.iter().for_each(|claim| counts.0[claim.agreement() as usize] += 1);
        counts
    }

    /// Number of scenarios that were run in both worlds, and of journeys in each world.
    pub fn size(&self) -> (usize, u64) {
        let there = self.experiments.iter().filter(|it| it.runs.is_some());
        there.fold((0, 0), |(cells, journeys), it| {
            (cells + it.cells, journeys + it.cells as u64 * u64::from(it.repetitions))
        })
    }

    /// The names of the claims that the grid does not cover.
    pub fn not_covered(&self) -> BTreeSet<&str> {
        let left_out = self.claims.iter().filter(|it| it.agreement() == Agreement::NotCovered);
        left_out.map(|it| it.simulated.id.as_str()).collect()
    }
}

impl AgreementCounts {
    /// The number of claims with this relation.
    pub fn of(&self, agreement: Agreement) -> usize {
        self.0[agreement as usize]
    }

    /// Claims with the same verdict in both worlds.
    pub fn same(&self) -> usize {
        self.of(Agreement::Decided) + self.of(Agreement::Inconclusive)
    }

    /// Claims judged in a world at least.
    pub fn covered(&self) -> usize {
        self.same() + self.of(Agreement::Undecided) + self.of(Agreement::Opposite)
    }

    /// The share of the same verdicts among the covered ones, in per cent.
    pub fn share(&self) -> Option<f64> {
        share_of(self.same(), self.covered())
    }

    /// The same among the claims that both worlds decide.
    pub fn decided_share(&self) -> Option<f64> {
        let decided = self.of(Agreement::Decided);
        share_of(decided, decided + self.of(Agreement::Opposite))
    }
}

impl AddAssign for AgreementCounts {
    fn add_assign(&mut self, other: AgreementCounts) {
        self.0.iter_mut().zip(other.0).for_each(|(count, more)| *count += more);
    }
}

fn share_of(part: usize, whole: usize) -> Option<f64> {
    (whole > 0).then(|| 100.0 * part as f64 / whole as f64)
}

/// The comparison of both worlds as tables (`docs/studies/emulated`).
pub fn comparison_tables(comparison: &WorldComparison) -> Vec<DataTable> {
    vec![
        agreement(comparison),
        experiments(comparison),
        claims(comparison),
        punctuality(comparison),
    ]
}

fn agreement(comparison: &WorldComparison) -> DataTable {
    let columns = [
        "cells",
        "journeys_per_world",
        "covered",
        "same",
        "same_inconclusive",
        "undecided",
        "opposite",
        "agreement_percent",
        "agreement_of_decided_percent",
    ];
    let mut table = DataTable::new("agreement", &columns);
    let ((cells, journeys), counts) = (comparison.size(), comparison.agreements());
    let share = |share: Option<f64>| share.map_or(String::new(), |it| format!("{it:.0}"));
    table.row([
        cells.to_string(),
        journeys.to_string(),
        counts.covered().to_string(),
        counts.same().to_string(),
        counts.of(Agreement::Inconclusive).to_string(),
        counts.of(Agreement::Undecided).to_string(),
        counts.of(Agreement::Opposite).to_string(),
        share(counts.share()),
        share(counts.decided_share()),
    ]);
    table
}

fn experiments(comparison: &WorldComparison) -> DataTable {
    let columns = [
        "experiment",
        "cells",
        "repetitions",
        "simulated_digest",
        "emulated_digest",
        "never_on_time",
    ];
    let mut table = DataTable::new("experiments", &columns);
    for it in &comparison.experiments {
        let digest = |run: &RunRow| {
            run.digest.as_deref().unwrap_or_default().chars().take(DIGITS).collect::<String>()
        };
        let [sim, emu] =
            it.runs.as_ref().map(|runs| [&runs[0], &runs[1]].map(digest)).unwrap_or_default();
        let (cells, late) = (it.cells.to_string(), it.never_on_time.to_string());
        table.row([it.id.clone(), cells, it.repetitions.to_string(), sim, emu, late]);
    }
    table
}

fn punctuality(comparison: &WorldComparison) -> DataTable {
    let mut table = DataTable::new("punctuality", &["fact", "value"]);
    for (fact, value) in comparison.punctuality.facts() {
        table.row([fact.to_string(), value.to_string()]);
    }
    table
}

fn claims(comparison: &WorldComparison) -> DataTable {
    let columns =
        ["claim", "agreement", "simulated", "emulated", "simulated_findings", "emulated_findings"];
    let mut table = DataTable::new("claims", &columns);
    for claim in &comparison.claims {
        let agreement = match claim.agreement() {
            Agreement::NotCovered => "not covered",
            Agreement::Decided | Agreement::Inconclusive => "same",
            Agreement::Undecided => "undecided",
            Agreement::Opposite => "opposite",
        };
        let ComparedClaim { simulated, emulated } = claim;
        let verdict = |of: &ClaimResult| match claim.agreement() {
            Agreement::NotCovered => String::new(),
            _ => of.verdict.to_string(),
        };
        table.row([
            simulated.id.clone(),
            agreement.to_owned(),
            verdict(simulated),
            verdict(emulated),
            differing(simulated, emulated, claim.agreement()),
            differing(emulated, simulated, claim.agreement()),
        ]);
    }
    table
}

/// The findings of one world that differ from the other's, if the verdicts do.
fn differing(claim: &ClaimResult, other: &ClaimResult, agreement: Agreement) -> String {
    if !matches!(agreement, Agreement::Undecided | Agreement::Opposite) {
        return String::new();
    }
    let differs = |(index, found): &(usize, &ClauseResult)| {
        other.findings.get(*index).map(|it| it.finding.outcome) != Some(found.finding.outcome)
    };
    lines(claim.findings.iter().enumerate().filter(differs).map(|(_, found)| clause(found)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::LoadCount;
    use store::toy;
    use testbed::tour::Library;

    const SETUP: &str = "format = 1\ntitle = \"t\"\nauthors = \"a\"\nyear = 2013\nquestion = \"q?\"\n\
        assumption = []\n[[experiment]]\nid = \"one\"\nfile = \"one.toml\"\nsection = \"1\"\n\
        what = \"w\"\nrole = \"as-published\"\nwaits_for = []\n";
    const EXPERIMENT: &str = "format = 1\nrepetitions = 20\n[page]\nname = \"synthetic:24x10KB\"\n\
        [network]\nrtt = [\"50ms\", \"100ms\", \"150ms\"]\ndown = \"10mbit\"\nup = \"5mbit\"\n\
        [transport]\ntcp = \"linux-3.10\"\n[stack]\nprotocol = [\"h1\", \"h2\"]\ntls = \"none\"\n";
    const EMULATED: &str = "format = 1\nrepetitions = 6\nlaboratory = \"tcp-linux-6\"\n\
        [[experiment]]\nid = \"one\"\nset = ['network.rtt=[\"50ms\", \"150ms\"]']\n";
    const CLAUSES: &str = "format = 1\n[terms]\nstatistic = \"median\"\n\
        arm = { h1 = { protocol = \"h1\" }, h2 = { protocol = \"h2\" } }\n\
        grid = { rtt = { experiments = [\"one\"], x = \"rtt_ms\" } }\n\
        [[claim]]\nid = \"everywhere\"\n\
        clause = [{ on = \"rtt\", test = \"sign\", less = [\"plt(h2)\"], more = [\"plt(h1)\"] }]\n\
        [[claim]]\nid = \"in-between\"\n\
        clause = [{ on = \"rtt\", test = \"range\", quantity = \"at(100, plt(h2))\", high = 9 }]\n";

    fn study() -> Study {
        let claim = |id: &str| {
            format!(
                "[[claim]]\nid = \"{id}\"\nfact = \"f\"\nsection = \"4\"\nkind = \"ratio\"\n\
                 statement = \"s\"\nmetric = \"m\"\npublished = \"p\"\ncriterion = \"c\"\n\
                 strength = \"weak\"\ncheck = {{ test = \"none\" }}\n"
            )
        };
        let claims = format!("format = 1\n{}{}", claim("everywhere"), claim("in-between"));
        let files = [
            ("study.toml", SETUP),
            ("claims.toml", &claims),
            ("one.toml", EXPERIMENT),
            ("clauses.toml", CLAUSES),
            ("emulated.toml", EMULATED),
        ];
        Study::read("s", &files).unwrap()
    }

    #[test]
    fn a_claim_is_judged_in_both_worlds_by_the_cells_that_are_taken() {
        let (study, library) = (study(), Library::default());
        let grid = ReducedGrid::of_study(&study).unwrap();
        let [simulated, emulated] = [World::Sim, World::Emu].map(|world| {
            let manner = RunMode { depth: Depth::Usual, world };
            grid.experiments(&study, manner, &library).unwrap().remove(0).plan
        });
        let mut filled = toy::filled_store(&simulated);
        let compared =
            |store: &Store| compare(study.clone(), store, Depth::Usual, &library).unwrap();
        let half = compared(&filled.store);
        assert_eq!((half.size(), half.agreements().covered()), ((0, 0), 0), "one world is missing");

        toy::finish(&mut filled.store, &emulated);
        let whole = compared(&filled.store);
        assert_eq!(whole.size(), (4, 24));
        let everywhere = &whole.claims[0];
        assert!(!matches!(everywhere.emulated.verdict, Verdict::Open(_)), "{everywhere:?}");
        let same = [Agreement::Decided, Agreement::Inconclusive];
        assert!(same.contains(&everywhere.agreement()), "the toy has one world");
        assert_eq!(whole.not_covered(), BTreeSet::from(["in-between"]));
        assert_eq!(whole.agreements().share(), Some(100.0));
        let [agreement, _, claims, _] = &comparison_tables(&whole)[..] else {
            panic!("four tables")
        };
        assert!(agreement.csv().ends_with("\n4,24,1,1,0,0,0,100,100\n"), "{}", agreement.csv());
        assert!(claims.csv().contains("\nin-between,not covered,,,,\n"), "{}", claims.csv());
    }

    fn both(simulated: Verdict, emulated: Verdict) -> ComparedClaim {
        let judged = |verdict| ClaimResult {
            id: "c".to_owned(),
            verdict,
            findings: Vec::new(),
            reproduces: None,
            loads: LoadCount::default(),
            reading: None,
        };
        ComparedClaim { simulated: judged(simulated), emulated: judged(emulated) }
    }

    fn open() -> Verdict {
        Verdict::Open(vec!["a run of `x`".to_owned()])
    }

    #[test]
    fn verdicts_agree_if_they_are_the_same() {
        use Verdict::*;
        let of = |one, other| both(one, other).agreement();
        assert_eq!(of(Refuted, Refuted), Agreement::Decided);
        assert_eq!(of(Inconclusive, Inconclusive), Agreement::Inconclusive);
        assert_eq!(of(Confirmed, Refuted), Agreement::Opposite);
        assert_eq!(of(Inconclusive, Refuted), Agreement::Undecided);
        assert_eq!(of(Confirmed, Inconclusive), Agreement::Undecided);
        assert_eq!(of(open(), Open(Vec::new())), Agreement::NotCovered);
        assert_eq!(of(Untestable, Untestable), Agreement::NotCovered);
        assert_eq!(of(Confirmed, open()), Agreement::Opposite, "the other world has no such load");
    }

    #[test]
    fn shares_are_of_what_is_covered() {
        use Verdict::*;
        let mut counted = AgreementCounts::default();
        assert_eq!((counted.share(), counted.decided_share()), (None, None));
        let verdicts = [
            (Confirmed, Confirmed),
            (Refuted, Refuted),
            (Refuted, Refuted),
            (Inconclusive, Inconclusive),
            (Inconclusive, Refuted),
            (Confirmed, Refuted),
            (open(), open()),
        ];
        for (one, other) in verdicts {
            counted.0[both(one, other).agreement() as usize] += 1;
        }
        assert_eq!((counted.covered(), counted.of(Agreement::NotCovered)), (6, 1));
        assert_eq!(counted.share(), Some(100.0 * 4.0 / 6.0));
        assert_eq!(counted.decided_share(), Some(75.0));
        let mut twice = counted;
        twice += counted;
        assert_eq!((twice.covered(), twice.share()), (12, counted.share()));
    }
}
