//! Grid: the product of axes, each a setting with its values.

mod combinations;

use std::collections::BTreeMap;

use crate::experiment::{Catalogue, NameError};
use crate::settings::{Applies, Change, SETTINGS, Setting, property, setting};
use crate::shared::Parts;
use crate::{NetworkSpec, Scenario};

pub use combinations::Combinations;
use combinations::{Dimensions, Exclusions};

/// The largest grid. A larger one is more likely a slip than a plan.
pub const MOST_CELLS: usize = 1_000_000;

/// A setting with its values.
#[derive(Clone, Debug)]
pub struct Axis {
    /// The setting's key.
    pub key: String,
    /// Its values as typed, at least one.
    pub values: Vec<String>,
}

/// Scenarios in grid order; later axes vary faster.
#[derive(Debug)]
pub struct Grid {
    /// Cells that can be run.
    pub cells: Vec<Scenario>,
    /// Cells that cannot.
    pub skipped: Vec<Skipped>,
}

/// Reason of cells that the experiment itself leaves out.
const EXCLUDED: &str = "the experiment excludes them";

/// Cells that no world can run or that the experiment excludes, for one reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// Number of cells.
    pub cells: usize,
    /// Varied settings of the first of them.
    pub first: String,
    /// The reason, and an alternative.
    pub reason: &'static str,
}

/// Error of building a grid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GridError {
    /// Index of the exclusion that is at fault, if it is one.
    pub exclusion: Option<usize>,
    /// Index of the axis, in the grid or in its exclusion.
    pub axis: usize,
    /// Index of its value; `None` is the axis as a whole.
    pub value: Option<usize>,
    /// The fault.
    pub fault: GridFault,
}

/// Fault of an axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GridFault {
    /// A value that is invalid, or that contradicts the rest.
    Refused(NameError),
    /// The same value twice.
    Twice,
    /// No value.
    Empty,
    /// Too many cells.
    TooLarge(usize),
}

/// True if there is a setting with this key, including a network's own settings.
pub fn is_key(key: &str) -> bool {
    setting(key).is_some() || network_key(key).is_some()
}

/// Place of a key in the order of grids.
pub fn position(key: &str) -> usize {
    let of = |key: &str| SETTINGS.iter().position(|setting| setting.key == key);
    // A network's other settings follow those that have rows.
    let other = || of("network.queue").map_or(0, |queue| 2 * queue + 1);
    of(key).map_or_else(other, |place| 2 * place)
}

/// A network's own setting that has no row: `network.aqm`.
fn network_key(key: &str) -> Option<&str> {
    key.strip_prefix("network.").filter(|own| net::is_setting(own))
}

/// An axis with its parsed values.
struct ParsedAxis<'a> {
    axis: &'a Axis,
    applies: Option<Applies>,
    changes: Vec<Change>,
    /// A usual scenario with each value: equal values give the same one, however they are written.
    outcomes: Vec<Scenario>,
}

impl ParsedAxis<'_> {
    fn applies(&self, cell: &Scenario) -> bool {
        self.applies.is_none_or(|applies| (applies.to)(cell))
    }
}

impl Grid {
    /// The product of `axes`, which must be in the order of [`SETTINGS`].
    pub fn of(axes: &[Axis], catalogue: &dyn Catalogue) -> Result<Grid, GridError> {
        Grid::combined(&Combinations::all(axes), catalogue)
    }

    /// The cells of these combinations. A setting acts only on the cells to which it applies.
    pub fn combined(
        combinations: &Combinations,
        catalogue: &dyn Catalogue,
    ) -> Result<Grid, GridError> {
        let axes = &combinations.axes;
        let dimensions = Dimensions::of(combinations)?;
        let read = read(axes, catalogue)?;
        dimensions.check_values(&read)?;
        let mut exclusions = Exclusions::read(combinations, &read, catalogue)?;
        let mut acted = vec![false; axes.len()];
        let (mut cells, mut skipped) = (Vec::new(), Skips::default());
        let (mut first_impossible, mut parts) = (None, Parts::default());
        for number in 0..dimensions.count()? {
            let chosen = dimensions.chosen(number);
            let is_excluded = exclusions.leave_out(&chosen);
            let Some(mut cell) = cell(&read, &dimensions, &chosen, &mut acted) else { continue };
            parts.share(&mut cell);
            match cell.contradiction() {
                None if !is_excluded => cells.push(cell),
                None => skipped.add(EXCLUDED, || told(axes, &chosen)),
                Some(reason) => {
                    skipped.add(reason, || told(axes, &chosen));
                    first_impossible.get_or_insert((chosen, reason));
                }
            }
        }
        idle(&read, &acted)?;
        exclusions.check_matched()?;
        if !cells.is_empty() {
            check_networks(axes, &mut cells, catalogue)?;
            cells.iter_mut().for_each(|cell| parts.share(cell));
            return Ok(Grid { cells, skipped: skipped.0 });
        }
        Err(match first_impossible {
            Some((chosen, reason)) => impossible(&read, &chosen, reason),
            None => exclusions.nothing_left(),
        })
    }
}

impl Skipped {
    /// A sentence for readers: "2 cells are left out (route pep, protocol h3-matched): a PEP ...".
    pub fn sentence(&self) -> String {
        let Skipped { cells, first, reason } = self;
        let (cells, beginning) = match cells {
            1 => ("1 combination is".to_owned(), ""),
            n => (format!("{n} combinations are"), "the first: "),
        };
        format!("{cells} left out ({beginning}{first}): {reason}")
    }
}

/// Skipped cells by reason, in order of occurrence.
#[derive(Default)]
struct Skips(Vec<Skipped>);

impl Skips {
    fn add(&mut self, reason: &'static str, first: impl Fn() -> String) {
        match self.0.iter_mut().find(|skipped| skipped.reason == reason) {
            Some(skipped) => skipped.cells += 1,
            None => self.0.push(Skipped { cells: 1, first: first(), reason }),
        }
    }
}

fn fault(axis: usize, value: Option<usize>, fault: GridFault) -> GridError {
    GridError { exclusion: None, axis, value, fault }
}

fn refused(axis: usize, value: Option<usize>, message: &str, hint: Option<&str>) -> GridError {
    let refusal = NameError { message: message.to_owned(), hint: hint.map(str::to_owned) };
    fault(axis, value, GridFault::Refused(refusal))
}

/// Reads every value of every axis.
fn read<'a>(axes: &'a [Axis], catalogue: &dyn Catalogue) -> Result<Vec<ParsedAxis<'a>>, GridError> {
    let mut all = Vec::with_capacity(axes.len());
    for (number, axis) in axes.iter().enumerate() {
        let (mut changes, mut outcomes) = (Vec::new(), Vec::new());
        for (position, value) in axis.values.iter().enumerate() {
            let refusal = |refusal| fault(number, Some(position), GridFault::Refused(refusal));
            let (change, outcome) = read_value(&axis.key, value, catalogue).map_err(refusal)?;
            let follows = axis.key == "network.up" && value.starts_with("down/");
            if follows && axes.iter().all(|axis| axis.key != "network.down") {
                let hint = "give `network.down`, too: a profile's own rate is not known where grids are made";
                let message = "a part of the downlink needs the downlink's rate";
                return Err(refused(number, Some(position), message, Some(hint)));
            }
            outcomes.push(outcome);
            changes.push(change);
        }
        let applies = setting(&axis.key).and_then(|row: &Setting| row.applies);
        all.push(ParsedAxis { axis, applies, changes, outcomes });
    }
    Ok(all)
}

/// Reads one value of a setting: the change, and what it makes of a usual scenario.
fn read_value(
    key: &str,
    value: &str,
    catalogue: &dyn Catalogue,
) -> Result<(Change, Scenario), NameError> {
    let change = match setting(key) {
        Some(row) => row.read(value, catalogue)?,
        None => property(network_key(key).unwrap_or(key), value)?,
    };
    let mut outcome = Scenario::new("", NetworkSpec::default());
    // Divisible by every divisor of a downlink that occurs in practice.
    outcome.network.down_bit_per_s = Some(1 << 40);
    change(&mut outcome);
    Ok((change, outcome))
}

/// The cell with these values; `None` if it differs from another only by settings that do not apply to it.
fn cell(
    read: &[ParsedAxis<'_>],
    dimensions: &Dimensions,
    chosen: &[usize],
    acted: &mut [bool],
) -> Option<Scenario> {
    let mut cell = Scenario::new("", NetworkSpec::default());
    let mut acts: Vec<bool> = read.iter().map(|axis| axis.applies.is_none()).collect();
    let both = || read.iter().zip(chosen).enumerate();
    for (_, (axis, value)) in both().filter(|(_, (axis, _))| axis.applies.is_none()) {
        axis.changes[*value](&mut cell);
    }
    for (number, (axis, value)) in both().filter(|(_, (axis, _))| axis.applies.is_some()) {
        if axis.applies(&cell) {
            axis.changes[*value](&mut cell);
            acts[number] = true;
        }
    }
    if dimensions.is_repeated(chosen, &acts) {
        return None;
    }
    for (acted, acts) in acted.iter_mut().zip(acts) {
        *acted |= acts;
    }
    Some(cell)
}

/// The varied settings of a cell: "route pep, protocol h3-matched".
fn told(axes: &[Axis], chosen: &[usize]) -> String {
    let short = |key: &str| key.rsplit('.').next().unwrap_or_default().replace('_', " ");
    let varied = axes.iter().zip(chosen).filter(|(axis, _)| axis.values.len() > 1);
    let varied =
        varied.map(|(axis, value)| format!("{} {}", short(&axis.key), axis.values[*value]));
    varied.collect::<Vec<_>>().join(", ")
}

/// Rejects a setting that was given but acts on no cell.
fn idle(read: &[ParsedAxis<'_>], acted: &[bool]) -> Result<(), GridError> {
    let usual = Scenario::new("", NetworkSpec::default());
    for (number, (axis, acted)) in read.iter().zip(acted).enumerate() {
        let Some(applies) = axis.applies.filter(|_| !acted) else { continue };
        let changes = axis.changes.iter().any(|change| {
            let mut changed = usual.clone();
            change(&mut changed);
            changed != usual
        });
        if changes {
            let message = format!("it changes nothing: {}", applies.otherwise);
            return Err(refused(number, None, &message, Some(applies.remedy)));
        }
    }
    Ok(())
}

/// The error of a grid without a runnable cell, placed at the setting whose removal makes the first cell runnable.
fn impossible(read: &[ParsedAxis<'_>], chosen: &[usize], reason: &'static str) -> GridError {
    let without = |left: usize| {
        let kept = |number: &usize| *number != left;
        let mut cell = Scenario::new("", NetworkSpec::default());
        for is_conditional in [false, true] {
            for number in (0..read.len()).filter(kept) {
                let axis = &read[number];
                if axis.applies.is_some() == is_conditional && axis.applies(&cell) {
                    axis.changes[chosen[number]](&mut cell);
                }
            }
        }
        cell.contradiction() != Some(reason)
    };
    let culprit = (0..read.len()).rev().find(|number| without(*number)).unwrap_or(0);
    debug_assert!(
        !read.is_empty(),
        "a scenario of defaults can be run: {}",
        read[culprit].axis.key
    );
    refused(culprit, None, reason, None)
}

/// Checks every network of the grid as a whole.
fn check_networks(
    axes: &[Axis],
    cells: &mut [Scenario],
    catalogue: &dyn Catalogue,
) -> Result<(), GridError> {
    let first = axes.iter().position(|axis| axis.key.starts_with("network")).unwrap_or(0);
    let mut digests: BTreeMap<String, Option<String>> = BTreeMap::new();
    for cell in cells {
        let name = cell.network.to_string();
        let digest = match digests.get(&name) {
            Some(known) => known.clone(),
            None => catalogue
                .network(&cell.network)
                .map_err(|refusal| fault(first, None, GridFault::Refused(refusal)))?,
        };
        if cell.network.base_digest != digest {
            cell.network.base_digest.clone_from(&digest);
        }
        digests.insert(name, digest);
    }
    Ok(())
}
