//! The search for the best configuration, with few loads of each: by protocol, first every change alone, then the helpful ones
//! together; of the best of these every change. With few loads left to make, pairs of changes are left out. Then successive halving: the better ones are loaded more often, since few loads over a
//! lossy network mislead. Each time every change of each protocol's leader joins, and each protocol keeps its best two. All loads are paired by
//! their seeds.

use std::collections::{BTreeMap, BTreeSet};

use super::knobs::{Knob, PROTOCOL};

/// Logarithm of the ratio of load times that counts as better: 0.2 %.
const LEAST_GAIN: f64 = 0.002;

/// Configurations of each protocol that are loaded to the end.
const OF_PROTOCOL: usize = 2;

/// A configuration: the protocol, and for each knob the index of its value; `None` is "as it is".
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Configuration {
    /// Index of the protocol.
    pub protocol: usize,
    /// Values of the knobs.
    pub values: Vec<Option<usize>>,
}

/// Knobs and protocols that may be changed.
pub struct SearchSpace {
    /// The protocols; the first is the present one.
    pub protocols: Vec<String>,
    /// The other knobs.
    pub knobs: Vec<Knob>,
}

impl SearchSpace {
    /// The present configuration.
    pub fn base(&self) -> Configuration {
        Configuration { protocol: 0, values: vec![None; self.knobs.len()] }
    }

    /// All configurations in which every knob that is turned concerns the protocol.
    pub fn all(&self) -> Vec<Configuration> {
        let mut all = Vec::new();
        for protocol in 0..self.protocols.len() {
            let mut of_protocol = vec![Configuration { protocol, ..self.base() }];
            for (at, knob) in self.open_knobs(protocol) {
                let turned = of_protocol.iter().flat_map(|configuration| {
                    (0..knob.values.len()).map(|value| configuration.with(at, Some(value)))
                });
                let turned: Vec<Configuration> = turned.collect();
                of_protocol.extend(turned);
            }
            all.extend(of_protocol);
        }
        all
    }

    fn open_knobs(&self, protocol: usize) -> impl Iterator<Item = (usize, &Knob)> {
        let name = &self.protocols[protocol];
        self.knobs.iter().enumerate().filter(move |(_, knob)| knob.concerns(name))
    }

    /// The changes of one knob.
    fn neighbours(&self, of: &Configuration) -> Vec<Configuration> {
        let knobs = self.open_knobs(of.protocol);
        let values = knobs.flat_map(|(at, knob)| {
            let values = (0..knob.values.len()).map(Some).chain([None]);
            values.filter(move |value| *value != of.values[at]).map(move |value| of.with(at, value))
        });
        values.collect()
    }

    /// The changes of two knobs.
    fn pairs(&self, of: &Configuration) -> Vec<Configuration> {
        let changes = |it: &Configuration| {
            it.values.iter().zip(&of.values).filter(|(one, other)| one != other).count()
        };
        let twice = self.neighbours(of).into_iter().flat_map(|it| self.neighbours(&it));
        let pairs: BTreeSet<Configuration> = twice.filter(|it| changes(it) == 2).collect();
        pairs.into_iter().collect()
    }

    /// The way from the present configuration to another: the protocol, then one knob after another.
    pub fn way_to(&self, to: &Configuration) -> Vec<ConfigurationStep> {
        let mut at = self.base();
        let mut way = Vec::new();
        if to.protocol > 0 {
            at.protocol = to.protocol;
            let value = self.protocols[to.protocol].clone();
            way.push(ConfigurationStep { to: at.clone(), key: PROTOCOL, value });
        }
        for (index, (knob, value)) in self.knobs.iter().zip(&to.values).enumerate() {
            if let Some(value) = value {
                at = at.with(index, Some(*value));
                let (key, value) = (knob.key(), knob.values[*value].to_owned());
                way.push(ConfigurationStep { to: at.clone(), key, value });
            }
        }
        way
    }
}

impl SearchSpace {
    /// A configuration without the change of this key.
    pub fn without(&self, configuration: &Configuration, key: &str) -> Configuration {
        match self.knobs.iter().position(|knob| knob.key() == key) {
            None => Configuration { protocol: 0, ..configuration.clone() },
            Some(knob) => configuration.with(knob, None),
        }
    }
}

/// One change on the way to a configuration.
pub struct ConfigurationStep {
    /// The configuration after it.
    pub to: Configuration,
    /// Key of the knob that changes.
    pub key: &'static str,
    /// Its new value.
    pub value: String,
}

impl Configuration {
    /// The same with another value of a knob.
    pub fn with(&self, knob: usize, value: Option<usize>) -> Configuration {
        let mut other = self.clone();
        other.values[knob] = value;
        other
    }
}

/// Numbers of loads in a search.
pub struct LoadBudget {
    /// Of each configuration at first.
    pub first: u32,
    /// Of the configurations that are left at the end.
    pub most: u32,
    /// In all.
    pub all: usize,
}

/// Scores of configurations: the logarithm of their load time over the present one.
pub struct Search<'a, F> {
    space: &'a SearchSpace,
    measure: F,
    /// Scores by the number of loads; infinite: it does not load or is refused.
    known: BTreeMap<Configuration, BTreeMap<u32, f64>>,
}

impl<'a, F: FnMut(&Configuration, u32) -> Option<f64>> Search<'a, F> {
    /// A search that scores by `measure`, which takes a configuration and a number of loads. Fewer loads are among more.
    pub fn new(space: &'a SearchSpace, measure: F) -> Self {
        Search { space, measure, known: BTreeMap::new() }
    }

    /// Number of configurations that were loaded.
    pub fn tried(&self) -> usize {
        self.known.len()
    }

    /// Number of loads that were made.
    pub fn loads(&self) -> usize {
        let of_each = self.known.values().filter_map(|scores| scores.keys().last());
        of_each.map(|loads| *loads as usize).sum()
    }

    fn score(&mut self, of: &Configuration, loads: u32) -> f64 {
        let measure = &mut self.measure;
        let scores = self.known.entry(of.clone()).or_default();
        *scores.entry(loads).or_insert_with(|| measure(of, loads).unwrap_or(f64::INFINITY))
    }

    /// The best of all configurations.
    pub fn exhaustive(&mut self, loads: u32) -> Configuration {
        self.best(self.space.all(), loads).unwrap_or_else(|| self.space.base())
    }

    /// The best configuration that so many loads find.
    pub fn search(&mut self, budget: &LoadBudget) -> Configuration {
        let of_protocols = (0..self.space.protocols.len())
            .map(|protocol| self.climb(protocol, budget.first))
            .collect();
        if let Some(best) = self.best(of_protocols, budget.first) {
            let best = self.polish(best, budget.first);
            self.pair_up(best, budget);
        }
        self.halve(budget).unwrap_or_else(|| self.space.base())
    }

    fn best(&mut self, of: Vec<Configuration>, loads: u32) -> Option<Configuration> {
        self.ranked(of, loads).into_iter().next()
    }

    /// These in the order of their scores, without those that do not load.
    fn ranked(&mut self, of: Vec<Configuration>, loads: u32) -> Vec<Configuration> {
        let scored = of.into_iter().map(|it| (self.score(&it, loads), it));
        let mut scored: Vec<(f64, Configuration)> =
            scored.filter(|(score, _)| score.is_finite()).collect();
        scored.sort_by(|a, b| a.0.total_cmp(&b.0));
        scored.into_iter().map(|(_, it)| it).collect()
    }

    /// Applies the changes that help a protocol alone one after another.
    fn climb(&mut self, protocol: usize, loads: u32) -> Configuration {
        let start = ProtocolStart::of(protocol, self, loads);
        let mut at = start.base;
        for (knob, value) in start.helpful {
            let next = at.with(knob, Some(value));
            if self.score(&next, loads) < self.score(&at, loads) - LEAST_GAIN {
                at = next;
            }
        }
        at
    }

    /// Tries each change of a configuration until none helps.
    fn polish(&mut self, mut at: Configuration, loads: u32) -> Configuration {
        while let Some(next) = self.best(self.space.neighbours(&at), loads) {
            if self.score(&next, loads) >= self.score(&at, loads) - LEAST_GAIN {
                break;
            }
            at = next;
        }
        at
    }

    /// Tries all pairs of changes, if half of the loads are enough for that: some changes help only together, as one host for all does
    /// with a scheduler that knows what is urgent.
    fn pair_up(&mut self, at: Configuration, budget: &LoadBudget) {
        let pairs = self.space.pairs(&at);
        if self.loads() + pairs.len() * budget.first as usize > budget.all / 2 {
            return;
        }
        let before = self.score(&at, budget.first);
        if let Some(pair) = self.best(pairs, budget.first)
            && self.score(&pair, budget.first) < before - LEAST_GAIN
        {
            self.polish(pair, budget.first);
        }
    }

    /// Loads the better ones of the known configurations twice as often, until they are loaded as often as the budget says.
    fn halve(&mut self, budget: &LoadBudget) -> Option<Configuration> {
        let mut loads = budget.first;
        let mut left = self.ranked(self.known.keys().cloned().collect(), loads);
        while loads < budget.most {
            self.widen(&mut left, loads, budget.all * 3 / 4);
            let next = (2 * loads).min(budget.most);
            let share = budget.all.saturating_sub(self.loads()) / rounds(loads, budget.most);
            left = self.survivors(left, loads, share / (next - loads) as usize);
            loads = next;
        }
        self.best(left, loads)
    }

    /// Adds the changes of each protocol's leader, the best protocol's first, while there are loads to spend.
    fn widen(&mut self, left: &mut Vec<Configuration>, loads: u32, most: usize) {
        let mut protocols = BTreeSet::new();
        let ranked = self.ranked(left.clone(), loads);
        for leader in ranked.iter().filter(|it| protocols.insert(it.protocol)) {
            for neighbour in self.space.neighbours(leader) {
                if !left.contains(&neighbour) && self.loads() + loads as usize <= most {
                    left.push(neighbour);
                    self.score(&left[left.len() - 1].clone(), loads);
                }
            }
        }
    }

    /// The first few of each protocol, then the others up to `most` in all.
    fn survivors(&mut self, of: Vec<Configuration>, loads: u32, most: usize) -> Vec<Configuration> {
        let ranked = self.ranked(of, loads);
        let is_sure = |at: usize| {
            let before = ranked[..at].iter().filter(|it| it.protocol == ranked[at].protocol);
            before.count() < OF_PROTOCOL
        };
        let (sure, others): (Vec<usize>, Vec<usize>) =
            (0..ranked.len()).partition(|at| is_sure(*at));
        let places = most.max(sure.len());
        sure.into_iter().chain(others).take(places).map(|at| ranked[at].clone()).collect()
    }
}

/// Doublings of a number of loads until it is the most.
fn rounds(loads: u32, most: u32) -> usize {
    std::iter::successors(Some(loads), |loads| Some(2 * loads)).take_while(|it| *it < most).count()
}

/// A protocol with every change alone.
struct ProtocolStart {
    base: Configuration,
    /// The best value of each knob that helps, the most helpful first.
    helpful: Vec<(usize, usize)>,
}

impl ProtocolStart {
    fn of<F: FnMut(&Configuration, u32) -> Option<f64>>(
        protocol: usize,
        search: &mut Search<'_, F>,
        loads: u32,
    ) -> ProtocolStart {
        let space = search.space;
        let base = Configuration { protocol, ..space.base() };
        let unturned = search.score(&base, loads);
        let mut gains: Vec<(f64, usize, usize)> = Vec::new();
        for (at, knob) in space.open_knobs(protocol) {
            let gain = |value: usize, search: &mut Search<'_, F>| {
                unturned - search.score(&base.with(at, Some(value)), loads)
            };
            let of_values: Vec<(f64, usize)> =
                (0..knob.values.len()).map(|value| (gain(value, search), value)).collect();
            let best = of_values.into_iter().max_by(|a, b| a.0.total_cmp(&b.0));
            gains.extend(
                best.filter(|(gain, _)| *gain > LEAST_GAIN).map(|(gain, value)| (gain, at, value)),
            );
        }
        gains.sort_by(|a, b| b.0.total_cmp(&a.0));
        let helpful = gains.iter().map(|(_, at, value)| (*at, *value)).collect();
        ProtocolStart { base, helpful }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::advise::knobs::{self, KnobScope};

    fn space() -> SearchSpace {
        SearchSpace {
            protocols: ["h2", "h1", "h3-deployed"].map(str::to_owned).to_vec(),
            knobs: knobs::all(KnobScope { view: scenario::View::Cold, middleboxes: false }),
        }
    }

    /// A load time with interactions: the window helps over HTTP/2 alone, and its gain halves with BBR.
    fn score(space: &SearchSpace, it: &Configuration) -> f64 {
        let way = space.way_to(it);
        let has =
            |key: &str, value: &str| way.iter().any(|step| step.key == key && step.value == value);
        let protocol = [0.0, 0.1, -0.05][it.protocol];
        let window = if has("transport.initial_window_segments", "40") { -0.2 } else { 0.0 };
        let bbr = if has("transport.congestion", "bbr") { -0.08 } else { 0.0 };
        let both = if window < 0.0 && bbr < 0.0 { 0.1 } else { 0.0 };
        let quic = if has("transport.quic", "iw=32") { -0.1 } else { 0.0 };
        let host = if has("hosts", "one-host") { 0.03 } else { 0.0 };
        protocol + window + bbr + both + quic + host
    }

    const BUDGET: LoadBudget = LoadBudget { first: 2, most: 10, all: 160 };

    #[test]
    fn the_search_finds_what_trying_everything_finds_with_fewer_tries() {
        let space = space();
        let mut all = Search::new(&space, |it, _| Some(score(&space, it)));
        let best = all.exhaustive(10);
        let mut some = Search::new(&space, |it, _| Some(score(&space, it)));
        assert_eq!(some.search(&BUDGET), best);
        assert!(some.loads() * 10 < all.loads(), "{} of {}", some.loads(), all.loads());
        assert!(some.tried() * 3 < all.tried(), "{} of {}", some.tried(), all.tried());
    }

    #[test]
    fn what_misleads_few_loads_is_loaded_again() {
        let space = space();
        let best = {
            let mut all = Search::new(&space, |it, _| Some(score(&space, it)));
            all.exhaustive(10)
        };
        // The best protocol is unlucky at first, and HTTP/1.1 lucky.
        let luck = |it: &Configuration, loads| match (it.protocol, loads) {
            (1, 2) => -0.4,
            (protocol, 2) if protocol == best.protocol => 0.2,
            _ => 0.0,
        };
        let mut some = Search::new(&space, |it, loads| Some(score(&space, it) + luck(it, loads)));
        let found = some.search(&BUDGET);
        assert_eq!(found.protocol, best.protocol);
        assert!(score(&space, &found) < score(&space, &best) + 0.06);
        assert!(some.loads() <= BUDGET.all, "{}", some.loads());
    }

    #[test]
    fn changes_that_help_only_together_are_found() {
        let space = space();
        let together = |it: &Configuration| {
            let way = space.way_to(it);
            let has = |key: &str| way.iter().filter(|step| step.key == key).count();
            match has("hosts") + has("server.scheduler") {
                0 => 0.0,
                1 => 0.02,
                _ => -0.04,
            }
        };
        let mut search = Search::new(&space, |it, _| Some(score(&space, it) + together(it)));
        let found = search.search(&LoadBudget { first: 1, ..BUDGET });
        assert!(together(&found) < 0.0, "{found:?}");
    }

    #[test]
    fn what_is_refused_is_not_advised() {
        let space = space();
        let mut search = Search::new(&space, |it: &Configuration, _| match it.protocol {
            0 if it.values.iter().all(Option::is_none) => Some(0.0),
            _ => None,
        });
        assert_eq!(search.search(&BUDGET), space.base());
    }
}
