//! Stop rule: repeat until the interval of a median is narrow enough.
//!
//! Whoever looks often and stops at the first narrow interval stops at one that is too narrow: intervals of 95 % then hold 92 to 93 % of the
//! medians. Intervals of 96 % hold 95 % (the test below, and scripts/statistics/stop_rule.py on other distributions), so those are
//! computed here and shown for such runs.

use super::median::median_interval_at;
use super::{Interval, NoInterval, Sample};

/// Level of intervals that decide when to stop: after stopping they hold 95 % of the medians.
const LEVEL_BEFORE_STOPPING: f64 = 0.96;

/// Growth of the number of repetitions from one look to the next: small, so that the width comes close to the one asked for.
const GROWTH: f64 = 1.03;

/// The interval of a median whose sample was repeated until this interval was narrow; it covers the median at the level of [`super::LEVEL`].
pub fn median_interval_after_stopping(sample: &Sample) -> Result<Interval, NoInterval> {
    median_interval_at(LEVEL_BEFORE_STOPPING, sample)
}

/// The width of a median's interval relative to the median; 0 if all values are the same, `None` for too few of them.
pub fn relative_width(sample: &Sample) -> Option<f64> {
    match median_interval_after_stopping(sample) {
        Ok(interval) => Some((interval.high - interval.low) / sample.median()),
        Err(NoInterval::NoSpread) => Some(0.0),
        Err(NoInterval::TooFew { .. }) => None,
    }
}

/// The number of repetitions at which to look again after `repetitions` were too few.
pub fn next_look(repetitions: u32) -> u32 {
    let grown = (f64::from(repetitions) * GROWTH).ceil() as u32;
    grown.max(repetitions + 1)
}

#[cfg(test)]
mod tests {
    use chance::RandomSource;

    use super::*;

    /// Draws loads until the interval is at most `width` wide; returns its width and its ends.
    fn until(width: f64, mut draw: impl FnMut() -> f64) -> (f64, Interval, usize) {
        let mut values: Vec<f64> = (0..20).map(|_| draw()).collect();
        loop {
            let sample = Sample::new(values.iter().copied()).unwrap();
            let reached = relative_width(&sample).unwrap();
            if reached <= width {
                return (reached, median_interval_after_stopping(&sample).unwrap(), values.len());
            }
            let next = next_look(values.len() as u32) as usize;
            values.extend((values.len()..next).map(|_| draw()));
        }
    }

    #[test]
    fn intervals_cover_the_median_after_stopping() {
        // Load times with a tail: 1 s and an exponential 0.3 s; their median is 1 + 0.3 ln 2.
        let median = 1.0 + 0.3 * 2.0_f64.ln();
        let (mut covered, mut widths) = (0, Vec::new());
        let trials = 2_000;
        for trial in 0..trials {
            let mut stream = RandomSource::new(trial, 0).stream("statistics/stop_rule");
            let (width, interval, _) = until(0.08, || 1.0 - 0.3 * (1.0 - stream.unit()).ln());
            covered += u32::from(interval.low <= median && median <= interval.high);
            widths.push(width / 0.08);
        }
        let coverage = f64::from(covered) / trials as f64;
        assert!((0.93..=0.97).contains(&coverage), "{coverage}");
        let widths = Sample::new(widths).unwrap();
        assert!(widths.median() > 0.9 && widths.quantile(1.0) <= 1.0, "{}", widths.median());
    }

    #[test]
    fn intervals_of_fixed_samples_cover_the_median() {
        for n in [6, 10, 20, 50] {
            let trials = 4_000;
            let covered = (0..trials).filter(|trial| {
                let mut stream = RandomSource::new(*trial, 0).stream("statistics/coverage");
                let sample = Sample::new((0..n).map(|_| -stream.unit().ln())).unwrap();
                let interval = crate::median_interval(&sample).unwrap();
                (interval.low..=interval.high).contains(&2.0_f64.ln())
            });
            let coverage = covered.count() as f64 / trials as f64;
            assert!((0.93..=0.97).contains(&coverage), "{n}: {coverage}");
        }
    }

    #[test]
    fn looks_come_closer_than_a_twentieth() {
        assert_eq!([6, 20, 33, 34, 1000].map(next_look), [7, 21, 34, 36, 1030]);
    }
}
