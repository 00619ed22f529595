//! Our loads beside a study's published tables, place by place: how far they are off, whatever a claim allows.

use std::collections::BTreeMap;

use statistics::Sample;

use super::dataset::{ClauseError, published_column};
use super::terms::Column;
use super::{Filter, Measurements, Sources, Terms};

/// A published table of measurements beside ours.
#[derive(Clone, Debug, PartialEq)]
pub struct PublishedTable {
    /// Its name in the clauses.
    pub name: String,
    /// Our number over the published one, by place.
    ratios: Vec<f64>,
}

impl PublishedTable {
    /// Number of places with both numbers.
    pub fn places(&self) -> usize {
        self.ratios.len()
    }

    /// Median over the places of the distance from the published number, in per cent of it.
    pub fn error_percent(&self) -> f64 {
        median(self.ratios.iter().map(|ratio| 100.0 * (ratio - 1.0).abs()))
    }

    /// Median over the places of our number over the published one.
    pub fn ratio(&self) -> f64 {
        median(self.ratios.iter().copied())
    }

    /// All places of several tables; `None` without tables.
    pub fn of_all(tables: &[PublishedTable]) -> Option<PublishedTable> {
        let ratios = tables.iter().flat_map(|table| table.ratios.iter().copied());
        (!tables.is_empty())
            .then(|| PublishedTable { name: "all".to_owned(), ratios: ratios.collect() })
    }
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    Sample::new(values).expect("a table has a place, and its numbers are finite").median()
}

/// The tables that state measurements, as far as `own` has their cells. A cell counts with the statistic that the clauses use.
pub(super) fn pointwise(
    own: &Measurements,
    terms: &Terms,
    files: &BTreeMap<String, String>,
) -> Result<Vec<PublishedTable>, ClauseError> {
    let sources = Sources { measurements: own, terms, tables: files };
    let mut tables = Vec::new();
    for (name, column) in &terms.tables {
        let ratios = ratios(sources, name, column)?;
        if !ratios.is_empty() {
            tables.push(PublishedTable { name: name.clone(), ratios });
        }
    }
    Ok(tables)
}

fn ratios(sources: Sources<'_>, name: &str, column: &Column) -> Result<Vec<f64>, ClauseError> {
    let Some(of) = &column.of else { return Ok(Vec::new()) };
    let terms = sources.terms;
    let published = published_column(sources, name, &column.y)?;
    let mut ratios = Vec::new();
    for cell in sources.measurements.cells() {
        if !terms.selects(&of.arm, &of.grid, &Filter::default(), &cell.facts) {
            continue;
        }
        let (x, _) = terms.grids[&of.grid].place(&of.grid, &cell.facts)?;
        let values = cell.values.get(&of.quantity);
        let ours = values
            .and_then(|values| Sample::new(values.values().copied()))
            .and_then(|sample| terms.statistic.of(&sample));
        let theirs = published.iter().find(|(there, y)| *there == x && *y > 0.0);
        let ratio = ours.zip(theirs).map(|(ours, (_, theirs))| ours / theirs);
        ratios.extend(ratio.filter(|ratio| ratio.is_finite()));
    }
    Ok(ratios)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_medians_over_places() {
        let table = |name: &str, ratios: &[f64]| PublishedTable {
            name: name.to_owned(),
            ratios: ratios.to_vec(),
        };
        let tables = [table("a", &[0.5, 1.1, 1.2]), table("b", &[0.8, 1.0])];
        assert!((tables[0].error_percent() - 20.0).abs() < 1e-9);
        assert!((tables[0].ratio() - 1.1).abs() < 1e-9);
        let all = PublishedTable::of_all(&tables).unwrap();
        // Errors of 50, 10, 20, 20 and 0 %.
        assert!((all.error_percent() - 20.0).abs() < 1e-9 && all.places() == 5);
        assert_eq!(PublishedTable::of_all(&[]), None);
    }
}
