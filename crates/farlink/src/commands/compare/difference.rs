//! Differences between paired arms: medians, their change, and how sure it is.

use std::collections::BTreeMap;

use statistics::{MannWhitney, Pair, Sample, gain, holm, mann_whitney, percent};

use crate::budget::{Metric, metric};
use crate::show::arms::{Arm, Load};

/// Metrics that are compared, the first of which decides.
const COMPARED: [&str; 8] =
    ["plt", "render", "ttfb", "byteindex", "fcp", "lcp", "bytes", "connections"];

/// Changes within this are of no consequence: loads whose interval lies inside are equivalent.
const EQUIVALENT: f64 = 0.05;

/// Probability below which a difference is no chance.
const ALPHA: f64 = 0.05;

/// A metric of a pair of arms.
pub struct Difference {
    /// The arm.
    pub arm: String,
    /// The metric.
    pub metric: &'static Metric,
    /// Median before.
    pub before: f64,
    /// Median after.
    pub after: f64,
    /// Number of loads before and after.
    pub loads: [usize; 2],
    /// True if loads were paired by their seeds.
    pub is_paired: bool,
    /// 95 % interval of the change, as fractions; of paired loads.
    pub interval: Option<(f64, f64)>,
    /// Test of loads that cannot be paired.
    pub test: Option<MannWhitney>,
    /// True if all pairs differ by the same ratio: no chance is involved.
    is_constant: bool,
}

/// The differences of all pairs of arms. Probabilities of tests are adjusted for their number, by Holm.
pub fn of_all(arms: &[Arm], seed: u64) -> Vec<Difference> {
    let pairs = arms.chunks_exact(2);
    let of_pair = |pair: &[Arm]| {
        let known = COMPARED.iter().filter_map(|name| metric(name));
        known
            .filter_map(|metric| Difference::of(&pair[0], &pair[1], metric, seed))
            .collect::<Vec<_>>()
    };
    let mut differences: Vec<Difference> = pairs.flat_map(of_pair).collect();
    let mut tests: Vec<&mut MannWhitney> =
        differences.iter_mut().filter_map(|it| it.test.as_mut()).collect();
    let probabilities: Vec<f64> = tests.iter().map(|test| test.p).collect();
    for (test, adjusted) in tests.iter_mut().zip(holm(&probabilities)) {
        test.p = adjusted;
    }
    differences
}

impl Difference {
    /// The difference of two arms in a metric; `None` if one of them has no values.
    pub fn of(before: &Arm, after: &Arm, metric: &'static Metric, seed: u64) -> Option<Difference> {
        let values = |arm: &Arm| -> Vec<f64> {
            arm.loads().iter().filter_map(|load| (metric.of)(&load.visit)).collect()
        };
        let [one, other] = [values(before), values(after)];
        let medians = [Sample::new(one.clone())?.median(), Sample::new(other.clone())?.median()];
        let pairs = paired(before, after, metric);
        let is_constant =
            pairs.as_ref().is_some_and(|pairs| pairs.iter().all(|pair| *pair == pairs[0]));
        let gained = pairs.as_ref().and_then(|pairs| gain(pairs, seed));
        let interval = gained.and_then(|(_, ends)| ends.ok());
        Some(Difference {
            arm: before.condition().to_owned(),
            metric,
            before: medians[0],
            after: medians[1],
            loads: [one.len(), other.len()],
            is_paired: pairs.is_some(),
            // The ratio is before over after.
            interval: interval
                .map(|(low, high)| (1.0 / high.ratio() - 1.0, 1.0 / low.ratio() - 1.0)),
            test: if pairs.is_none() { mann_whitney(&one, &other) } else { None },
            is_constant,
        })
    }

    /// A paired difference with these medians.
    #[cfg(test)]
    pub fn with_interval(
        metric: &'static Metric,
        before: f64,
        after: f64,
        interval: Option<(f64, f64)>,
    ) -> Difference {
        let (arm, loads, test) = (String::new(), [10, 10], None);
        Difference {
            arm,
            metric,
            before,
            after,
            loads,
            is_paired: true,
            interval,
            test,
            is_constant: false,
        }
    }

    /// The change of the median, as a fraction of the value before.
    pub fn change(&self) -> f64 {
        match self.before == self.after {
            true => 0.0,
            false => self.after / self.before - 1.0,
        }
    }

    /// True if chance alone is an unlikely cause.
    fn is_certain(&self) -> bool {
        match (self.interval, self.test) {
            (Some((low, high)), _) => low > 0.0 || high < 0.0,
            (None, Some(test)) => test.p < ALPHA,
            (None, None) => self.is_constant,
        }
    }

    /// True if the interval of the change lies within 5 % either way: the loads are enough to tell that there is no difference of
    /// consequence.
    fn is_equivalent(&self) -> bool {
        self.interval.is_some_and(|(low, high)| low > -EQUIVALENT && high < EQUIVALENT)
    }

    /// The difference as JSON: values, change and interval as fractions, verdict.
    pub fn as_json(&self) -> serde_json::Value {
        serde_json::json!({
            "before": self.before,
            "after": self.after,
            "change": self.change(),
            "interval": self.interval.map(|(low, high)| [low, high]),
            "verdict": self.verdict(),
        })
    }

    /// The verdict in a word or two.
    pub fn verdict(&self) -> &'static str {
        if self.before == self.after {
            return "same";
        }
        match (self.is_certain(), self.after < self.before) {
            (true, true) => "less",
            (true, false) => "more",
            (false, _) if self.is_equivalent() => "equivalent",
            (false, _) => "not certain",
        }
    }

    /// The value before, for people.
    pub fn shown_before(&self) -> String {
        self.metric.kind.show(self.before)
    }

    /// The value after, for people.
    pub fn shown_after(&self) -> String {
        self.metric.kind.show(self.after)
    }

    /// The change, for people.
    pub fn shown_change(&self) -> String {
        signed(self.change())
    }

    /// The interval, for people; the test in its place, or why there is neither.
    pub fn shown_interval(&self) -> String {
        match (self.interval, self.test) {
            (Some((low, high)), _) => format!("{} to {}", signed(low), signed(high)),
            (None, Some(test)) => {
                format!("p = {:.2}, delta = {:.2}", test.p, 1.0 - 2.0 * test.share)
            }
            (None, None) if self.is_constant => "no spread".to_owned(),
            (None, None) => "too few loads".to_owned(),
        }
    }
}

/// The values of loads with the same seed; `None` unless every load has its like.
pub fn paired(before: &Arm, after: &Arm, metric: &Metric) -> Option<Vec<Pair>> {
    let key = |load: &Load| (load.seed, load.visit.record.index);
    let second: BTreeMap<_, f64> = after
        .loads()
        .iter()
        .filter_map(|load| Some((key(load), (metric.of)(&load.visit)?)))
        .collect();
    let first =
        before.loads().iter().filter_map(|load| Some((key(load), (metric.of)(&load.visit)?)));
    let pairs: Vec<Pair> =
        first.filter_map(|(key, first)| Some(Pair { first, second: *second.get(&key)? })).collect();
    let is_whole = pairs.len() == before.loads().len() && pairs.len() == after.loads().len();
    (is_whole && !pairs.is_empty()).then_some(pairs)
}

/// `+5.0 %`, `-12 %`, `0 %`.
pub fn signed(fraction: f64) -> String {
    let shown = percent(fraction.abs());
    match fraction {
        0.0 => "0 %".to_owned(),
        less if less < 0.0 => format!("-{shown}"),
        _ => format!("+{shown}"),
    }
}

/// Sentences on the load time, the answer first.
pub fn summary(differences: &[Difference]) -> Vec<String> {
    let of = |name: &str| {
        let own: Vec<&Difference> =
            differences.iter().filter(|difference| difference.metric.name == name).collect();
        let count = |verdict: &str| own.iter().filter(|it| it.verdict() == verdict).count();
        let (less, more) = (count("less"), count("more"));
        let all = own.len();
        let most = own.iter().filter(|it| ["less", "more"].contains(&it.verdict()));
        let most = most.max_by(|a, b| a.change().abs().total_cmp(&b.change().abs()));
        let Some(most) = most else { return format!("no certain difference in {all} arms") };
        let counts = match (less, more) {
            (less, 0) => format!("less after than before in {less} of {all} arms"),
            (0, more) => format!("more after than before in {more} of {all} arms"),
            (less, more) => format!("less in {less} and more in {more} of {all} arms"),
        };
        let (arm, change) = (&most.arm, most.shown_change());
        let (before, after) = (most.shown_before(), most.shown_after());
        format!("{counts}; at most {change} ({arm}: {before} before, {after} after)")
    };
    vec![format!("Load time: {}.", of("plt")), format!("First render: {}.", of("render"))]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn difference(before: f64, after: f64) -> Difference {
        Difference {
            arm: "h2".to_owned(),
            metric: metric("plt").unwrap(),
            before,
            after,
            loads: [6, 6],
            is_paired: true,
            interval: None,
            test: None,
            is_constant: false,
        }
    }

    #[test]
    fn verdicts_need_certainty() {
        assert_eq!(difference(2e9, 2e9).verdict(), "same");
        assert_eq!(difference(2e9, 1e9).verdict(), "not certain");
        let with = |interval| Difference { interval: Some(interval), ..difference(2e9, 1e9) };
        assert_eq!(with((-0.6, -0.4)).verdict(), "less");
        assert_eq!(with((-0.6, 0.1)).verdict(), "not certain");
        assert_eq!(with((-0.02, 0.04)).verdict(), "equivalent");
        let constant = Difference { is_constant: true, ..difference(1e9, 2e9) };
        assert_eq!((constant.verdict(), constant.shown_change().as_str()), ("more", "+100 %"));
        let test = |p| Difference {
            test: Some(MannWhitney { u: 0.0, share: 0.0, p }),
            ..difference(1e9, 2e9)
        };
        assert_eq!((test(0.01).verdict(), test(0.2).verdict()), ("more", "not certain"));
        assert_eq!(test(0.01).shown_interval(), "p = 0.01, delta = 1.00");
    }

    #[test]
    fn the_summary_counts_what_is_certain() {
        let slower = Difference { interval: Some((0.4, 0.6)), ..difference(2e9, 3e9) };
        let said = summary(&[slower, difference(1e9, 1e9)]);
        assert_eq!(
            said[0],
            "Load time: more after than before in 1 of 2 arms; at most +50 % (h2: 2.00 s before, 3.00 s after)."
        );
        assert_eq!(said[1], "First render: no certain difference in 0 arms.");
    }
}
