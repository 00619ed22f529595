//! Resampled repetitions, which measure the influence of chance on a verdict.
//!
//! At each position of a grid as many repetitions are drawn as there are, with replacement, the same ones for all
//! arms: repetition r has the same seed in each. A result that holds in nearly all resamples holds; else it is
//! inconclusive. Few repetitions vary less among themselves than the world does, by about the root of (n - 1) /
//! n, and a normal quantile would be too small for them. Therefore the tails that are left out are those of
//! Hesterberg's expanded percentile interval ("What teachers should know about the bootstrap", The American
//! Statistician 69, 2015, section 5.2): Phi(-sqrt(n / (n - 1)) t), t being Student's at 2.5 %.

use chance::{RandomSource, RandomStream};
use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

use super::value::{self, Series};
use super::{ClauseError, Dataset, Expression, GridPosition};
use statistics::{Interval, LEVEL};

/// Number of resamples.
pub const RESAMPLES: usize = 2_000;

/// The fewest repetitions for any conclusion: the number that the smallest study had, with which the expanded
/// interval still has its nominal coverage of a mean.
const FEWEST: u32 = 5;

/// The repetitions that an expression is evaluated on, and on which of its curves.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Resample {
    /// Repetitions by position; `None`: all of them once, as measured.
    chosen: Option<Vec<Vec<u32>>>,
    pub case: Option<usize>,
}

impl Resample {
    /// The measured repetitions.
    pub fn as_measured(case: Option<usize>) -> Resample {
        Resample { chosen: None, case }
    }

    /// True if its repetitions were drawn.
    pub fn is_drawn(&self) -> bool {
        self.chosen.is_some()
    }

    /// Draws as many repetitions at each position as `sizes` says.
    fn draw(sizes: &[u32], stream: &mut RandomStream) -> Resample {
        let one = |size: &u32| (0..*size).map(|_| stream.below(u64::from(*size)) as u32).collect();
        Resample { chosen: Some(sizes.iter().map(one).collect()), case: None }
    }

    /// The same resample, restricted to one curve.
    #[must_use]
    pub fn of_case(&self, case: usize) -> Resample {
        Resample { chosen: self.chosen.clone(), case: Some(case) }
    }

    /// The repetitions that were drawn at a position.
    pub fn at(&self, position: usize) -> Option<&[u32]> {
        self.chosen.as_ref().map(|chosen| chosen[position].as_slice())
    }
}

/// A value as measured, and in each of [`RESAMPLES`] resamples.
#[derive(Clone, Debug, PartialEq)]
pub struct Resampled<T> {
    pub measured: T,
    pub again: Vec<T>,
}

impl Resampled<Series> {
    /// The interval of the number at the `index`-th position.
    pub fn interval(&self, index: usize, tail: f64) -> Option<Interval> {
        let drawn = self.again.iter().filter_map(|points| points.get(index));
        interval(drawn.map(|(_, number)| *number).collect(), tail)
    }
}

/// Evaluates something case by case in the same resamples; `name` names their random stream. A case that `read`
/// cannot evaluate has its error.
pub fn resampled<T>(
    dataset: &Dataset,
    cases: &[Option<usize>],
    name: &str,
    read: impl Fn(&Resample) -> Result<T, ClauseError>,
) -> Vec<Result<Resampled<T>, ClauseError>> {
    let measured = |case: &Option<usize>| {
        let measured = read(&Resample::as_measured(*case))?;
        Ok(Resampled { measured, again: Vec::with_capacity(RESAMPLES) })
    };
    let mut all: Vec<Result<Resampled<T>, ClauseError>> = cases.iter().map(measured).collect();
    let mut stream = stream(name);
    for _ in 0..RESAMPLES {
        let mut resample = Resample::draw(dataset.sizes(), &mut stream);
        for (case, so_far) in cases.iter().zip(&mut all) {
            let Ok(found) = so_far else { continue };
            resample.case = *case;
            match read(&resample) {
                Ok(value) => found.again.push(value),
                Err(error) => *so_far = Err(error),
            }
        }
    }
    all
}

/// The stream of a clause's resamples.
fn stream(clause: &str) -> RandomStream {
    RandomSource::new(1, 0).stream(&format!("judge/{clause}"))
}

/// The share of resamples in either tail, for a mean of samples of so many values with so many degrees of freedom; `None` for fewer than
/// [`FEWEST`] values.
fn tail(values: u32, freedom: u32) -> Option<f64> {
    if values < FEWEST || freedom < FEWEST - 1 {
        return None;
    }
    let t = StudentsT::new(0.0, 1.0, f64::from(freedom)).ok()?.inverse_cdf(0.5 + LEVEL / 2.0);
    let stretch = (f64::from(values) / f64::from(freedom)).sqrt();
    Some(Normal::standard().cdf(-stretch * t))
}

/// The tail for a number at one position.
pub fn tail_at_position(dataset: &Dataset) -> Option<f64> {
    let least = *dataset.sizes().iter().min()?;
    tail(least, least.saturating_sub(1))
}

/// The tail for a number of all positions together, if one of them has enough repetitions: an event that is not in every load makes
/// the others fewer.
pub fn tail_of_all(dataset: &Dataset) -> Option<f64> {
    let sizes = dataset.sizes();
    sizes.iter().find(|size| **size >= FEWEST)?;
    tail(sizes.iter().sum(), sizes.iter().map(|size| size.saturating_sub(1)).sum())
}

/// The interval that leaves out `tail` of the values on either side; `None` if a value is NaN.
pub fn interval(mut values: Vec<f64>, tail: f64) -> Option<Interval> {
    if values.is_empty() || values.iter().any(|value| value.is_nan()) {
        return None;
    }
    values.sort_by(f64::total_cmp);
    let out = ((tail * values.len() as f64).floor() as usize).min((values.len() - 1) / 2);
    Some(Interval { low: values[out], high: values[values.len() - 1 - out] })
}

/// A number at a position.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    pub at: GridPosition,
    pub value: f64,
    /// The interval over resamples; `None` for published values, without spread, and with too few repetitions.
    pub interval: Option<Interval>,
}

/// The values of an expression, position by position; `name` names the random stream of its resamples. NaN values
/// are left out.
pub fn estimates(
    expression: &Expression,
    dataset: &Dataset,
    name: &str,
) -> Result<Vec<Estimate>, ClauseError> {
    let points = |resample: &Resample| Ok(value::value(expression, dataset, resample)?.points());
    let (points, tail) = match tail_at_position(dataset) {
        None => {
            let measured = points(&Resample::as_measured(None))?;
            (Resampled { measured, again: Vec::new() }, 0.0)
        }
        Some(tail) => (resampled(dataset, &[None], name, points).remove(0)?, tail),
    };
    let estimate = |(index, &(at, value)): (usize, &(GridPosition, f64))| {
        let interval = points.interval(index, tail).filter(|it| it.low < it.high);
        Estimate { at, value, interval }
    };
    let finite = points.measured.iter().enumerate().filter(|(_, (_, value))| value.is_finite());
    Ok(finite.map(estimate).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::testdata::Curves;
    use scenario::Protocol;

    #[test]
    fn tails_are_thinner_for_few() {
        // From tables: n = 5, t(4) = 2.776445: Phi(-3.104161) = 0.000954.
        assert!((tail(5, 4).unwrap() - 0.000_954).abs() < 5e-6);
        // n = 10, t(9) = 2.262157: Phi(-2.384523) = 0.008551.
        assert!((tail(10, 9).unwrap() - 0.008_551).abs() < 5e-6);
        assert!((tail(100_020, 100_000).unwrap() - 0.025).abs() < 1e-4);
        assert_eq!((tail(4, 3), tail(5, 0)), (None, None));
    }

    #[test]
    fn an_interval_leaves_out_its_tails() {
        let values: Vec<f64> = (0..1000).map(f64::from).collect();
        let found = interval(values, 0.025).unwrap();
        assert_eq!((found.low, found.high), (25.0, 974.0));
        assert_eq!(interval(vec![1.0], 0.025).unwrap(), Interval { low: 1.0, high: 1.0 });
        assert_eq!(interval(vec![1.0, f64::NAN], 0.025), None);
        assert_eq!(interval(vec![], 0.1), None);
    }

    #[test]
    fn the_interval_covers_the_mean_of_five_as_often_as_it_says() {
        // Normal values: of 400 samples of five, about 95 % must have the mean, 0, in their interval. The plain
        // percentile interval covers it in 81 %.
        let mut stream = stream("coverage");
        let covers = |stream: &mut RandomStream| {
            let sample: Vec<f64> = (0..5).map(|_| stream.normal()).collect();
            let sum = |resample: Resample| -> f64 {
                resample.at(0).unwrap().iter().map(|i| sample[*i as usize]).sum()
            };
            let sums = (0..1000).map(|_| sum(Resample::draw(&[5], stream))).collect();
            let found = interval(sums, tail(5, 4).unwrap()).unwrap();
            found.low <= 0.0 && found.high >= 0.0
        };
        let covered = (0..400).filter(|_| covers(&mut stream)).count();
        assert!((360..=396).contains(&covered), "{covered} of 400");
    }

    #[test]
    fn a_number_lies_within_its_interval() {
        let curves = Curves::new().curve(Protocol::H1, "10", &[1.0, 2.0], 10.0);
        let found = curves.estimates("rtt", "plt(h1)").unwrap();
        let values: Vec<(f64, f64)> = found.iter().map(|it| (it.at.x, it.value)).collect();
        assert_eq!(values, [(50.0, 1.0), (100.0, 2.0)]);
        for Estimate { value, interval, .. } in found {
            let interval = interval.expect("eight repetitions have one");
            assert!(interval.low < value && value < interval.high, "{interval:?}");
            assert!(interval.high - interval.low < 0.3 * value);
        }
    }

    #[test]
    fn copies_and_what_is_published_have_no_interval() {
        let curves = Curves::new().exact(Protocol::H1, &[1.0, 2.0]);
        let of = |text| curves.estimates("rtt", text).unwrap();
        assert!(of("plt(h1)").iter().all(|it| it.interval.is_none()));
        assert!(of("published(table)").iter().all(|it| it.interval.is_none()));
    }

    #[test]
    fn curves_are_averaged_position_by_position() {
        let curves = Curves::new().curve(Protocol::H1, "10", &[1.0, 2.0], 0.0).curve(
            Protocol::H1,
            "20",
            &[3.0, 6.0, 9.0],
            0.0,
        );
        let found = curves.estimates("rtt", "across(plt(h1))").unwrap();
        let values: Vec<(f64, f64)> = found.iter().map(|it| (it.at.x, it.value)).collect();
        assert_eq!(values, [(50.0, 2.0), (100.0, 4.0), (150.0, 9.0)]);
    }
}
