//! Budgets as written: `plt.p90 < 3s`, `h3 <= h2 * 1.05`, `h2.bytes <= 2MB on 3g`.

use std::fmt;
use std::str::FromStr;

use scenario::nearest;
use statistics::Sample;

use super::metric::{FAILED, Kind, METRICS, Metric, metric};

/// Form of a budget, for errors.
const FORM: &str =
    "[ARM.]METRIC[.STATISTIC] < VALUE, or ARM <= ARM * 1.05; then `on NETWORK` for one of several";

/// A limit that loads must keep.
#[derive(Clone, Debug)]
pub struct Budget {
    text: String,
    /// The limited quantity.
    pub quantity: Quantity,
    /// The relation that must hold.
    pub relation: Relation,
    /// The limit.
    pub limit: Limit,
    /// The network, page or other condition that it is for; `None` for all.
    pub condition: Option<String>,
}

/// A statistic of a metric.
#[derive(Clone, Debug)]
pub struct Quantity {
    /// The arm; `None` for each of them.
    pub arm: Option<String>,
    /// The metric.
    pub metric: &'static Metric,
    /// The statistic.
    pub statistic: Statistic,
}

/// A statistic of loads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Statistic {
    /// The mean.
    Mean,
    /// A quantile, from 0 to 1.
    Quantile(f64),
}

/// A relation between a quantity and its limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// `<`.
    Below,
    /// `<=`.
    AtMost,
    /// `>`.
    Above,
    /// `>=`.
    AtLeast,
}

/// A limit.
#[derive(Clone, Debug)]
pub enum Limit {
    /// A value in the metric's unit.
    Value(f64),
    /// The same or another statistic of another arm, times a factor, plus a value.
    Relative {
        /// The other quantity.
        quantity: Quantity,
        /// The factor.
        factor: f64,
        /// The addition.
        plus: f64,
    },
}

impl fmt::Display for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for Budget {
    type Err = String;

    fn from_str(text: &str) -> Result<Budget, String> {
        let (assertion, condition) = match text.rsplit_once(" on ") {
            Some((assertion, condition)) => (assertion, Some(condition.trim().to_owned())),
            None => (text, None),
        };
        if condition.as_deref() == Some("") {
            return Err(format!("no network after `on`; write {FORM}"));
        }
        let at = assertion.find(['<', '>']).ok_or_else(|| {
            let equal = if text.contains('=') { "; `=` is not a limit" } else { "" };
            format!("no <, <=, > or >= in it{equal}; write {FORM}")
        })?;
        let (left, right) = assertion.split_at(at);
        let (relation, right) = Relation::read(right);
        let quantity = Quantity::read(left.trim())?;
        let limit = Limit::read(right.trim(), &quantity)?;
        let text = text.trim().to_owned();
        Ok(Budget { text, quantity, relation, limit, condition })
    }
}

impl Relation {
    /// Reads the relation at the beginning of `text`; returns the rest, too.
    fn read(text: &str) -> (Relation, &str) {
        let known = [
            ("<=", Relation::AtMost),
            (">=", Relation::AtLeast),
            ("<", Relation::Below),
            (">", Relation::Above),
        ];
        let found = known.iter().find_map(|(sign, it)| Some((*it, text.strip_prefix(sign)?)));
        found.unwrap_or((Relation::Below, text))
    }

    /// True if `value` keeps `limit`.
    pub fn holds(self, value: f64, limit: f64) -> bool {
        match self {
            Relation::Below => value < limit,
            Relation::AtMost => value <= limit,
            Relation::Above => value > limit,
            Relation::AtLeast => value >= limit,
        }
    }

    /// Its sign.
    pub fn sign(self) -> &'static str {
        match self {
            Relation::Below => "<",
            Relation::AtMost => "<=",
            Relation::Above => ">",
            Relation::AtLeast => ">=",
        }
    }
}

impl Quantity {
    /// `plt`, `plt.p90`, `h2`, `h2.plt.p90`, `"h2 tls12".plt`.
    fn read(text: &str) -> Result<Quantity, String> {
        let (arm, rest) = arm_and_rest(text)?;
        let mut parts = rest.split('.').map(str::trim).filter(|part| !part.is_empty()).peekable();
        let (arm, name) = match (arm, parts.next()) {
            (Some(arm), name) => (Some(arm), name.unwrap_or("plt")),
            (None, None) => return Err(format!("nothing is limited; write {FORM}")),
            (None, Some(first)) if metric(first).is_some() => (None, first),
            // A word that is no metric is an arm.
            (None, Some(arm)) => (Some(arm.to_owned()), parts.next().unwrap_or("plt")),
        };
        let metric = metric(name).ok_or_else(|| {
            let names = || METRICS.iter().map(|metric| metric.name);
            let meant = nearest(name, names()).map(|name| format!("; did you mean `{name}`?"));
            let listed = || format!("; metrics are {}", names().collect::<Vec<_>>().join(", "));
            format!("`{name}` is no metric{}", meant.unwrap_or_else(listed))
        })?;
        let statistic = match parts.next() {
            None => Statistic::Quantile(0.5),
            Some(_) if metric.name == FAILED => {
                return Err(format!("`{FAILED}` is a share of all loads; it has no statistics"));
            }
            Some(name) => Statistic::read(name)?,
        };
        match parts.next() {
            None => Ok(Quantity { arm, metric, statistic }),
            Some(more) => Err(format!("`{more}` is too much; write {FORM}")),
        }
    }
}

/// The arm in quotes at the beginning, if there is one, and the rest.
fn arm_and_rest(text: &str) -> Result<(Option<String>, &str), String> {
    let Some(quoted) = text.strip_prefix('"') else { return Ok((None, text)) };
    let (arm, rest) = quoted.split_once('"').ok_or("a quotation mark is missing")?;
    Ok((Some(arm.to_owned()), rest))
}

impl Statistic {
    fn read(name: &str) -> Result<Statistic, String> {
        let percentile = || name.strip_prefix('p')?.parse::<f64>().ok();
        match name {
            "median" => Ok(Statistic::Quantile(0.5)),
            "mean" => Ok(Statistic::Mean),
            "min" => Ok(Statistic::Quantile(0.0)),
            "max" => Ok(Statistic::Quantile(1.0)),
            _ => percentile()
                .filter(|percent| (0.0..=100.0).contains(percent))
                .map(|percent| Statistic::Quantile(percent / 100.0))
                .ok_or_else(|| {
                    format!("`{name}` is no statistic; write median, mean, min, max or p90")
                }),
        }
    }

    /// Its value.
    pub fn of(self, sample: &Sample) -> f64 {
        match self {
            Statistic::Mean => sample.mean(),
            Statistic::Quantile(share) => sample.quantile(share),
        }
    }
}

impl fmt::Display for Statistic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Statistic::Mean => f.write_str("mean"),
            Statistic::Quantile(0.5) => f.write_str("median"),
            Statistic::Quantile(share) => write!(f, "p{}", share * 100.0),
        }
    }
}

impl Limit {
    /// A value, or another arm's quantity with `* FACTOR` and `+ VALUE`.
    fn read(text: &str, limited: &Quantity) -> Result<Limit, String> {
        let kind = limited.metric.kind;
        if text.is_empty() {
            return Err(format!("no limit after the sign; write {FORM}"));
        }
        if text.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
            return kind.parse(text).map(Limit::Value);
        }
        let (scaled, plus) = match text.split_once('+') {
            Some((scaled, plus)) => (scaled, kind.parse(plus.trim())?),
            None => (text, 0.0),
        };
        let (other, factor) = match scaled.split_once('*') {
            Some((other, factor)) => (other, factor_of(factor.trim())?),
            None => (scaled, 1.0),
        };
        let quantity = Quantity::read(other.trim())?;
        let Some(arm) = &quantity.arm else {
            return Err(format!("a limit needs the arm that it is of: h2.{}", other.trim()));
        };
        if limited.arm.as_ref() == Some(arm) && limited.metric.name == quantity.metric.name {
            return Err(format!("`{arm}` is limited by itself"));
        }
        // `h3.render <= h2` means the same of both.
        let same = !other.contains('.');
        let quantity = match same {
            true => Quantity { arm: quantity.arm, ..limited.clone() },
            false => quantity,
        };
        if quantity.metric.kind != kind && [kind, quantity.metric.kind] != [Kind::Count; 2] {
            let (one, other) = (limited.metric.name, quantity.metric.name);
            return Err(format!("`{one}` and `{other}` have different units"));
        }
        Ok(Limit::Relative { quantity, factor, plus })
    }
}

fn factor_of(text: &str) -> Result<f64, String> {
    let factor = text.parse::<f64>().ok().filter(|factor| factor.is_finite() && *factor > 0.0);
    factor.ok_or_else(|| format!("`{text}` is no factor; write a number, as in h2 * 1.05"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> Budget {
        text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    fn refused(text: &str) -> String {
        text.parse::<Budget>().expect_err(text)
    }

    #[test]
    fn values_have_the_metrics_units() {
        let value = |text: &str| match read(text).limit {
            Limit::Value(value) => value,
            other => panic!("{other:?}"),
        };
        assert_eq!(value("plt.p90 < 3s"), 3e9);
        assert_eq!(value("h2.bytes<=1.5MB"), 1.5e6);
        assert_eq!(value("connections <= 6"), 6.0);
        assert_eq!(value("failed <= 1%"), 0.01);
        assert!(refused("plt < 3").contains("unit"), "{}", refused("plt < 3"));
        assert!(refused("requests < 3s").contains("not a number"));
    }

    #[test]
    fn quantities_have_defaults() {
        let quantity = |text: &str| {
            let Quantity { arm, metric, statistic } = read(&format!("{text} < 1s")).quantity;
            format!("{} {} {statistic}", arm.unwrap_or_else(|| "-".to_owned()), metric.name)
        };
        assert_eq!(quantity("plt"), "- plt median");
        assert_eq!(quantity("h3"), "h3 plt median");
        assert_eq!(quantity("h3.render"), "h3 render median");
        assert_eq!(quantity("h3.ttfb.p95"), "h3 ttfb p95");
        assert_eq!(quantity("\"h2 tls12\".plt.mean"), "h2 tls12 plt mean");
        assert_eq!(quantity("\"h2 tls12\""), "h2 tls12 plt median");
    }

    #[test]
    fn limits_may_be_other_arms() {
        let budget = read("h3.plt.p90 <= h2 * 1.05 + 100ms on 3g");
        assert_eq!((budget.relation, budget.condition.as_deref()), (Relation::AtMost, Some("3g")));
        let Limit::Relative { quantity, factor, plus } = budget.limit else { panic!("a value") };
        assert_eq!((quantity.arm.as_deref(), factor, plus), (Some("h2"), 1.05, 1e8));
        assert_eq!(quantity.statistic, Statistic::Quantile(0.9), "the same as on the left");
        let Limit::Relative { quantity, .. } = read("h3 < h1.ttfb").limit else {
            panic!("a value")
        };
        assert_eq!(quantity.metric.name, "ttfb");
    }

    #[test]
    fn mistakes_are_explained() {
        assert!(refused("h2.ptl < 3s").contains("did you mean `plt`"));
        assert!(refused("plt = 3s").contains("`=` is not a limit"));
        assert!(refused("plt.p101 < 3s").contains("no statistic"));
        assert!(refused("failed.p90 < 1%").contains("share of all loads"));
        assert!(refused("h2 < plt * 2").contains("needs the arm"));
        assert!(refused("h2 < h2 * 2").contains("by itself"));
        assert!(refused("h2 < h1.bytes").contains("different units"));
        assert!(refused("h2 < h1 * x").contains("no factor"));
        assert!(refused("plt < 3s on ").contains("no network"));
        assert!(refused("plt <").contains("no limit"));
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in "[a-z0-9.<>=*+\" ]{0,40}") {
            let _ = text.parse::<Budget>();
        }
    }
}
