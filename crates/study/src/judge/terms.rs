//! Definitions of the terms in a study's clauses: arms, grids, published tables.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::facts::{self, Filter};
use super::{Leaf, Quantity, Statistic};

/// The terms.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Terms {
    /// The statistic over a cell's repetitions, where an expression does not name one.
    pub statistic: Statistic,
    /// The ways that are compared.
    #[serde(default, rename = "arm")]
    pub arms: BTreeMap<String, Filter>,
    /// The grids over which they are compared.
    #[serde(default, rename = "grid")]
    pub grids: BTreeMap<String, Grid>,
    /// The document's tables.
    #[serde(default, rename = "published")]
    pub tables: BTreeMap<String, Column>,
}

/// Cells of some experiments, in order.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grid {
    /// The experiments.
    pub experiments: Vec<String>,
    /// Filter on their cells.
    #[serde(default, rename = "where")]
    pub filter: Filter,
    /// The fact that is the axis; `None` for a grid of single points.
    pub x: Option<String>,
    /// The fact that tells curves apart.
    pub each: Option<String>,
}

/// A column of a table, over another.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Column {
    /// The file, within the study's folder.
    pub file: String,
    /// The column that is the axis, or `row`: rows are counted, from 1.
    pub x: String,
    /// The column with the values.
    pub y: String,
}

impl Terms {
    /// The quantity that a leaf asks of the loads of `experiment`, if any; `grid` is that of leaves that name none.
    pub fn asked(&self, leaf: &Leaf, grid: Option<&str>, experiment: &str) -> Option<Quantity> {
        let Leaf::Measured { quantity, grid: own, .. } = leaf else { return None };
        let grid = self.grids.get(own.as_deref().or(grid)?)?;
        grid.experiments.iter().any(|id| id == experiment).then_some(*quantity)
    }

    /// The undefined term of a leaf, or the missing grid if neither leaf nor clause names one.
    pub fn unknown(&self, leaf: &Leaf, clause_grid: Option<&str>) -> Option<String> {
        match leaf {
            Leaf::Published(table) => (!self.tables.contains_key(table))
                .then(|| format!("there is no [published.{table}]")),
            Leaf::Measured { arm, .. } if !self.arms.contains_key(arm) => {
                Some(format!("there is no [arm.{arm}]"))
            }
            Leaf::Measured { arm, grid, .. } => match grid.as_deref().or(clause_grid) {
                Some(grid) if self.grids.contains_key(grid) => None,
                Some(grid) => Some(format!("there is no [grid.{grid}]")),
                None => {
                    Some(format!("`{arm}` over which grid? Write `on = ...` or `({arm} on ...)`"))
                }
            },
        }
    }

    /// A name in arms or grids that is not a fact's or an experiment's.
    pub fn mistake(&self, is_experiment: impl Fn(&str) -> bool) -> Option<String> {
        let filters = self.arms.values().chain(self.grids.values().map(|grid| &grid.filter));
        if let Some(name) = filters.filter_map(Filter::unknown).next() {
            return Some(format!("`{name}` is no fact of a cell"));
        }
        for (name, grid) in &self.grids {
            let axes = [&grid.x, &grid.each].into_iter().flatten();
            if let Some(axis) = axes.into_iter().find(|axis| !facts::is_fact(axis)) {
                return Some(format!("[grid.{name}]: `{axis}` is no fact of a cell"));
            }
            if let Some(other) = grid.experiments.iter().find(|id| !is_experiment(id)) {
                return Some(format!("[grid.{name}]: study.toml has no experiment `{other}`"));
            }
        }
        None
    }
}
