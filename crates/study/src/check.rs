//! The machine-readable core of a claim's criterion. It is often narrower than the criterion, by which the
//! claim is judged; `studies/README.md` defines each test.

use serde::Deserialize;

/// A test of measured quantities, named in the claim's own words.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "test", rename_all = "snake_case", deny_unknown_fields)]
#[expect(missing_docs, reason = "fields are the keys that studies/README.md explains")]
pub enum Check {
    /// `a` stays better than `b` from some x on, and that x lies in the band.
    Crossover {
        a: String,
        b: String,
        x: String,
        low: f64,
        high: f64,
        tight_low: Option<f64>,
        tight_high: Option<f64>,
    },
    /// `a` is better than `b` at few points only.
    NoCrossover { a: String, b: String, x: String, max_wins_pct: f64, margin_pct: Option<f64> },
    /// A ratio lies in a band.
    Ratio {
        num: String,
        den: String,
        low: f64,
        high: f64,
        min_share_pct: Option<f64>,
        min_cases: Option<u32>,
    },
    /// Each of `less` lies below its partner of `more`.
    Sign {
        less: Vec<String>,
        more: Vec<String>,
        min_share_pct: Option<f64>,
        x_from: Option<f64>,
        x_to: Option<f64>,
        min_gap: Option<f64>,
        min_gap_pct: Option<f64>,
        max_median_gain_pct: Option<f64>,
    },
    /// Two quantities are about the same.
    Similar { a: String, b: String, tol_pct: f64, min_share_pct: Option<f64> },
    /// A quantity rises or falls along an axis.
    Monotone {
        quantity: String,
        along: String,
        direction: Direction,
        min_rank_corr: Option<f64>,
        min_cases: Option<u32>,
    },
    /// A curve is a line, perhaps of a certain slope.
    Fit {
        quantity: String,
        along: String,
        model: String,
        min_r2: Option<f64>,
        slope_low: Option<f64>,
        slope_high: Option<f64>,
        min_cases: Option<u32>,
    },
    /// A curve hardly rises or falls between two x.
    Flat { quantity: String, along: String, x_from: f64, x_to: f64, max_abs_slope: f64 },
    /// A curve stays where it is from an x on.
    Plateau { quantity: String, along: String, from_x: f64, tol_pct: f64, min_cases: Option<u32> },
    /// A number lies in a band.
    Range { quantity: String, low: f64, high: f64, min_share_pct: Option<f64> },
    /// A share lies in a band.
    Share { of: String, low_pct: f64, high_pct: f64 },
    /// Values are near the published ones, point by point.
    Pointwise { tol_pct: f64, min_share_pct: f64 },
    /// A quantity is largest where it is expected to be.
    Argmax {
        quantity: String,
        over: String,
        expect: String,
        slack_pct_points: Option<f64>,
        min_share_pct: Option<f64>,
    },
    /// A quantity is smallest where it is expected to be.
    Argmin {
        quantity: String,
        over: String,
        expect: String,
        slack_pct_points: Option<f64>,
        min_share_pct: Option<f64>,
    },
    /// Arms in the order of their values, the least first.
    Order { expect: Vec<String> },
    /// At least one such case exists.
    Exists { quantity: String },
    /// Nothing can be tested. (With braces: for a plain name, serde would accept any key beside it.)
    None {},
}

/// Direction of a trend.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Rising.
    Up,
    /// Falling.
    Down,
}

/// A closed range of values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Band {
    /// The least.
    pub low: f64,
    /// The greatest.
    pub high: f64,
}

impl Check {
    /// The band that it tests, if any.
    pub fn band(&self) -> Option<Band> {
        match *self {
            Check::Crossover { low, high, .. }
            | Check::Ratio { low, high, .. }
            | Check::Range { low, high, .. } => Some(Band { low, high }),
            Check::Share { low_pct: low, high_pct: high, .. } => Some(Band { low, high }),
            Check::Fit { slope_low: Some(low), slope_high: Some(high), .. } => {
                Some(Band { low, high })
            }
            _ => None,
        }
    }

    /// The invalid field, and why it is invalid.
    pub(super) fn mistake(&self) -> Option<(&'static str, String)> {
        if let Some(Band { low, high }) = self.band().filter(|band| band.low > band.high) {
            return Some(("check.low", format!("{low} is above check.high, {high}")));
        }
        if let Check::Crossover { low, high, tight_low: Some(from), tight_high: Some(to), .. } =
            *self
            && (from < low || to > high || from > to)
        {
            return Some((
                "check.tight_low",
                format!("{from} to {to} is not within {low} to {high}"),
            ));
        }
        if let Check::Sign { less, more, .. } = self
            && (less.is_empty() || (less.len() != 1 && less.len() != more.len()))
        {
            let why = format!("{} names, but check.more has {}", less.len(), more.len());
            return Some(("check.less", why));
        }
        let share = self.least_share_percent().filter(|share| !(0.0..=100.0).contains(share));
        share.map(|share| ("check.min_share_pct", format!("{share} is no share in per cent")))
    }

    /// Least share of cells or points at which it must hold, in per cent; `None`: it must hold in the
    /// aggregate.
    pub fn least_share_percent(&self) -> Option<f64> {
        match *self {
            Check::Ratio { min_share_pct, .. }
            | Check::Sign { min_share_pct, .. }
            | Check::Similar { min_share_pct, .. }
            | Check::Range { min_share_pct, .. }
            | Check::Argmax { min_share_pct, .. }
            | Check::Argmin { min_share_pct, .. } => min_share_pct,
            Check::Pointwise { min_share_pct, .. } => Some(min_share_pct),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Check, toml::de::Error> {
        toml::from_str(text)
    }

    #[test]
    fn a_check_is_read_by_its_test() {
        let check = read("test = \"range\"\nquantity = \"PLT\"\nlow = 1\nhigh = 2.5").unwrap();
        assert_eq!(check.band(), Some(Band { low: 1.0, high: 2.5 }));
        assert_eq!(check.mistake(), None);
        let missing = read("test = \"range\"\nlow = 1\nhigh = 2").unwrap_err();
        assert!(missing.message().contains("missing field `quantity`"), "{missing}");
        let unknown = read("test = \"none\"\nlow = 1").unwrap_err();
        assert!(unknown.message().contains("low"), "{unknown}");
        assert!(read("test = \"guess\"").is_err());
    }

    #[test]
    fn what_cannot_be_is_named() {
        let mistake = |text| read(text).unwrap().mistake().unwrap().0;
        let range = "test = \"range\"\nquantity = \"PLT\"\nlow = 3\nhigh = 2";
        assert_eq!(mistake(range), "check.low");
        let share = "test = \"pointwise\"\ntol_pct = 5\nmin_share_pct = 101";
        assert_eq!(mistake(share), "check.min_share_pct");
        let sign = "test = \"sign\"\nless = [\"a\", \"b\"]\nmore = [\"c\"]";
        assert_eq!(mistake(sign), "check.less");
        let crossover = "test = \"crossover\"\na = \"a\"\nb = \"b\"\nx = \"x\"\nlow = 5\nhigh = 9\n\
                         tight_low = 4\ntight_high = 6";
        assert_eq!(mistake(crossover), "check.tight_low");
    }
}
