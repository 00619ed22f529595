//! Definitions of the terms in a study's clauses: arms, grids, published tables, quantities.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::facts::{self, Facts, Filter};
use super::quantity::{COMMON, Queries};
use super::{Leaf, Statistic};
use crate::Study;

/// The terms.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Terms {
    /// The statistic of a cell's repetitions where an expression does not name one.
    pub statistic: Statistic,
    /// Ways of loading pages.
    #[serde(default, rename = "arm")]
    pub arms: BTreeMap<String, Filter>,
    /// Selections of cells.
    #[serde(default, rename = "grid")]
    pub grids: BTreeMap<String, Grid>,
    /// Columns of published tables.
    #[serde(default, rename = "published")]
    pub tables: BTreeMap<String, Column>,
    /// Quantities of a load beside the common ones: SQL queries.
    #[serde(default, rename = "quantity")]
    pub quantities: BTreeMap<String, String>,
    /// Views that these queries share.
    #[serde(default, rename = "view")]
    pub views: BTreeMap<String, String>,
}

/// Terms that a file adds to those of `clauses.toml`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MoreTerms {
    #[serde(default, rename = "arm")]
    arms: BTreeMap<String, Filter>,
    #[serde(default, rename = "grid")]
    grids: BTreeMap<String, Grid>,
    #[serde(default, rename = "published")]
    tables: BTreeMap<String, Column>,
}

/// A selection of cells of some experiments.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grid {
    pub experiments: Vec<String>,
    /// Narrows them.
    #[serde(default, rename = "where")]
    pub filter: Filter,
    /// The fact along the axis; without one, an arm has a single cell.
    pub x: Option<String>,
    /// The fact that tells curves apart.
    pub each: Option<String>,
}

/// A column of a published table.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Column {
    pub file: String,
    /// The column of x, or `row`.
    pub x: String,
    pub y: String,
    /// The measurement that it states.
    pub of: Option<PublishedCells>,
}

/// The cells that a column of a published table is about: the study's own measurement, by which the judge is judged.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublishedCells {
    pub quantity: String,
    pub arm: String,
    pub grid: String,
    /// The column of half the 95 % interval of the mean, in per cent of it (1.96 standard errors).
    pub ci95_pct: String,
}

impl Terms {
    /// The quantity that a leaf needs of the loads of `experiment`; `grid` is that of its clause.
    pub fn asked(&self, leaf: &Leaf, grid: Option<&str>, experiment: &str) -> Option<String> {
        let Leaf::Measured { quantity, grid: own, .. } = leaf else { return None };
        let grid = self.grids.get(own.as_deref().or(grid)?)?;
        grid.experiments.iter().any(|id| id == experiment).then(|| quantity.clone())
    }

    /// True if a cell with these facts is one of an arm on a grid.
    pub fn selects(&self, arm: &str, grid: &str, narrowed: &Filter, facts: &Facts) -> bool {
        let (Some(arm), Some(grid)) = (self.arms.get(arm), self.grids.get(grid)) else {
            return false;
        };
        [arm, &grid.filter, narrowed].iter().all(|filter| filter.takes(facts))
            && facts.experiment().is_some_and(|id| grid.experiments.contains(&id))
    }

    /// The term of a leaf that is not defined.
    pub fn unknown(&self, leaf: &Leaf, clause_grid: Option<&str>) -> Option<String> {
        let (quantity, arm, grid) = match leaf {
            Leaf::Published(table) => {
                let is_known = self.tables.contains_key(table);
                return (!is_known).then(|| format!("there is no [published.{table}]"));
            }
            Leaf::Measured { quantity, arm, grid, .. } => (quantity, arm, grid),
        };
        match grid.as_deref().or(clause_grid) {
            _ if !self.has_quantity(quantity) => Some(format!("there is no [quantity.{quantity}]")),
            _ if !self.arms.contains_key(arm) => Some(format!("there is no [arm.{arm}]")),
            Some(grid) if self.grids.contains_key(grid) => None,
            Some(grid) => Some(format!("there is no [grid.{grid}]")),
            None => Some(format!("`{arm}` over which grid? Write `on = ...` or `({arm} on ...)`")),
        }
    }

    /// True if there is a quantity of that name.
    pub fn has_quantity(&self, name: &str) -> bool {
        COMMON.iter().any(|(common, _)| *common == name) || self.quantities.contains_key(name)
    }

    /// The mistake in the definitions, if there is one.
    pub fn mistake(&self, study: &Study) -> Option<String> {
        let filters = self.arms.values().chain(self.grids.values().map(|grid| &grid.filter));
        if let Some(name) = filters.filter_map(Filter::unknown).next() {
            return Some(format!("`{name}` is no fact of a cell"));
        }
        for (name, grid) in &self.grids {
            let mut axes = [&grid.x, &grid.each].into_iter().flatten();
            if let Some(axis) = axes.find(|axis| !facts::is_fact(axis)) {
                return Some(format!("[grid.{name}]: `{axis}` is no fact of a cell"));
            }
            if let Some(other) = grid.experiments.iter().find(|id| !study.has_experiment(id)) {
                return Some(format!("[grid.{name}]: study.toml has no experiment `{other}`"));
            }
        }
        Queries::new(self).err()
    }

    /// The queries of its quantities, which [`Terms::mistake`] has checked.
    pub fn queries(&self) -> Queries {
        Queries::new(self).expect("terms without a mistake")
    }

    /// Adds the terms of another file, which may define no word again.
    pub fn extended(mut self, more: MoreTerms) -> Result<Terms, String> {
        add(&mut self.arms, more.arms)?;
        add(&mut self.grids, more.grids)?;
        add(&mut self.tables, more.tables)?;
        Ok(self)
    }
}

fn add<T>(words: &mut BTreeMap<String, T>, more: BTreeMap<String, T>) -> Result<(), String> {
    for (word, meaning) in more {
        if words.contains_key(&word) {
            return Err(word);
        }
        words.insert(word, meaning);
    }
    Ok(())
}
