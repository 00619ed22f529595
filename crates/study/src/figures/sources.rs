//! Data behind the figures: the part of a study's runs that they need.

use super::loads::Loads;
use super::{Figure, Figures};
use crate::Study;
use crate::judge::{Cell, Fact, Fault, Filter, Frame, Grid, Hearing, Measured, Sources};
use store::{Store, StoreError};

/// A study's figures, and the store's data for them.
#[derive(Debug)]
pub struct Evidence<'a> {
    /// The study.
    pub study: &'a Study,
    /// Its figures.
    pub figures: &'a Figures,
    /// The measurements, by cell.
    pub measured: Measured,
    /// The single loads, for figures that need their objects.
    pub loads: Loads<'a>,
}

/// A cell, and its position in a figure.
#[derive(Clone, Debug)]
pub struct Placed<'a> {
    /// Position on the axis: the value there, or the name of the grid if it has no axis.
    pub place: String,
    /// The measurements.
    pub cell: &'a Cell,
}

/// Selection of cells: of an arm on a grid, narrowed by a filter.
#[derive(Clone, Copy, Debug)]
pub struct Which<'a> {
    /// Name of the arm.
    pub arm: &'a str,
    /// Name of the grid.
    pub grid: &'a str,
    /// The figure's own filter.
    pub narrowed: &'a Filter,
}

impl<'a> Evidence<'a> {
    /// Gathers the data that `store` holds of a study whose runs are known.
    ///
    /// # Errors
    /// A store that cannot be read.
    pub fn gather(
        hearing: &'a Hearing,
        figures: &'a Figures,
        store: &'a Store,
    ) -> Result<Evidence<'a>, StoreError> {
        let mut measured = Measured::new();
        let mut loads = Loads::of(store);
        for evidence in &hearing.experiments {
            let Some(run) = &evidence.run else { continue };
            let quantities = figures.quantities(&evidence.id);
            measured.gather(store, run.id, &evidence.id, &quantities, &[])?;
            if figures.take_loads(&evidence.id) {
                loads.gather(run.id, &evidence.id)?;
            }
        }
        Ok(Evidence { study: &hearing.study, figures, measured, loads })
    }

    /// The series that a figure's expressions need over a grid.
    pub fn frame(&self, figure: &Figure, grid: &str) -> Result<Frame, Fault> {
        let leaves = figure.show.expressions().into_iter().flat_map(|it| it.leaves());
        let sources = Sources {
            measured: &self.measured,
            terms: &self.figures.terms,
            tables: &self.study.files,
        };
        Frame::new(sources, leaves, Some(grid), &figure.show.scope().filter)
    }

    /// The cells of an arm on a grid in the order of the axis; cells of one place are adjacent.
    pub fn cells(&self, which: Which<'_>) -> Result<Vec<Placed<'_>>, Fault> {
        let grid = self.grid(which)?;
        let mut cells: Vec<(f64, Placed<'_>)> = Vec::new();
        for cell in self.measured.cells().iter().filter(|cell| self.is_meant(&cell.facts, which)) {
            let (x, place) =
                place(grid, which.grid, cell.facts.get(grid.x.as_deref().unwrap_or("")))?;
            cells.push((x, Placed { place, cell }));
        }
        if cells.is_empty() {
            let (arm, grid) = (which.arm.to_owned(), which.grid.to_owned());
            return Err(Fault::NoLoads { arm, grid });
        }
        cells.sort_by(|a, b| a.0.total_cmp(&b.0));
        Ok(cells.into_iter().map(|(_, placed)| placed).collect())
    }

    /// True if these facts are of the arm on the grid.
    pub fn is_meant(&self, facts: &crate::judge::Facts, which: Which<'_>) -> bool {
        let terms = &self.figures.terms;
        let (Some(arm), Some(grid)) = (terms.arms.get(which.arm), terms.grids.get(which.grid))
        else {
            return false;
        };
        let experiment = facts.get("experiment").map(Fact::to_string);
        experiment.is_some_and(|id| grid.experiments.contains(&id))
            && [arm, &grid.filter, which.narrowed].iter().all(|filter| filter.takes(facts))
    }

    /// The grid; fails unless all its experiments were run.
    pub fn grid(&self, which: Which<'_>) -> Result<&Grid, Fault> {
        let grid = self.figures.terms.grids.get(which.grid);
        let grid =
            grid.ok_or_else(|| Fault::Clause(format!("there is no [grid.{}]", which.grid)))?;
        match grid.experiments.iter().find(|id| self.measured.run(id).is_none()) {
            Some(missing) => Err(Fault::NotRun(missing.clone())),
            None => Ok(grid),
        }
    }
}

/// Position of a cell on the axis of a grid: the sort key and the label.
fn place(grid: &Grid, name: &str, fact: Option<&Fact>) -> Result<(f64, String), Fault> {
    match (&grid.x, fact) {
        (None, _) => Ok((0.0, name.to_owned())),
        (Some(_), Some(Fact::Number(x))) => Ok((*x, x.to_string())),
        (Some(axis), _) => Err(Fault::Clause(format!("a cell of `{name}` has no number `{axis}`"))),
    }
}
