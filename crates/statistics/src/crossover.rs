//! The point along an axis from which one arm is ahead of another.
//!
//! Studies read crossovers off a grid: "SPDY wins from 300 objects on". So the answer is a point of the grid:
//! the first at which the first arm is ahead and from which on it stays ahead but for few exceptions - one, or
//! a tenth of the points beyond, whichever is more, and always fewer than those at which it is ahead. Between
//! grid points the curves' lines are intersected. A bootstrap of the repetitions at every point gives the
//! uncertainty of both.

use chance::{RandomSource, RandomStream};

use super::bootstrap::enough;
use super::{LEVEL, NoInterval, Pair, RESAMPLES, Sample};

/// One point of the grid.
#[derive(Clone, Debug, PartialEq)]
pub struct GridPoint {
    /// Position on the axis.
    pub x: f64,
    /// The repetitions of both arms there; less is better.
    pub pairs: Vec<Pair>,
}

/// The point at which the first arm gets ahead.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Crossing {
    /// The first grid point from which on it stays ahead.
    pub at: f64,
    /// The point where the lines between medians meet, before that grid point. For the grid's first point it is
    /// that point itself: the true crossing may lie before it.
    pub between: f64,
}

/// A crossover and its uncertainty.
#[derive(Clone, Debug, PartialEq)]
pub struct Crossover {
    /// The crossing of the medians; `None` if the first arm does not stay ahead anywhere on the grid.
    pub crossing: Option<Crossing>,
    /// The share of resamples in which there is a crossover at all.
    pub share: f64,
    /// The middle 95 % of the resampled crossovers' grid points, least first; an end that is `None` lies
    /// beyond the grid.
    pub interval: Result<(Option<f64>, Option<f64>), NoInterval>,
}

/// The crossover of two arms over `grid`, whose points must rise; `None` if it is empty, does not rise or
/// has a point without pairs.
pub fn crossover(grid: &[GridPoint], seed: u64) -> Option<Crossover> {
    let rises = grid.windows(2).all(|pair| pair[0].x < pair[1].x);
    if grid.is_empty() || !rises || grid.iter().any(|point| point.pairs.is_empty()) {
        return None;
    }
    let crossing = first_crossing(&leads(grid, |point| (0..point.pairs.len()).collect()));
    match resampled(grid, seed) {
        Ok(drawn) => Some(Crossover {
            crossing,
            share: drawn.iter().flatten().count() as f64 / drawn.len() as f64,
            interval: Ok(middle(drawn)),
        }),
        Err(none) => {
            let share = if crossing.is_some() { 1.0 } else { 0.0 };
            Some(Crossover { crossing, share, interval: Err(none) })
        }
    }
}

/// The crossing of a curve of (x, lead), the lead being the amount by which the first arm is ahead there;
/// `None` if it does not stay ahead.
pub fn crossing(leads: &[(f64, f64)]) -> Option<Crossing> {
    first_crossing(&leads.iter().map(|(x, lead)| Lead { x: *x, lead: *lead }).collect::<Vec<_>>())
}

/// The lead of the first arm at a point; negative if it is behind.
struct Lead {
    x: f64,
    lead: f64,
}

/// The leads of the medians at each point, over the pairs that `choose` takes there.
fn leads(grid: &[GridPoint], mut choose: impl FnMut(&GridPoint) -> Vec<usize>) -> Vec<Lead> {
    let lead = |point: &GridPoint| {
        let chosen = choose(point);
        let of = |value: fn(&Pair) -> f64| median(chosen.iter().map(|i| value(&point.pairs[*i])));
        Lead { x: point.x, lead: of(|pair| pair.second) - of(|pair| pair.first) }
    };
    grid.iter().map(lead).collect()
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    Sample::new(values).expect("a resample has values, all finite").median()
}

fn first_crossing(leads: &[Lead]) -> Option<Crossing> {
    let index = (0..leads.len()).find(|index| stays_ahead(&leads[*index..]))?;
    let point = &leads[index];
    let between = match index.checked_sub(1).map(|before| &leads[before]) {
        Some(before) if before.lead <= 0.0 => {
            let share = -before.lead / (point.lead - before.lead);
            before.x + (point.x - before.x) * share
        }
        _ => point.x,
    };
    Some(Crossing { at: point.x, between })
}

/// True if the first arm is ahead at the first of these points and stays so.
fn stays_ahead(from: &[Lead]) -> bool {
    let behind = from.iter().filter(|point| point.lead <= 0.0).count();
    let beyond = from.len() - 1;
    from[0].lead > 0.0 && behind <= (beyond / 10).max(1) && 2 * behind < from.len()
}

/// The crossovers of resamples. Each point's repetitions are drawn independently: they share seeds, but points
/// are different loads.
fn resampled(grid: &[GridPoint], seed: u64) -> Result<Vec<Option<f64>>, NoInterval> {
    let copies = |point: &GridPoint| point.pairs.iter().all(|pair| *pair == point.pairs[0]);
    if grid.iter().all(|point| point.pairs.len() > 1 && copies(point)) {
        return Err(NoInterval::NoSpread);
    }
    enough(grid.iter().map(|point| point.pairs.len()).min().unwrap_or(0))?;
    let mut stream = RandomSource::new(seed, 0).stream("statistics/bootstrap/crossover");
    let once = |stream: &mut RandomStream| {
        let draw = |point: &GridPoint| {
            let n = point.pairs.len();
            (0..n).map(|_| stream.below(n as u64) as usize).collect()
        };
        first_crossing(&leads(grid, draw)).map(|crossing| crossing.at)
    };
    Ok((0..RESAMPLES).map(|_| once(&mut stream)).collect())
}

/// The middle 95 % of crossovers; missing ones are sorted behind all others.
fn middle(mut drawn: Vec<Option<f64>>) -> (Option<f64>, Option<f64>) {
    let beyond = f64::INFINITY;
    drawn.sort_by(|a, b| a.unwrap_or(beyond).total_cmp(&b.unwrap_or(beyond)));
    let tail = ((1.0 - LEVEL) / 2.0 * drawn.len() as f64).floor() as usize;
    (drawn[tail], drawn[drawn.len() - 1 - tail])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid(leads: &[f64]) -> Vec<GridPoint> {
        let point = |(index, lead): (usize, &f64)| {
            let pair = |noise: f64| Pair { first: 100.0 - lead + noise, second: 100.0 + noise };
            let pairs = (0..10).map(f64::from).map(pair).collect();
            GridPoint { x: 50.0 * (index + 1) as f64, pairs }
        };
        leads.iter().enumerate().map(point).collect()
    }

    fn at(leads: &[f64]) -> Option<f64> {
        crossover(&grid(leads), 1).unwrap().crossing.map(|crossing| crossing.at)
    }

    #[test]
    fn a_crossing_on_and_between_points() {
        let crossing = crossover(&grid(&[-30.0, -10.0, 30.0, 40.0]), 1).unwrap().crossing.unwrap();
        assert_eq!((crossing.at, crossing.between), (150.0, 112.5));
        let ahead = crossover(&grid(&[5.0, 6.0, 7.0]), 1).unwrap().crossing.unwrap();
        assert_eq!((ahead.at, ahead.between), (50.0, 50.0));
    }

    #[test]
    fn few_exceptions_are_forgiven() {
        assert_eq!(at(&[-1.0, 1.0, -1.0, 1.0, 1.0]), Some(100.0));
        assert_eq!(at(&[-1.0, 1.0, -1.0, -1.0, 1.0]), Some(250.0));
        assert_eq!(at(&[-1.0, -1.0, 1.0]), Some(150.0));
        assert_eq!(at(&[-1.0, 1.0, -1.0]), None);
        assert_eq!(at(&[-1.0, -1.0, 0.0]), None);
        // Of 21 points beyond, two may be exceptions.
        let mut long = vec![1.0; 22];
        (long[5], long[9]) = (-1.0, -1.0);
        assert_eq!(at(&long), Some(50.0));
        long[15] = -1.0;
        assert_eq!(at(&long), Some(550.0));
    }

    #[test]
    fn noise_widens_the_interval_and_may_leave_the_grid() {
        // The arm ahead changes for good between the second and third point, but at the second
        // it is close.
        let mut points = grid(&[-30.0, 0.0, 30.0, 30.0]);
        for (index, pair) in points[1].pairs.iter_mut().enumerate() {
            pair.first += if index % 2 == 0 { 5.0 } else { -5.0 };
        }
        let found = crossover(&points, 1).unwrap();
        assert_eq!(found.share, 1.0);
        assert_eq!(found.interval, Ok((Some(100.0), Some(150.0))));
        assert_eq!(found, crossover(&points, 1).unwrap());

        let mut never = grid(&[-30.0, -30.0, 0.0]);
        for (index, pair) in never[2].pairs.iter_mut().enumerate() {
            pair.first += if index % 2 == 0 { 5.0 } else { -5.0 };
        }
        let found = crossover(&never, 1).unwrap();
        assert!((0.05..0.95).contains(&found.share), "{}", found.share);
        assert_eq!(found.interval, Ok((Some(150.0), None)));
    }

    #[test]
    fn copies_few_repetitions_and_no_grid() {
        let copies = |lead: f64, n| {
            let pairs = vec![Pair { first: 2.0 - lead, second: 2.0 }; n];
            [GridPoint { x: 1.0, pairs: pairs.clone() }, GridPoint { x: 2.0, pairs }]
        };
        let found = crossover(&copies(1.0, 8), 1).unwrap();
        assert_eq!((found.share, &found.interval), (1.0, &Err(NoInterval::NoSpread)));
        let few = crossover(&copies(-1.0, 1), 1).unwrap();
        assert_eq!((few.share, few.interval), (0.0, Err(NoInterval::TooFew { have: 1, need: 6 })));
        assert_eq!(crossover(&[], 1), None);
        let mut falling = copies(1.0, 8);
        falling[1].x = 0.0;
        assert_eq!(crossover(&falling, 1), None);
    }
}
