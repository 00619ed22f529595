//! The figures by which a model is measured, and their names in suites and reports.

use scenario::choice;

choice! {
    /// A statistic over the cells of a suite: the distance of one set of page load times from another.
    pub enum Figure, "figure" {
        /// Median over pairs of cells of the error of log(PLT of one protocol / PLT of the other).
        RatioMedian = "ratio_median",
        /// 95th percentile of the same.
        RatioP95 = "ratio_p95",
        /// Share of the pairs that differ by more than [`DIFFERS`] in which the same protocol is ahead.
        RatioSign = "ratio_sign",
        /// Median over the cells without random loss of the relative error of the median PLT.
        LosslessMedian = "lossless_median",
        /// 95th percentile of the same.
        LosslessP95 = "lossless_p95",
        /// Median over the cells with random loss, and over p25, p50 and p75 of each, of the relative error of
        /// that quantile, net of the effect of chance alone.
        LossyMedian = "lossy_median",
        /// 95th percentile of the same.
        LossyP95 = "lossy_p95",
        /// As `lossy_median`, with the effect of chance.
        LossyGrossMedian = "lossy_gross_median",
        /// As `lossy_p95`, with the effect of chance.
        LossyGrossP95 = "lossy_gross_p95",
        /// Pearson's correlation of the logarithms of the median PLTs.
        Pearson = "pearson",
        /// Spearman's rank correlation of the median PLTs.
        Spearman = "spearman",
        /// The least of the rank correlations within one network.
        SpearmanWithin = "spearman_within",
    }
    not_yet {}
}

/// Ratio of protocols from which on their order matters: 5 %.
pub const DIFFERS: f64 = 0.05;

/// Direction in which a figure is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// An error.
    Less,
    /// A share or a correlation.
    More,
}

impl Figure {
    /// Description, for people.
    pub fn describe(self) -> &'static str {
        match self {
            Figure::RatioMedian => "log ratio of protocols, median error",
            Figure::RatioP95 => "log ratio of protocols, p95 error",
            Figure::RatioSign => "the same protocol ahead, where they differ by over 5 %",
            Figure::LosslessMedian => "PLT without loss, median error",
            Figure::LosslessP95 => "PLT without loss, p95 error",
            Figure::LossyMedian => "PLT quartiles with loss, median error net of chance",
            Figure::LossyP95 => "PLT quartiles with loss, p95 error net of chance",
            Figure::LossyGrossMedian => "PLT quartiles with loss, median error",
            Figure::LossyGrossP95 => "PLT quartiles with loss, p95 error",
            Figure::Pearson => "Pearson correlation of log PLT",
            Figure::Spearman => "Spearman correlation of PLT",
            Figure::SpearmanWithin => "Spearman correlation within a network, the least",
        }
    }

    /// The direction that is better.
    pub fn better(self) -> Better {
        match self {
            Figure::RatioSign | Figure::Pearson | Figure::Spearman | Figure::SpearmanWithin => {
                Better::More
            }
            _ => Better::Less,
        }
    }

    /// A value of it for people: correlations as they are, all else in per cent.
    pub fn show(self, value: f64) -> String {
        match self {
            Figure::Pearson | Figure::Spearman | Figure::SpearmanWithin => format!("{value:.4}"),
            _ => percent(value),
        }
    }
}

/// A share as a percentage.
pub fn percent(share: f64) -> String {
    match share.abs() {
        s if s >= 0.0995 => format!("{:.0} %", share * 100.0),
        _ => format!("{:.2} %", share * 100.0),
    }
}
