//! Conclusions from repetitions.
//!
//! Medians and percentiles describe; intervals say how far a repetition of the whole experiment might
//! lie from here. A simulator without chance repeats itself exactly: such a sample has no spread, and
//! then there is no interval, however many copies were made.

#![forbid(unsafe_code)]

mod adjustment;
mod bootstrap;
mod comparison;
mod correlation;
mod crossover;
mod mann_whitney;
mod median;
mod power;
mod sample;
mod stop_rule;
mod wilcoxon;

pub use adjustment::holm;
pub use bootstrap::{mean_of_95th_percentiles, normal_interval, relative_interval_percent};
pub use comparison::{Comparison, ComparisonVerdict, Pair, compare, percent};
pub use comparison::{RelativeGain, gain};
pub use correlation::RegressionLine;
pub use correlation::{pearson, spearman};
pub use crossover::{Crossing, Crossover, GridPoint, crossing, crossover};
pub use mann_whitney::{MannWhitney, mann_whitney};
pub use median::median_interval;
pub use power::{POWER, pairs_for};
pub use sample::PercentileRule;
pub use sample::{Interval, NoInterval, Sample};
pub use stop_rule::{median_interval_after_stopping, next_look, relative_width};
pub use wilcoxon::{Wilcoxon, wilcoxon};

/// The level of every interval here.
pub const LEVEL: f64 = 0.95;

/// Number of resamples in a bootstrap. The ends of a 95 % interval are then the 50th values from either side:
/// enough that their own scatter is small beside the interval.
pub const RESAMPLES: usize = 2_000;

/// The fewest values for which a median has an interval: the range of n values covers the median with
/// probability 1 - 2 (1/2)^n, which reaches 95 % at 6.
pub const FEWEST_FOR_MEDIAN: usize = 6;
