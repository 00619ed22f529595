//! The product of axes.

use toml::Spanned;

use super::axis::{Axis, Scalar};
use super::raw::Varied;
use super::resolve::MOST_CELLS;
use super::{ExperimentError, Problem, Source};
use crate::{NetworkSpec, Scenario};

/// Scenarios that grow with each key that is read.
pub struct Grid<'a> {
    source: &'a Source,
    cells: Vec<Scenario>,
}

impl<'a> Grid<'a> {
    /// One scenario, all at its defaults; page and network are still to be set.
    pub fn new(source: &'a Source) -> Grid<'a> {
        Grid { source, cells: vec![Scenario::new("", NetworkSpec::default())] }
    }

    /// The cells: those of a key read later lie closer together.
    pub fn into_cells(self) -> Vec<Scenario> {
        self.cells
    }

    /// Multiplies the cells by the values of `key`, each read by `read` and put in place by `set`. A key
    /// that was not typed changes nothing.
    pub fn vary<T: Clone + PartialEq>(
        &mut self,
        key: &str,
        typed: &Varied,
        read: impl Fn(&Scalar) -> Result<T, Problem>,
        set: impl Fn(&mut Scenario, T),
    ) -> Result<(), ExperimentError> {
        let Some(typed) = typed else { return Ok(()) };
        let values = self.values(key, typed, read)?;
        let count = self.cells.len().saturating_mul(values.len());
        if count > MOST_CELLS {
            let problem = Problem::TooLarge { cells: count, most: MOST_CELLS };
            return Err(ExperimentError::at(self.source, typed.span(), problem));
        }
        let mut product = Vec::with_capacity(count);
        for cell in &self.cells {
            for value in &values {
                let mut cell = cell.clone();
                set(&mut cell, value.clone());
                product.push(cell);
            }
        }
        self.cells = product;
        Ok(())
    }

    /// The values of an axis, read, none twice.
    fn values<T: PartialEq>(
        &self,
        key: &str,
        typed: &Spanned<Axis>,
        read: impl Fn(&Scalar) -> Result<T, Problem>,
    ) -> Result<Vec<T>, ExperimentError> {
        let fail = |span, problem| Err(ExperimentError::at(self.source, span, problem));
        let list = match typed.get_ref() {
            Axis::One(scalar) => vec![Spanned::new(typed.span(), scalar.clone())],
            Axis::Many(list) => list.clone(),
        };
        if list.is_empty() {
            return fail(typed.span(), Problem::EmptyAxis { key: key.to_owned() });
        }
        let mut values = Vec::with_capacity(list.len());
        for scalar in list {
            match read(scalar.get_ref()) {
                Ok(value) if values.contains(&value) => {
                    return fail(scalar.span(), Problem::Twice { key: key.to_owned() });
                }
                Ok(value) => values.push(value),
                Err(problem) => return fail(scalar.span(), problem),
            }
        }
        Ok(values)
    }
}
