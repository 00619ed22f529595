//! A study's [reduced grid](ReducedGrid) in both worlds: agreement between the verdicts with the kernel's TCP
//! and with the simulator's.
//!
//! Both worlds are judged by the study's own clauses, as far as the grid has cells for them. A claim that needs
//! cells outside the grid is not covered and counts nowhere; likewise a claim for which a world has no complete
//! run of an experiment. A claim that only one of the worlds can judge counts as a disagreement.

use std::collections::BTreeSet;
use std::ops::AddAssign;

use super::measured::complete_run;
use super::verdict::judge_covered;
use super::{Clauses, HearingError, Judged, Measured, Verdict};
use crate::{Depth, Manner, ReducedExperiment, ReducedGrid, Study};
use report::Punctuality;
use scenario::World;
use scenario::experiment::Catalogue;
use store::{RunId, RunRow, Store, StoreError};

/// A study in both worlds.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// The study.
    pub study: Study,
    /// The reduced experiments.
    pub experiments: Vec<ReducedRuns>,
    /// Its claims, in the order of their file.
    pub claims: Vec<Both>,
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
pub struct Both {
    /// By the simulator's TCP.
    pub simulated: Judged,
    /// By the kernel's.
    pub emulated: Judged,
}

/// Relation of two verdicts on a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Agreement {
    /// The same verdict.
    Same,
    /// One world decides; the repetitions of the other are inconclusive.
    Undecided,
    /// One confirms and the other refutes, or one cannot be judged.
    Opposite,
    /// Not judged in either world.
    NotCovered,
}

/// Counts of claims by the relation of their verdicts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Agreements {
    /// Both confirm or both refute.
    pub decided: usize,
    /// Both are inconclusive.
    pub inconclusive: usize,
    /// Exactly one is inconclusive.
    pub undecided: usize,
    /// They contradict each other.
    pub opposite: usize,
    /// Not judged in either world.
    pub not_covered: usize,
}

/// Compares the worlds by the complete runs of the study's reduced grid in `store`.
///
/// # Errors
/// A folder or a store that cannot be read.
pub fn compare(
    study: Study,
    store: &Store,
    depth: Depth,
    catalogue: &dyn Catalogue,
) -> Result<Comparison, HearingError> {
    let clauses = Clauses::of_study(&study)?;
    let grid = ReducedGrid::of_study(&study)?;
    let in_world = |world| grid.experiments(&study, Manner { depth, world }, catalogue);
    let (simulated, emulated) = (in_world(World::Sim)?, in_world(World::Emu)?);
    let mut worlds = [Measured::new(), Measured::new()];
    let mut experiments = Vec::new();
    let mut punctuality = Punctuality::default();
    for pair in simulated.iter().zip(&emulated) {
        let runs = both_runs(store, [pair.0, pair.1])?;
        let mut never_on_time = 0;
        if let Some([_, emulated]) = runs {
            never_on_time =
                store.journeys(emulated)?.iter().filter(|it| it.failure.is_some()).count();
            take_punctuality(store, emulated, &mut punctuality)?;
        }
        for (at, experiment) in [pair.0, pair.1].into_iter().enumerate() {
            let Some(runs) = runs else { continue };
            let (id, cells) = (&experiment.id, experiment.published.cells());
            worlds[at].gather(store, runs[at], id, &clauses.quantities(id), cells)?;
        }
        let runs = match runs {
            Some([simulated, emulated]) => Some([store.run(simulated)?, store.run(emulated)?]),
            None => None,
        };
        let ReducedExperiment { id, plan, .. } = pair.1;
        let (cells, repetitions) = (plan.cells().len(), plan.repetitions());
        experiments.push(ReducedRuns { id: id.clone(), cells, repetitions, never_on_time, runs });
    }
    let judged = |world| judge_covered(&study.claims, &clauses, world, &study.files);
    let both = judged(&worlds[0]).into_iter().zip(judged(&worlds[1]));
    let claims = both.map(|(simulated, emulated)| Both { simulated, emulated }).collect();
    Ok(Comparison { study, experiments, claims, punctuality })
}

/// The complete runs of an experiment in both worlds; `None` if one is missing.
fn both_runs(
    store: &Store,
    worlds: [&ReducedExperiment; 2],
) -> Result<Option<[RunId; 2]>, StoreError> {
    let [simulated, emulated] = worlds.map(|it| complete_run(store, &it.plan.digest()));
    Ok(simulated?.zip(emulated?).map(<[RunId; 2]>::from))
}

fn take_punctuality(
    store: &Store,
    run: RunId,
    punctuality: &mut Punctuality,
) -> Result<(), StoreError> {
    for visit in store.visits(run)? {
        store.emulation(visit.key)?.iter().for_each(|visit| punctuality.take(visit));
    }
    Ok(())
}

impl Both {
    /// The relation of the verdicts.
    pub fn agreement(&self) -> Agreement {
        use Verdict::{Confirmed, Inconclusive, Open, Refuted, Untestable};
        match (&self.simulated.verdict, &self.emulated.verdict) {
            (Untestable, _) | (Open(_), Open(_)) => Agreement::NotCovered,
            (one, other) if one == other => Agreement::Same,
            (Inconclusive, Confirmed | Refuted) | (Confirmed | Refuted, Inconclusive) => {
                Agreement::Undecided
            }
            _ => Agreement::Opposite,
        }
    }
}

impl Comparison {
    /// Counts of its claims.
    pub fn agreements(&self) -> Agreements {
        let mut counted = Agreements::default();
        self.claims.iter().for_each(|claim| counted.take(claim));
        counted
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

impl Agreements {
    fn take(&mut self, claim: &Both) {
        let counter = match claim.agreement() {
            Agreement::Same if claim.simulated.verdict == Verdict::Inconclusive => {
                &mut self.inconclusive
            }
            Agreement::Same => &mut self.decided,
            Agreement::Undecided => &mut self.undecided,
            Agreement::Opposite => &mut self.opposite,
            Agreement::NotCovered => &mut self.not_covered,
        };
        *counter += 1;
    }

    /// Claims that the grid covers.
    pub fn covered(&self) -> usize {
        self.decided + self.inconclusive + self.undecided + self.opposite
    }

    /// The share of the covered claims with the same verdict in both worlds, in per cent.
    pub fn share(&self) -> Option<f64> {
        percent(self.decided + self.inconclusive, self.covered())
    }

    /// The same share among the claims that are decided in both worlds.
    pub fn decided_share(&self) -> Option<f64> {
        percent(self.decided, self.decided + self.opposite)
    }
}

impl AddAssign for Agreements {
    fn add_assign(&mut self, other: Agreements) {
        self.decided += other.decided;
        self.inconclusive += other.inconclusive;
        self.undecided += other.undecided;
        self.opposite += other.opposite;
        self.not_covered += other.not_covered;
    }
}

fn percent(part: usize, whole: usize) -> Option<f64> {
    (whole > 0).then(|| 100.0 * part as f64 / whole as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::Grounds;
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
            let manner = Manner { depth: Depth::Usual, world };
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
        assert_eq!(everywhere.agreement(), Agreement::Same, "the toy has one world");
        assert_eq!(whole.not_covered(), BTreeSet::from(["in-between"]));
        assert_eq!(whole.agreements().share(), Some(100.0));
        let page = crate::judge::comparison_markdown(&[whole], "farlink study run s --world emu");
        assert!(
            page.contains("| [s](#s) | 4 | 24 | 1 | 1 (0) | 0 | 0 | 100 % | 100 % |"),
            "{page}"
        );
        assert!(page.contains("Not covered: `in-between`."), "{page}");
    }

    fn both(simulated: Verdict, emulated: Verdict) -> Both {
        let judged = |verdict| Judged {
            id: "c".to_owned(),
            verdict,
            findings: Vec::new(),
            grounds: Grounds::default(),
            reading: None,
        };
        Both { simulated: judged(simulated), emulated: judged(emulated) }
    }

    fn open() -> Verdict {
        Verdict::Open(vec!["a run of `x`".to_owned()])
    }

    #[test]
    fn verdicts_agree_if_they_are_the_same() {
        use Verdict::*;
        let of = |one, other| both(one, other).agreement();
        assert_eq!(of(Refuted, Refuted), Agreement::Same);
        assert_eq!(of(Inconclusive, Inconclusive), Agreement::Same);
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
        let mut counted = Agreements::default();
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
        verdicts.into_iter().for_each(|(one, other)| counted.take(&both(one, other)));
        assert_eq!((counted.covered(), counted.not_covered), (6, 1));
        assert_eq!(counted.share(), Some(100.0 * 4.0 / 6.0));
        assert_eq!(counted.decided_share(), Some(75.0));
        let mut twice = counted;
        twice += counted;
        assert_eq!((twice.covered(), twice.share()), (12, counted.share()));
    }
}
