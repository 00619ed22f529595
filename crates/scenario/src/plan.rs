//! A plan: the list of journeys that an experiment comes to. A journey is the unit of execution.

use std::sync::Arc;

use chance::RandomSource;
use record::{CriticalPath, VisitFigures, VisitRecord};

use crate::grid::Skipped;
use crate::{PageOrder, Scenario, choice};

choice! {
    /// Order in which journeys are executed. In simulation it matters only to an interrupted run; on real
    /// machines it decides what a drift of the machine is mistaken for.
    pub enum Order, "order" {
        /// All repetitions of a cell, then the next cell.
        Blocked = "blocked",
        /// One repetition of every cell, then the next repetition.
        Alternated = "alternated",
        /// Shuffled, seeded.
        Random = "random",
    }
    not_yet {}
}

/// Repetition until the interval of every median load time is narrow enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StopRule {
    /// Width of the interval relative to the median, in millionths.
    pub width_ppm: u32,
    /// Repetitions of each scenario before the first look.
    pub fewest: u32,
    /// Repetitions at which to give up.
    pub most: u32,
}

impl StopRule {
    /// Accepted texts, for error messages.
    pub const EXPECTED: &str = "a width relative to the median from 0.01% to 100%, as \"5%\"";

    /// Repetitions at which to give up unless told otherwise.
    pub const MOST: u32 = 2_000;

    /// Fewer loads say too little of their own scatter.
    const FEWEST: u32 = 20;

    /// The rule for a width as people write it (`5%`), with its default limits.
    pub fn parse(width: &str, fewest: Option<u32>, most: Option<u32>) -> Option<StopRule> {
        let percent: f64 = width.trim().strip_suffix('%')?.trim().parse().ok()?;
        let (fewest, most) = (fewest.unwrap_or(Self::FEWEST), most.unwrap_or(Self::MOST));
        let width_ppm = (percent * 1e4).round() as u32;
        (0.01..=100.0).contains(&percent).then_some(StopRule { width_ppm, fewest, most })
    }

    /// Width of the interval relative to the median.
    pub fn width(&self) -> f64 {
        f64::from(self.width_ppm) / 1e6
    }
}

choice! {
    /// Parts of results that a store keeps.
    pub enum Keep, "keep" {
        /// Everything.
        All = "all",
        /// Load times, counts, floors, paints and energy of visits; no requests, connections, links, events and critical paths.
        Visits = "visits",
    }
    not_yet {}
}

/// A part of a plan's journeys, for one of several processes or machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// Its number, from 1.
    pub number: u32,
    /// Number of shards.
    pub of: u32,
}

impl Shard {
    /// Accepted texts, for error messages.
    pub const EXPECTED: &str = "the number of a shard and of all shards, as 2/7";
}

impl std::str::FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Shard, String> {
        let numbers = text.split_once('/').and_then(|(number, of)| {
            Some(Shard { number: number.trim().parse().ok()?, of: of.trim().parse().ok()? })
        });
        let shard = numbers.filter(|shard| (1..=shard.of).contains(&shard.number));
        shard.ok_or_else(|| format!("expected {}", Self::EXPECTED))
    }
}

impl std::fmt::Display for Shard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

/// Pages of a shard, at least, if shards are parted by pages.
const PAGES_A_SHARD: u64 = 4;

/// Scenarios with their repetitions and seeds; never empty.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    name: String,
    seed: u64,
    repetitions: u32,
    until: Option<StopRule>,
    order: Order,
    cells: Vec<Arc<Scenario>>,
    skipped: Vec<Skipped>,
    keep: Keep,
    shard: Option<Shard>,
}

/// The version of farlink that makes and executes a plan.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

impl Plan {
    /// A plan over `cells`.
    ///
    /// # Panics
    /// If there are no cells, no repetitions, or the seed has 64 bits: the reader of an experiment refuses those with
    /// a place in the file.
    pub fn new(
        name: impl Into<String>,
        seed: u64,
        repetitions: u32,
        order: Order,
        cells: Vec<Scenario>,
    ) -> Plan {
        assert!(!cells.is_empty() && repetitions > 0, "a plan has at least one journey");
        assert!(seed < 1 << 63, "seeds have 63 bits");
        let drawn = |mut cell: Scenario| {
            // Every arm and repetition has the same order.
            if cell.journey.order == PageOrder::Drawn(None) {
                cell.journey.order = PageOrder::Drawn(Some(seed));
            }
            Arc::new(cell)
        };
        let cells = cells.into_iter().map(drawn).collect();
        let (name, skipped) = (name.into(), Vec::new());
        let (keep, shard) = (Keep::All, None);
        Plan { name, seed, repetitions, until: None, order, cells, skipped, keep, shard }
    }

    /// The plan's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The same plan with each scenario changed.
    #[must_use]
    pub fn mapped(&self, change: impl Fn(&Scenario) -> Scenario) -> Plan {
        let cells = self.cells.iter().map(|cell| Arc::new(change(cell))).collect();
        Plan { cells, ..self.clone() }
    }

    /// The same plan with the combinations that it leaves out.
    #[must_use]
    pub fn without(self, skipped: Vec<Skipped>) -> Plan {
        Plan { skipped, ..self }
    }

    /// The same plan, of whose results a store keeps this.
    #[must_use]
    pub fn keeping(self, keep: Keep) -> Plan {
        Plan { keep, ..self }
    }

    /// Parts of the results that a store keeps.
    pub fn keep(&self) -> Keep {
        self.keep
    }

    /// The same plan, of whose journeys this process executes a shard.
    #[must_use]
    pub fn sharded(self, shard: Option<Shard>) -> Plan {
        Plan { shard, ..self }
    }

    /// The shard that is executed here; `None` is all.
    pub fn shard(&self) -> Option<Shard> {
        self.shard
    }

    /// Combinations of settings that were left out because no world can run them.
    pub fn skipped(&self) -> &[Skipped] {
        &self.skipped
    }

    /// The same plan, repeated by a stop rule: at first as often as the rule's fewest repetitions.
    #[must_use]
    pub fn until(self, rule: StopRule) -> Plan {
        Plan { repetitions: rule.fewest.min(rule.most), until: Some(rule), ..self }
    }

    /// The stop rule, if there is one.
    pub fn stop_rule(&self) -> Option<StopRule> {
        self.until
    }

    /// The same plan with this many repetitions, at most those of its stop rule.
    #[must_use]
    pub fn repeated(self, repetitions: u32) -> Plan {
        let most = self.until.map_or(u32::MAX, |rule| rule.most);
        Plan { repetitions: repetitions.min(most), ..self }
    }

    /// The same plan by another name.
    #[must_use]
    pub fn named(self, name: String) -> Plan {
        Plan { name, ..self }
    }

    /// The plan's seed.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Number of repetitions of each scenario; with a stop rule it may become larger.
    pub fn repetitions(&self) -> u32 {
        self.repetitions
    }

    /// The order of execution.
    pub fn order(&self) -> Order {
        self.order
    }

    /// The scenarios.
    pub fn cells(&self) -> &[Arc<Scenario>] {
        &self.cells
    }

    /// Number of journeys.
    pub fn journey_count(&self) -> u64 {
        self.cells.len() as u64 * u64::from(self.repetitions)
    }

    /// Number of journeys of the shard that is executed here.
    pub fn own_journey_count(&self) -> u64 {
        self.own_positions().count() as u64
    }

    /// Positions of the shard that is executed here, in the plan's order.
    fn own_positions(&self) -> impl Iterator<Item = u64> {
        let Shard { number, of } = self.shard.unwrap_or(Shard { number: 1, of: 1 });
        self.positions_in_shards(of)
            .filter_map(move |(position, shard)| (shard == number).then_some(position))
    }

    /// All positions in the plan's order, each with the number of its shard, of so many. Of many pages each belongs to one shard, so
    /// that it is prepared once.
    pub fn positions_in_shards(&self, of: u32) -> impl Iterator<Item = (u64, u32)> {
        let page_turns = self.cells.windows(2).map(|two| u64::from(two[0].page != two[1].page));
        let page_numbers = std::iter::once(0).chain(page_turns.scan(0, |number, turn| {
            *number += turn;
            Some(*number)
        }));
        let pages = page_numbers.clone().last().unwrap_or(0) + 1;
        let by_page = of > 1 && pages >= PAGES_A_SHARD * u64::from(of);
        let repetitions = self.repetitions;
        let all = (0..self.cells.len()).zip(page_numbers).flat_map(move |(cell, page)| {
            (0..repetitions).map(move |repetition| (cell, repetition, page))
        });
        (0_u64..).zip(all).map(move |(turn, (cell, repetition, page))| {
            let turn = if by_page { page } else { turn };
            // Below `of`, which has 32 bits.
            (self.position(cell, repetition), (turn % u64::from(of)) as u32 + 1)
        })
    }

    /// Positions of each scenario: with a stop rule there is room for all repetitions, so that positions stay when they become more.
    fn stride(&self) -> u64 {
        u64::from(self.until.map_or(self.repetitions, |rule| rule.most))
    }

    /// The position of a scenario's repetition.
    pub fn position(&self, cell: usize, repetition: u32) -> u64 {
        cell as u64 * self.stride() + u64::from(repetition)
    }

    /// The journey at `position`.
    pub fn journey(&self, position: u64) -> JourneyPlan {
        let cell = (position / self.stride()) as u32;
        let repetition = (position % self.stride()) as u32;
        JourneyPlan {
            position,
            cell,
            repetition,
            seed: seed_of(self.seed, repetition),
            scenario: Arc::clone(&self.cells[cell as usize]),
        }
    }

    /// The positions of the plan, or of its shard, in the order in which they are to be executed.
    pub fn execution_order(&self) -> Vec<u64> {
        let mut order: Vec<u64> = self.own_positions().collect();
        let stride = self.stride();
        match self.order {
            Order::Blocked => {}
            Order::Alternated => order.sort_by_key(|p| (p % stride, p / stride)),
            Order::Random => {
                let mut stream = RandomSource::new(self.seed, 0).stream("plan/order");
                for last in (1..order.len()).rev() {
                    order.swap(last, stream.below(last as u64 + 1) as usize);
                }
            }
        }
        order
    }

    /// Digest of what the plan measures, in hexadecimal: equal digests mean equal rows. It covers the version
    /// of farlink, the seed, the repetitions or their stop rule, the parts that are kept, and every scenario; not the name, the order
    /// or the shard.
    pub fn digest(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        let mut field = |text: &str| {
            hasher.update(&(text.len() as u64).to_le_bytes());
            hasher.update(text.as_bytes());
        };
        field("farlink plan 1");
        field(VERSION);
        field(&self.seed.to_string());
        match self.until {
            None => field(&self.repetitions.to_string()),
            Some(StopRule { width_ppm, fewest, most }) => {
                field(&format!("{fewest} to {most} until {width_ppm}"));
            }
        }
        if self.keep != Keep::All {
            field(self.keep.name());
        }
        for cell in &self.cells {
            field(&cell.canonical());
        }
        hasher.finalize().to_hex().to_string()
    }
}

// The unit of execution: one journey, from its description to its records.

/// Everything that determines one journey (with the version of farlink).
#[derive(Clone, Debug, PartialEq)]
pub struct JourneyPlan {
    /// Position in the plan, from 0: cell by cell, repetition by repetition, whatever the order of execution.
    /// It keys the journey's rows.
    pub position: u64,
    /// Index of the scenario in the plan.
    pub cell: u32,
    /// Index of the repetition. A label: randomness depends on `seed` alone.
    pub repetition: u32,
    /// The seed of all the journey's random streams.
    pub seed: u64,
    /// The scenario to run.
    pub scenario: Arc<Scenario>,
}

/// Result of a journey.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JourneyResult {
    /// Its visits, in order.
    pub visits: Vec<MeasuredVisit>,
    /// Notes for readers: anything modelled, defaulted or not shaped. One sentence each.
    pub notes: Vec<String>,
    /// Reason for an early end of the journey, if it ended early.
    pub failure: Option<String>,
}

/// A visit with its physical limits.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredVisit {
    /// Record of the visit.
    pub record: VisitRecord,
    /// Sums over requests and connections as stored, for a record without them; `None` if the record has them.
    pub kept: Option<VisitFigures>,
    /// Lower bounds of its PLT; `None` if none was computed.
    pub floors: Option<Floors>,
    /// Its critical path, with the excess over the floor by cause; `None` if it did not load or has no floor.
    pub critical_path: Option<CriticalPath>,
    /// The critical path to its first render; `None` if nothing was rendered. It is not stored.
    pub render_path: Option<CriticalPath>,
}

impl MeasuredVisit {
    /// A record without limits.
    pub fn new(record: VisitRecord) -> MeasuredVisit {
        MeasuredVisit { record, kept: None, floors: None, critical_path: None, render_path: None }
    }

    /// Sums over the visit's requests and connections.
    pub fn figures(&self) -> VisitFigures {
        self.kept.unwrap_or_else(|| VisitFigures::of(&self.record))
    }
}

/// Lower bounds of the page load time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Floors {
    /// The client discovers the graph; compute as given.
    pub graph_ns: u64,
    /// Everything is known at the start (push); compute as given.
    pub oracle_ns: u64,
    /// The client discovers the graph; compute costs nothing.
    pub graph_without_compute_ns: u64,
    /// Everything is known at the start; compute costs nothing.
    pub oracle_without_compute_ns: u64,
}

/// Runs one journey: a pure function of its plan. A panic fails that journey alone.
pub trait Execute: Sync {
    /// The journey's result.
    fn execute(&self, journey: &JourneyPlan) -> JourneyResult;
}

impl<F: Fn(&JourneyPlan) -> JourneyResult + Sync> Execute for F {
    fn execute(&self, journey: &JourneyPlan) -> JourneyResult {
        self(journey)
    }
}

/// The seed of repetition `repetition` of every arm of a plan with this `seed`.
///
/// The first repetition has the plan's own seed, so that any journey can be rerun alone by giving its seed to a
/// plan of one repetition. Seeds have 63 bits, which SQLite and TOML can hold.
pub fn seed_of(seed: u64, repetition: u32) -> u64 {
    match repetition {
        0 => seed,
        _ => RandomSource::new(seed, u64::from(repetition)).stream("repetition").next_u64() >> 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NetworkSpec;

    fn plan(order: Order) -> Plan {
        let cells = ["a", "b", "c"].map(|page| Scenario::new(page, NetworkSpec::default()));
        Plan::new("test", 7, 2, order, cells.to_vec())
    }

    #[test]
    fn arms_are_paired_by_seed() {
        let plan = plan(Order::Blocked);
        let seeds: Vec<u64> = (0..6).map(|p| plan.journey(p).seed).collect();
        assert_eq!(seeds[0..2], seeds[2..4]);
        assert_eq!(seeds[0..2], seeds[4..6]);
        assert_ne!(seeds[0], seeds[1]);
    }

    #[test]
    fn order_permutes_execution_and_nothing_else() {
        assert_eq!(plan(Order::Blocked).execution_order(), [0, 1, 2, 3, 4, 5]);
        assert_eq!(plan(Order::Alternated).execution_order(), [0, 2, 4, 1, 3, 5]);
        let mut random = plan(Order::Random).execution_order();
        assert_eq!(random, plan(Order::Random).execution_order());
        random.sort_unstable();
        assert_eq!(random, [0, 1, 2, 3, 4, 5]);
        assert_eq!(plan(Order::Blocked).digest(), plan(Order::Random).digest());
    }

    #[test]
    fn a_stop_rule_adds_repetitions_and_moves_none() {
        let rule = StopRule { width_ppm: 50_000, fewest: 2, most: 10 };
        let few = plan(Order::Alternated).until(rule);
        let more = few.clone().repeated(3);
        assert_eq!(few.execution_order(), [0, 10, 20, 1, 11, 21]);
        assert_eq!(more.execution_order(), [0, 10, 20, 1, 11, 21, 2, 12, 22]);
        assert_eq!(few.journey(11), more.journey(11));
        assert_eq!(few.digest(), more.digest());
        assert_ne!(few.digest(), plan(Order::Alternated).digest());
        assert_eq!(more.repeated(100).repetitions(), 10);
    }

    #[test]
    fn shards_share_the_journeys() {
        let whole = plan(Order::Alternated);
        let of = 4;
        let shards = (1..=of).map(|number| whole.clone().sharded(Some(Shard { number, of })));
        let mut all = Vec::new();
        for shard in shards {
            assert_eq!(shard.digest(), whole.digest());
            assert_eq!(shard.execution_order().len() as u64, shard.own_journey_count());
            all.extend(shard.execution_order());
        }
        all.sort_unstable();
        assert_eq!(all, [0, 1, 2, 3, 4, 5]);
        assert_eq!("2/7".parse(), Ok(Shard { number: 2, of: 7 }));
        for wrong in ["0/7", "8/7", "1", "1/0", "a/b", ""] {
            assert!(wrong.parse::<Shard>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_page_of_many_belongs_to_one_shard() {
        let pages = ["a", "b", "c", "d", "e", "f", "g", "h"].map(str::to_owned);
        let cells = pages.iter().flat_map(|page| {
            [1, 2].map(|down| {
                let mut cell = Scenario::new(page.clone(), NetworkSpec::default());
                cell.network.down_bit_per_s = Some(down);
                cell
            })
        });
        let whole = Plan::new("test", 7, 3, Order::Blocked, cells.collect());
        let shard = whole.clone().sharded(Some(Shard { number: 2, of: 2 }));
        let mut its: Vec<String> = shard
            .execution_order()
            .into_iter()
            .map(|it| whole.journey(it).scenario.page.spec.clone())
            .collect();
        assert_eq!(its.len(), 24);
        its.dedup();
        assert_eq!(its, ["b", "d", "f", "h"]);
    }

    #[test]
    fn the_digest_tells_plans_apart() {
        let cells = vec![Scenario::new("a", NetworkSpec::default())];
        let one = Plan::new("test", 7, 2, Order::Blocked, cells.clone());
        let other = Plan::new("test", 8, 2, Order::Blocked, cells);
        assert_ne!(one.digest(), other.digest());
        assert_ne!(one.digest(), plan(Order::Blocked).digest());
    }

    #[test]
    fn seeds_differ_by_repetition_and_fit_63_bits() {
        let seeds: Vec<u64> = (0..1000).map(|r| seed_of(1, r)).collect();
        assert_eq!(seeds[0], 1);
        assert!(seeds.iter().all(|s| *s < 1 << 63));
        assert_eq!(seeds.iter().collect::<std::collections::BTreeSet<_>>().len(), 1000);
    }

    #[test]
    fn neighbouring_plans_share_no_repetition() {
        let of = |seed| (0..100).map(move |r| seed_of(seed, r));
        let one: std::collections::BTreeSet<u64> = of(1).collect();
        assert!(of(2).all(|s| !one.contains(&s)));
    }
}
