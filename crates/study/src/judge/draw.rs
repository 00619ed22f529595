//! Resampled repetitions, to measure the influence of chance on a verdict.
//!
//! At each place of a grid as many repetitions are drawn as there are, with replacement, the same ones for all
//! arms: repetition r has the same seed in each. A result that holds in nearly all draws holds; else it is
//! inconclusive. Few repetitions vary less among themselves than the world does, by about the root of (n - 1) /
//! n, and a normal quantile would be too small for them. Therefore the tails that are left out are those of
//! Hesterberg's expanded percentile interval ("What teachers should know about the bootstrap", The American
//! Statistician 69, 2015, section 5.2): Phi(-sqrt(n / (n - 1)) t), t being Student's at 2.5 %.

use chance::{Source, Stream};
use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

use super::{Fault, Place};
use statistics::{Interval, LEVEL};

/// Number of draws.
pub const DRAWS: usize = 2_000;

/// The fewest repetitions for any conclusion: the number that the smallest study had, with which the expanded
/// interval still has its nominal coverage of a mean.
pub const FEWEST: u32 = 5;

/// The repetitions from which a clause is read, and on which of its curves.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Draw {
    /// Repetitions by place; `None`: all of them once, as measured.
    chosen: Option<Vec<Vec<u32>>>,
    /// The curve to read; `None`: all.
    pub case: Option<usize>,
}

impl Draw {
    /// The measured repetitions.
    pub fn as_measured(case: Option<usize>) -> Draw {
        Draw { chosen: None, case }
    }

    /// Draws as many repetitions at each place as `sizes` says.
    fn again(sizes: &[u32], stream: &mut Stream) -> Draw {
        let one = |size: &u32| (0..*size).map(|_| stream.below(u64::from(*size)) as u32).collect();
        Draw { chosen: Some(sizes.iter().map(one).collect()), case: None }
    }

    /// The same draw, restricted to one curve.
    #[must_use]
    pub fn of_case(&self, case: usize) -> Draw {
        Draw { chosen: self.chosen.clone(), case: Some(case) }
    }

    /// The repetitions that were drawn at a place.
    pub fn at(&self, place: usize) -> Option<&[u32]> {
        self.chosen.as_ref().map(|chosen| chosen[place].as_slice())
    }
}

/// A value as measured, and in each of [`DRAWS`] draws.
#[derive(Clone, Debug, PartialEq)]
pub struct InDraws<T> {
    /// As it was measured.
    pub measured: T,
    /// In the draws.
    pub again: Vec<T>,
}

/// Numbers at places, as measured and in draws.
pub type Points = InDraws<Vec<(Place, f64)>>;

impl Points {
    /// The interval of the number at the `index`-th place.
    pub fn interval(&self, index: usize, tail: f64) -> Option<Interval> {
        let drawn = self.again.iter().filter_map(|points| points.get(index));
        interval(drawn.map(|(_, number)| *number).collect(), tail)
    }
}

/// Reads something case by case in the same draws of repetitions, `sizes` at each place; `name` names their
/// random stream. A case that `read` cannot read has its fault.
pub fn in_draws<T>(
    sizes: &[u32],
    cases: &[Option<usize>],
    name: &str,
    read: impl Fn(&Draw) -> Result<T, Fault>,
) -> Vec<Result<InDraws<T>, Fault>> {
    let measured = |case: &Option<usize>| {
        let measured = read(&Draw::as_measured(*case))?;
        Ok(InDraws { measured, again: Vec::with_capacity(DRAWS) })
    };
    let mut all: Vec<Result<InDraws<T>, Fault>> = cases.iter().map(measured).collect();
    let mut stream = stream(name);
    for _ in 0..DRAWS {
        let mut draw = Draw::again(sizes, &mut stream);
        for (case, so_far) in cases.iter().zip(&mut all) {
            let Ok(found) = so_far else { continue };
            draw.case = *case;
            match read(&draw) {
                Ok(value) => found.again.push(value),
                Err(fault) => *so_far = Err(fault),
            }
        }
    }
    all
}

/// The stream of a clause's draws.
fn stream(clause: &str) -> Stream {
    Source::new(1, 0).stream(&format!("judge/{clause}"))
}

/// The share of draws in either tail, for the mean of samples of at least `n` values with this many degrees of
/// freedom in all; `None` for fewer than [`FEWEST`] values.
pub fn tail(n: u32, freedom: u32) -> Option<f64> {
    if n < FEWEST || freedom == 0 {
        return None;
    }
    let t = StudentsT::new(0.0, 1.0, f64::from(freedom)).ok()?.inverse_cdf(0.5 + LEVEL / 2.0);
    let stretch = (f64::from(n) / f64::from(n - 1)).sqrt();
    Some(Normal::standard().cdf(-stretch * t))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tails_are_thinner_for_few() {
        // From tables: n = 5, t(4) = 2.776445: Phi(-3.104161) = 0.000954.
        assert!((tail(5, 4).unwrap() - 0.000_954).abs() < 5e-6);
        // n = 10, t(9) = 2.262157: Phi(-2.384523) = 0.008551.
        assert!((tail(10, 9).unwrap() - 0.008_551).abs() < 5e-6);
        assert!((tail(5000, 100_000).unwrap() - 0.025).abs() < 1e-4);
        assert_eq!((tail(4, 30), tail(5, 0)), (None, None));
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
        let covers = |stream: &mut Stream| {
            let sample: Vec<f64> = (0..5).map(|_| stream.normal()).collect();
            let means = (0..1000).map(|_| {
                Draw::again(&[5], stream)
                    .at(0)
                    .unwrap()
                    .iter()
                    .map(|i| sample[*i as usize])
                    .sum::<f64>()
            });
            let found = interval(means.collect(), tail(5, 4).unwrap()).unwrap();
            found.low <= 0.0 && found.high >= 0.0
        };
        let covered = (0..400).filter(|_| covers(&mut stream)).count();
        assert!((360..=396).contains(&covered), "{covered} of 400");
    }
}
