//! Demands of a suite, and the results for them.

use scenario::choice;

use crate::cell::{Better, Figure, percent};

/// A quantity that a suite sets a limit to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Gauge {
    /// The figure of the simulation against the emulation.
    Figure(Figure),
    /// The Lantern-like model's value of this figure over the simulation's.
    BetterThanLantern(Figure),
    /// The figure of the loader against Chromium, over cells in which the network determines the load time.
    Chromium(ChromiumFigure),
}

choice! {
    /// A statistic of the loader against Chromium.
    pub enum ChromiumFigure, "figure" {
        /// Median over the cells of the relative error of the median PLT.
        Median = "chromium_median",
        /// 95th percentile of the same.
        P95 = "chromium_p95",
        /// Median over pairs of cells of the error of log(PLT of one protocol / PLT of the other).
        RatioMedian = "chromium_ratio_median",
        /// 95th percentile of the same.
        RatioP95 = "chromium_ratio_p95",
        /// Median over the cells of the relative error of the median first render: estimated against painted.
        FirstRenderMedian = "chromium_first_render_median",
    }
    not_yet {}
}

impl ChromiumFigure {
    /// Description, for people.
    pub fn describe(self) -> &'static str {
        match self {
            ChromiumFigure::Median => "loader against Chromium, median error of PLT",
            ChromiumFigure::P95 => "loader against Chromium, p95 error of PLT",
            ChromiumFigure::RatioMedian => {
                "loader against Chromium, log ratio of protocols, median error"
            }
            ChromiumFigure::RatioP95 => {
                "loader against Chromium, log ratio of protocols, p95 error"
            }
            ChromiumFigure::FirstRenderMedian => {
                "loader against Chromium, median error of the first render"
            }
        }
    }
}

/// A limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Target {
    /// The gauge.
    pub gauge: Gauge,
    /// The maximum or minimum of its value.
    pub limit: f64,
}

/// Result for a target.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TargetResult {
    /// The target.
    pub target: Target,
    /// The measured value; `None` if it could not be measured.
    pub value: Option<f64>,
    /// Cells, pairs or quantiles it rests on.
    pub basis: usize,
    /// The outcome.
    pub outcome: TargetOutcome,
}

/// Outcome for a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetOutcome {
    /// It was met.
    Met,
    /// It was missed.
    Missed,
    /// Too few cells to tell.
    TooFew,
}

impl Gauge {
    /// Description, for people.
    pub fn describe(self) -> String {
        match self {
            Gauge::Figure(figure) => figure.describe().to_owned(),
            Gauge::BetterThanLantern(figure) => {
                format!("{}: Lantern-like model / simulation", figure.describe())
            }
            Gauge::Chromium(figure) => figure.describe().to_owned(),
        }
    }

    /// The direction that is better.
    pub fn better(self) -> Better {
        match self {
            Gauge::Figure(figure) => figure.better(),
            Gauge::BetterThanLantern(_) => Better::More,
            Gauge::Chromium(_) => Better::Less,
        }
    }

    /// A value of it for people.
    pub fn show(self, value: f64) -> String {
        match self {
            Gauge::Figure(figure) => figure.show(value),
            // No error at all, or next to none.
            Gauge::BetterThanLantern(_) if value > 9999.0 => "over 9999 times".to_owned(),
            Gauge::BetterThanLantern(_) => format!("{value:.1} times"),
            Gauge::Chromium(_) => percent(value),
        }
    }
}

impl Target {
    /// Judges `value`, which rests on `basis` cells; `needed` cells are required.
    pub fn judge(self, value: Option<f64>, basis: usize, needed: usize) -> TargetResult {
        let met = |value: f64| match self.gauge.better() {
            Better::Less => value <= self.limit,
            Better::More => value >= self.limit,
        };
        let outcome = match value {
            Some(_) if basis < needed => TargetOutcome::TooFew,
            Some(value) if met(value) => TargetOutcome::Met,
            Some(_) => TargetOutcome::Missed,
            None => TargetOutcome::TooFew,
        };
        TargetResult { target: self, value, basis, outcome }
    }

    /// The limit for people: "<= 3.00 %".
    pub fn demand(self) -> String {
        let sign = match self.gauge.better() {
            Better::Less => "≤",
            Better::More => "≥",
        };
        format!("{sign} {}", self.gauge.show(self.limit))
    }
}

impl TargetResult {
    /// The result, for people: "met", "missed by 1.20 %", "too few cells (3)".
    pub fn say(&self) -> String {
        match (self.outcome, self.value) {
            (TargetOutcome::Met, _) => "met".to_owned(),
            (TargetOutcome::Missed, Some(value)) => {
                let by = (value - self.target.limit).abs();
                format!("missed by {}", self.target.gauge.show(by))
            }
            _ => format!("too few cells ({})", self.basis),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEDIAN: Target = Target { gauge: Gauge::Figure(Figure::RatioMedian), limit: 0.03 };

    #[test]
    fn an_error_is_to_be_small_and_a_share_large() {
        assert_eq!(MEDIAN.judge(Some(0.03), 10, 10).outcome, TargetOutcome::Met);
        let missed = MEDIAN.judge(Some(0.042), 10, 10);
        assert_eq!(
            (missed.outcome, missed.say()),
            (TargetOutcome::Missed, "missed by 1.20 %".into())
        );
        let sign = Target { gauge: Gauge::Figure(Figure::RatioSign), limit: 0.95 };
        assert_eq!(sign.judge(Some(0.96), 10, 10).outcome, TargetOutcome::Met);
        assert_eq!(sign.judge(Some(0.90), 10, 10).outcome, TargetOutcome::Missed);
        assert_eq!((sign.demand(), MEDIAN.demand()), ("≥ 95 %".into(), "≤ 3.00 %".into()));
    }

    #[test]
    fn too_few_cells_are_no_verdict() {
        assert_eq!(MEDIAN.judge(Some(0.5), 9, 10).outcome, TargetOutcome::TooFew);
        assert_eq!(MEDIAN.judge(Some(0.5), 9, 10).say(), "too few cells (9)");
        assert_eq!(MEDIAN.judge(None, 0, 1).outcome, TargetOutcome::TooFew);
    }
}
