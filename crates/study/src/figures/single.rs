//! Representative single loads: for each arm at each place the one whose load time is closest to the median of
//! all selected loads; the earliest in case of a tie.

use super::kind::{Arm, Scope};
use super::loads::Load;
use super::sources::{Evidence, Which};
use crate::judge::{Fact, Facts, Fault};
use statistics::Sample;

/// A representative load.
#[derive(Clone, Debug)]
pub struct Chosen<'a> {
    /// The plot that it belongs to.
    pub panel: String,
    /// The arm.
    pub arm: &'a Arm,
    /// The load.
    pub load: &'a Load,
}

impl Chosen<'_> {
    /// Run and position of the load, for readers who look it up.
    pub fn identity(&self) -> String {
        let key = self.load.visit.key;
        let panel = if self.panel.is_empty() { String::new() } else { format!("{}, ", self.panel) };
        let name = &self.arm.name;
        format!("{panel}{name}: run {}, journey {}, visit {}", key.run.0, key.journey, key.visit)
    }
}

/// One load for each arm on each grid at each of these values of its axis; if `at` is empty, one for the whole
/// grid.
///
/// # Errors
/// An arm without loads.
pub fn chosen<'a>(
    evidence: &'a Evidence<'_>,
    scope: &Scope,
    at: &[f64],
    arms: &'a [Arm],
) -> Result<Vec<Chosen<'a>>, Fault> {
    let mut all = Vec::new();
    for place in places(at) {
        for grid in &scope.on {
            for arm in arms {
                let load = median(evidence, scope, grid, arm, place)?;
                all.push(Chosen { panel: panel(scope, grid, place), arm, load });
            }
        }
    }
    Ok(all)
}

/// The values of the axis; a single `None`, for all loads of the grid, if there are none.
fn places(at: &[f64]) -> Vec<Option<f64>> {
    match at.is_empty() {
        true => vec![None],
        false => at.iter().copied().map(Some).collect(),
    }
}

fn panel(scope: &Scope, grid: &str, place: Option<f64>) -> String {
    let grid = (scope.on.len() > 1).then(|| scope.called(grid));
    let place = place.map(|x| scope.called(&x.to_string()));
    [grid, place].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// The load with the median load time.
fn median<'a>(
    evidence: &'a Evidence<'_>,
    scope: &Scope,
    grid: &str,
    arm: &Arm,
    place: Option<f64>,
) -> Result<&'a Load, Fault> {
    let which = Which { arm: &arm.arm, grid, narrowed: &scope.filter };
    let axis = evidence.grid(which)?.x.clone().unwrap_or_default();
    let stands = |facts: &Facts| match place {
        Some(x) => facts.get(&axis) == Some(&Fact::Number(x)),
        None => true,
    };
    let meant = || evidence.loads.all(|it| evidence.is_meant(it, which) && stands(it));
    let loaded = || meant().filter_map(|load| Some((load, load.visit.plt_ns? as f64)));
    let middle = Sample::new(loaded().map(|(_, plt)| plt)).map(|sample| sample.median());
    let nearest = middle.and_then(|middle| {
        let distance = |plt: f64| (plt - middle).abs();
        loaded().min_by(|a, b| distance(a.1).total_cmp(&distance(b.1)))
    });
    let none = || Fault::NoLoads { arm: arm.arm.clone(), grid: grid.to_owned() };
    nearest.map(|(load, _)| load).ok_or_else(none)
}
