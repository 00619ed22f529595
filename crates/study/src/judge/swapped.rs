//! Swapped labels: results of HTTP/1.1 are attributed to SPDY or HTTP/2, and vice versa.

use super::{Cell, Fact, Measured};
use scenario::Protocol;

/// Facts in which the two ways of a comparison may differ; all others must be the same. Cells are exchanged
/// with the one that differs least.
const OF_THE_WAY: [&str; 6] = ["experiment", "protocol", "tls", "tcp", "route", "browser"];

impl Measured {
    /// Exchanges the measurements of each HTTP/1.1 cell with those of a comparable cell of a multiplexing
    /// protocol, if there is one.
    #[must_use]
    pub fn with_labels_swapped(mut self) -> Measured {
        let cells = self.cells_mut();
        let of = |speaks: fn(Protocol) -> bool| {
            let places = 0..cells.len();
            places.filter(|place| protocol(&cells[*place]).is_some_and(speaks)).collect::<Vec<_>>()
        };
        let h1 = of(|protocol| protocol == Protocol::H1);
        let mut others = of(Protocol::is_multiplexed);
        for place in h1 {
            let distances = others.iter().enumerate().filter_map(|(index, other)| {
                Some((distance(&cells[place], &cells[*other])?, index))
            });
            let Some((_, index)) = distances.min() else { continue };
            exchange(cells, place, others.remove(index));
        }
        self
    }
}

fn protocol(cell: &Cell) -> Option<Protocol> {
    match cell.facts.get("protocol")? {
        Fact::Text(name) => name.parse().ok(),
        Fact::Number(_) => None,
    }
}

/// Number of facts in which two cells differ; `None` if they are not comparable.
fn distance(one: &Cell, other: &Cell) -> Option<usize> {
    let differences = one.facts.differences(&other.facts);
    let beside = differences.iter().all(|name| OF_THE_WAY.contains(name));
    beside.then_some(differences.len())
}

fn exchange(cells: &mut [Cell], one: usize, other: usize) {
    let (low, high) = (one.min(other), one.max(other));
    let (head, tail) = cells.split_at_mut(high);
    let (low, high) = (&mut head[low], &mut tail[0]);
    std::mem::swap(&mut low.values, &mut high.values);
    std::mem::swap(&mut low.loads, &mut high.loads);
    std::mem::swap(&mut low.failed, &mut high.failed);
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::judge::Quantity;
    use scenario::{NetworkSpec, Scenario, Tls};

    fn cell(page: &str, protocol: Protocol, tls: Tls, plt: f64) -> Cell {
        let mut scenario = Scenario::new(page, NetworkSpec::default());
        (scenario.stack.protocol, scenario.stack.tls) = (protocol, tls);
        let mut cell = Cell::new("e", &scenario, 0, None);
        cell.values.insert(Quantity::Plt, BTreeMap::from([(0, plt)]));
        cell
    }

    #[test]
    fn each_goes_to_the_one_beside_it() {
        let mut measured = Measured::new();
        for one in [
            cell("a", Protocol::H1, Tls::None, 1.0),
            cell("b", Protocol::H1, Tls::None, 2.0),
            cell("b", Protocol::Spdy, Tls::Tls12, 3.0),
            cell("b", Protocol::Spdy, Tls::None, 4.0),
            cell("a", Protocol::Spdy, Tls::Tls12, 5.0),
            cell("a", Protocol::H1Pipelined, Tls::None, 6.0),
            cell("c", Protocol::H1, Tls::None, 7.0),
        ] {
            measured.add("e", one);
        }
        let swapped = measured.clone().with_labels_swapped();
        let plts: Vec<f64> =
            swapped.cells().iter().map(|cell| cell.values[&Quantity::Plt][&0]).collect();
        assert_eq!(plts, [5.0, 4.0, 3.0, 2.0, 1.0, 6.0, 7.0]);
        assert_eq!(swapped.with_labels_swapped(), measured);
    }
}
