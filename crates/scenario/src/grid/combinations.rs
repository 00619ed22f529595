//! Combinations of the values of axes: their product, where axes may vary together and combinations may be left out.

use super::{Axis, GridError, GridFault, MOST_CELLS, ParsedAxis, fault, read_value, refused};
use crate::experiment::{Catalogue, NameError};

/// Axes, and how their values are combined.
#[derive(Clone, Debug)]
pub struct Combinations {
    /// The axes, in the order of the settings.
    pub axes: Vec<Axis>,
    /// Axes that vary together, by their numbers: the first value of one with the first values of the others, and so on.
    pub linked: Vec<Vec<usize>>,
    /// Combinations that are left out: those that have one of these values of every axis named.
    pub excluded: Vec<Vec<Axis>>,
}

impl Combinations {
    /// All combinations of the values of `axes`.
    pub fn all(axes: &[Axis]) -> Combinations {
        Combinations { axes: axes.to_vec(), linked: Vec::new(), excluded: Vec::new() }
    }
}

/// One axis, or several that vary together, with the number of their values.
struct Dimension {
    axes: Vec<usize>,
    length: usize,
}

/// The dimensions of a grid. Later ones vary faster.
pub(super) struct Dimensions(Vec<Dimension>);

impl Dimensions {
    /// Checks that linked axes are equally long and the grid is not too large.
    pub(super) fn of(combinations: &Combinations) -> Result<Dimensions, GridError> {
        let Combinations { axes, linked, .. } = combinations;
        let mut dimensions = Vec::new();
        for number in 0..axes.len() {
            let together = match linked.iter().find(|linked| linked.contains(&number)) {
                Some(linked) if linked.iter().min() == Some(&number) => linked.clone(),
                Some(_) => continue,
                None => vec![number],
            };
            let length = axes[number].values.len();
            if let Some(other) = together.iter().find(|other| axes[**other].values.len() != length)
            {
                let key = &axes[number].key;
                let count = match axes[*other].values.len() {
                    1 => "one value".to_owned(),
                    count => format!("{count} values"),
                };
                let message =
                    format!("it has {count}, and `{key}`, which is linked to it, has {length}");
                let hint = "linked axes vary together: give them equally many values";
                return Err(refused(*other, None, &message, Some(hint)));
            }
            dimensions.push(Dimension { axes: together, length });
        }
        let dimensions = Dimensions(dimensions);
        dimensions.count()?;
        Ok(dimensions)
    }

    /// Number of combinations.
    pub(super) fn count(&self) -> Result<usize, GridError> {
        let mut count = 1usize;
        for Dimension { axes, length } in &self.0 {
            count = count.saturating_mul(*length);
            if *length == 0 {
                return Err(fault(axes[0], None, GridFault::Empty));
            }
            if count > MOST_CELLS {
                return Err(fault(axes[0], None, GridFault::TooLarge(count)));
            }
        }
        Ok(count)
    }

    /// Index of each axis' value in the combination `number`.
    pub(super) fn chosen(&self, mut number: usize) -> Vec<usize> {
        let mut chosen = vec![0; self.0.iter().map(|dimension| dimension.axes.len()).sum()];
        for Dimension { axes, length } in self.0.iter().rev() {
            for axis in axes {
                chosen[*axis] = number % length;
            }
            number /= length;
        }
        chosen
    }

    /// True if a combination differs from an earlier one only by settings that do not act on it.
    pub(super) fn is_repeated(&self, chosen: &[usize], acts: &[bool]) -> bool {
        self.0.iter().any(|Dimension { axes, .. }| {
            chosen[axes[0]] > 0 && axes.iter().all(|axis| !acts[*axis])
        })
    }

    /// Checks that no dimension has the same values twice.
    pub(super) fn check_values(&self, read: &[ParsedAxis<'_>]) -> Result<(), GridError> {
        for Dimension { axes, length } in &self.0 {
            let is_same = |one: usize, other: usize| {
                axes.iter().all(|axis| read[*axis].outcomes[one] == read[*axis].outcomes[other])
            };
            let twice = (0..*length).find(|at| (0..*at).any(|earlier| is_same(earlier, *at)));
            if let Some(at) = twice {
                return Err(fault(axes[0], Some(at), GridFault::Twice));
            }
        }
        Ok(())
    }
}

/// Combinations that are left out, by the indices of axes and values.
pub(super) struct Exclusions(Vec<Exclusion>);

struct Exclusion {
    values: Vec<(usize, Vec<usize>)>,
    has_matched: bool,
}

impl Exclusions {
    /// Finds the axes and values that exclusions name.
    pub(super) fn read(
        combinations: &Combinations,
        read: &[ParsedAxis<'_>],
        catalogue: &dyn Catalogue,
    ) -> Result<Exclusions, GridError> {
        let mut all = Vec::new();
        for (number, excluded) in combinations.excluded.iter().enumerate() {
            let mut values = Vec::new();
            for (at, axis) in excluded.iter().enumerate() {
                let found = indices(axis, read, catalogue)
                    .map_err(|(value, refusal)| refused_exclusion(number, at, value, refusal))?;
                values.push(found);
            }
            all.push(Exclusion { values, has_matched: false });
        }
        Ok(Exclusions(all))
    }

    /// True if a combination is left out.
    pub(super) fn leave_out(&mut self, chosen: &[usize]) -> bool {
        let mut is_left_out = false;
        for exclusion in &mut self.0 {
            let matches = |(axis, values): &(usize, Vec<usize>)| values.contains(&chosen[*axis]);
            if exclusion.values.iter().all(matches) {
                exclusion.has_matched = true;
                is_left_out = true;
            }
        }
        is_left_out
    }

    /// Checks that every exclusion has left something out.
    pub(super) fn check_matched(&self) -> Result<(), GridError> {
        match self.0.iter().position(|exclusion| !exclusion.has_matched) {
            Some(number) => {
                let message = "no combination of the grid is as this says";
                let hint = "values of linked axes occur only with each other".to_owned();
                let refusal = NameError { message: message.to_owned(), hint: Some(hint) };
                Err(refused_exclusion(number, 0, None, refusal))
            }
            None => Ok(()),
        }
    }

    /// The error of a grid without combinations.
    pub(super) fn nothing_left(&self) -> GridError {
        let message = "every combination of the grid is excluded".to_owned();
        refused_exclusion(0, 0, None, NameError { message, hint: None })
    }
}

fn refused_exclusion(
    number: usize,
    axis: usize,
    value: Option<usize>,
    refusal: NameError,
) -> GridError {
    GridError { exclusion: Some(number), axis, value, fault: GridFault::Refused(refusal) }
}

/// The index of an axis and those of the named values, or a refusal with the index of the value.
fn indices(
    named: &Axis,
    read: &[ParsedAxis<'_>],
    catalogue: &dyn Catalogue,
) -> Result<(usize, Vec<usize>), (Option<usize>, NameError)> {
    let refusal = |message: String, hint: Option<String>| NameError { message, hint };
    let Some(axis) = read.iter().position(|axis| axis.axis.key == named.key) else {
        let message = "the grid has no such axis, so no combination differs by it".to_owned();
        let keys: Vec<&str> = read.iter().map(|axis| axis.axis.key.as_str()).collect();
        return Err((None, refusal(message, Some(format!("it has {}", keys.join(", "))))));
    };
    let mut found = Vec::new();
    for (at, value) in named.values.iter().enumerate() {
        let outcome =
            read_value(&named.key, value, catalogue).map_err(|refusal| (Some(at), refusal))?.1;
        let Some(index) = read[axis].outcomes.iter().position(|known| *known == outcome) else {
            let message = format!("`{value}` is not a value of this axis");
            let hint = format!("its values: {}", read[axis].axis.values.join(", "));
            return Err((Some(at), refusal(message, Some(hint))));
        };
        found.push(index);
    }
    Ok((axis, found))
}
