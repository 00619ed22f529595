//! Errors in one direction: by protocol, network and security.

use std::collections::BTreeMap;

use super::comparison::Comparison;
use super::halves::MEDIAN;
use scenario::Scenario;
use statistics::Sample;

/// The signed error of a group of cells.
#[derive(Clone, Debug, PartialEq)]
pub struct Bias {
    /// Name of the property that the cells have in common: "protocol".
    pub key: &'static str,
    /// Its value: "h2".
    pub value: String,
    /// Number of cells.
    pub cells: usize,
    /// Median of log(model / reference): 0.02 is 2 % too slow.
    pub median: f64,
}

/// A property that cells can have in common, with its accessor.
type Key = (&'static str, fn(&Scenario) -> String);

/// Properties by which cells are grouped.
const KEYS: [Key; 3] = [
    ("protocol", |scenario| scenario.stack.protocol.to_string()),
    ("TLS", |scenario| scenario.stack.tls.to_string()),
    ("network", |scenario| scenario.network.to_string()),
];

/// The bias of every group; `scenario_of` gives the scenario of each subject.
pub fn biases<'a>(
    comparison: &Comparison<'_>,
    scenario_of: impl Fn(usize) -> &'a Scenario,
) -> Vec<Bias> {
    let mut biases = Vec::new();
    for (key, value_of) in KEYS {
        let mut groups: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        for subject in 0..comparison.subjects.len() {
            let deviation =
                comparison.model[subject][MEDIAN] - comparison.reference[subject][MEDIAN];
            groups.entry(value_of(scenario_of(subject))).or_default().push(deviation);
        }
        biases.extend(groups.into_iter().filter_map(|(value, deviations)| {
            let cells = deviations.len();
            Some(Bias { key, value, cells, median: Sample::new(deviations)?.median() })
        }));
    }
    biases
}
