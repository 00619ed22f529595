//! The search for the best configuration: by protocol, first every change alone, then the helpful ones together; of the best of these
//! every change. The first few, and the best of each protocol that is within reach of
//! them, are finalists. All loads are paired by their seeds.

use std::collections::BTreeMap;

use super::knobs::{Knob, PROTOCOL};

/// Logarithm of the ratio of load times that counts as better: 0.2 %.
const LEAST_GAIN: f64 = 0.002;

/// Configurations with the best scores that are measured more closely.
const FINALISTS: usize = 6;

/// Logarithm of the ratio of load times up to which another protocol is measured more closely.
const WITHIN_REACH: f64 = 0.1;

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
    /// Key of the setting that changes, or `page`.
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

/// Scores of configurations: the logarithm of their load time over the present one; `None`: it does not load or is refused.
pub struct Scores<F> {
    measure: F,
    known: BTreeMap<Configuration, Option<f64>>,
}

impl<F: FnMut(&Configuration) -> Option<f64>> Scores<F> {
    /// Scores by `measure`, each configuration once.
    pub fn new(measure: F) -> Scores<F> {
        Scores { measure, known: BTreeMap::new() }
    }

    /// Number of configurations measured.
    pub fn count(&self) -> usize {
        self.known.len()
    }

    fn of(&mut self, configuration: &Configuration) -> f64 {
        let measure = &mut self.measure;
        let score = self.known.entry(configuration.clone()).or_insert_with_key(|it| measure(it));
        score.unwrap_or(f64::INFINITY)
    }

    /// The best of all configurations.
    pub fn exhaustive(&mut self, space: &SearchSpace) -> Configuration {
        self.best(space.all()).unwrap_or_else(|| space.base())
    }

    fn best(&mut self, of: Vec<Configuration>) -> Option<Configuration> {
        let scored = of.into_iter().map(|it| (self.of(&it), it));
        let scored: Vec<(f64, Configuration)> = scored.collect();
        scored.into_iter().min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, it)| it)
    }

    /// Searches the space: afterwards [`Scores::finalists`] are known.
    pub fn search(&mut self, space: &SearchSpace) {
        let protocols = 0..space.protocols.len();
        let of_protocols: Vec<Configuration> = protocols
            .map(|protocol| {
                let start = ProtocolStart::of(protocol, space, self);
                self.climb(start)
            })
            .collect();
        if let Some(best) = self.best(of_protocols) {
            self.polish(space, best);
        }
    }

    /// Applies the helpful changes one after another.
    fn climb(&mut self, start: ProtocolStart) -> Configuration {
        let mut at = start.base;
        for (knob, value) in start.helpful {
            let next = at.with(knob, Some(value));
            if self.of(&next) < self.of(&at) - LEAST_GAIN {
                at = next;
            }
        }
        at
    }

    /// Tries each change of a configuration until none helps.
    fn polish(&mut self, space: &SearchSpace, mut at: Configuration) {
        while let Some(next) = self.best(space.neighbours(&at)) {
            if self.of(&next) >= self.of(&at) - LEAST_GAIN {
                return;
            }
            at = next;
        }
    }

    /// Configurations to be measured more closely: the first by score and the best of each protocol within reach, then, up to `most` of
    /// them, the next of each protocol in turn, since few loads over a lossy network may have misled the search.
    pub fn finalists(&self, space: &SearchSpace, most: usize) -> Vec<Configuration> {
        let scored = self.known.iter().filter_map(|(it, score)| Some(((*score)?, it)));
        let mut scored: Vec<(f64, &Configuration)> = scored.collect();
        scored.sort_by(|a, b| a.0.total_cmp(&b.0));
        let limit = scored.first().map_or(0.0, |(score, _)| score + WITHIN_REACH);
        let of_protocol = |protocol| scored.iter().filter(move |(_, it)| it.protocol == protocol);
        let protocols = 0..space.protocols.len();
        let firsts = protocols.clone().filter_map(|protocol| of_protocol(protocol).next());
        let sure = scored.iter().take(FINALISTS).chain(firsts).filter(|(score, _)| *score <= limit);
        let in_turn = (0..scored.len()).flat_map(|place| {
            let mut turn: Vec<&(f64, &Configuration)> =
                protocols.clone().filter_map(|protocol| of_protocol(protocol).nth(place)).collect();
            turn.sort_by(|a, b| a.0.total_cmp(&b.0));
            turn
        });
        let mut finalists: Vec<Configuration> = Vec::new();
        for (_, it) in sure {
            if !finalists.contains(it) {
                finalists.push((*it).clone());
            }
        }
        for (_, it) in in_turn {
            if finalists.len() < most && !finalists.contains(it) {
                finalists.push((*it).clone());
            }
        }
        finalists
    }
}

/// A protocol with every change alone.
struct ProtocolStart {
    base: Configuration,
    /// The best value of each knob that helps, the most helpful first.
    helpful: Vec<(usize, usize)>,
}

impl ProtocolStart {
    fn of<F: FnMut(&Configuration) -> Option<f64>>(
        protocol: usize,
        space: &SearchSpace,
        scores: &mut Scores<F>,
    ) -> ProtocolStart {
        let base = Configuration { protocol, ..space.base() };
        let unturned = scores.of(&base);
        let mut gains: Vec<(f64, usize, usize)> = Vec::new();
        for (at, knob) in space.open_knobs(protocol) {
            let gain = |value: usize, scores: &mut Scores<F>| {
                unturned - scores.of(&base.with(at, Some(value)))
            };
            let of_values: Vec<(f64, usize)> =
                (0..knob.values.len()).map(|value| (gain(value, scores), value)).collect();
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
    use crate::commands::advise::knobs;

    fn space() -> SearchSpace {
        SearchSpace {
            protocols: ["h2", "h1", "h3-deployed"].map(str::to_owned).to_vec(),
            knobs: knobs::all(),
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
        let host = if has("page", "one-host") { 0.03 } else { 0.0 };
        protocol + window + bbr + both + quic + host
    }

    #[test]
    fn the_search_finds_what_trying_everything_finds_with_fewer_tries() {
        let space = space();
        let mut all = Scores::new(|it| Some(score(&space, it)));
        let best = all.exhaustive(&space);
        let mut some = Scores::new(|it| Some(score(&space, it)));
        some.search(&space);
        assert_eq!(some.finalists(&space, 0)[0], best);
        let many = some.finalists(&space, 12);
        assert_eq!((many.len(), &many[0]), (12, &best));
        assert!(
            (0..3).all(|protocol| many.iter().any(|it| it.protocol == protocol)),
            "each has its turn"
        );
        assert!(some.count() * 3 < all.count(), "{} of {}", some.count(), all.count());
    }

    #[test]
    fn what_is_refused_is_not_advised() {
        let space = space();
        let mut scores = Scores::new(|it: &Configuration| match it.protocol {
            0 if it.values.iter().all(Option::is_none) => Some(0.0),
            _ => None,
        });
        scores.search(&space);
        assert_eq!(scores.finalists(&space, 9), [space.base()]);
    }
}
