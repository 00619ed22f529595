//! Descriptions of criteria, for readers of their results.

use std::fmt;

use super::{Criterion, Direction};
use crate::judge::Expression;

impl fmt::Display for Criterion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Criterion::Range { quantity, low, high, min_share_pct } => {
                write!(f, "{quantity} {}{}", band(*low, *high), places(*min_share_pct))
            }
            Criterion::Similar { a, b, tol_pct, min_share_pct } => {
                write!(f, "{a} within {tol_pct} % of {b}{}", places(*min_share_pct))
            }
            Criterion::Sign { less, more, min_share_pct, min_gap_pct, or_equal } => {
                let sign = if *or_equal { "<=" } else { "<" };
                let gap = min_gap_pct.map_or(String::new(), |gap| format!(" by {gap} %"));
                write!(f, "{}{gap}{}", pairs(less, more, sign), places(*min_share_pct))
            }
            Criterion::Exists { less, more } => write!(f, "{} somewhere", pairs(less, more, "<")),
            Criterion::Crossover { a, b, low, high, .. } => {
                write!(f, "{a} stays below {b} from {low} to {high} on")
            }
            Criterion::NoCrossover { a, b, max_wins_pct, margin_pct } => {
                let margin =
                    margin_pct.map_or(String::new(), |margin| format!(" by over {margin} %"));
                write!(f, "{a} below {b}{margin} at {max_wins_pct} % of places at most")
            }
            Criterion::Monotone { quantity, direction, min_rank_corr } => {
                let way = match direction {
                    Direction::Up => "rises",
                    Direction::Down => "falls",
                };
                let least = min_rank_corr
                    .map_or(String::new(), |least| format!(", rank correlation {least}"));
                write!(f, "{quantity} {way}{least}")
            }
            Criterion::Fit { quantity, min_r2, slope_low, slope_high } => {
                let slope = match (slope_low, slope_high) {
                    (None, None) => String::new(),
                    (low, high) => format!(", slope {}", band(*low, *high)),
                };
                let least = min_r2.map_or(String::new(), |least| format!(", R2 at least {least}"));
                write!(f, "{quantity} is a line{slope}{least}")
            }
            Criterion::Flat { quantity, max_abs_slope } => {
                write!(f, "{quantity} is level, slope {max_abs_slope} at most")
            }
            Criterion::Plateau { quantity, from_x, tol_pct, min_share_pct } => {
                let places = places(*min_share_pct);
                write!(f, "{quantity} stays within {tol_pct} % from {from_x} on{places}")
            }
            Criterion::Argmax { quantity, expect, .. } => {
                write!(f, "{quantity} is largest for {expect}")
            }
            Criterion::Argmin { quantity, expect, .. } => {
                write!(f, "{quantity} is smallest for {expect}")
            }
            Criterion::Order { expect, or_equal } => {
                f.write_str(&list(expect, if *or_equal { " <= " } else { " < " }))
            }
            Criterion::Any { of } => f.write_str(&list(of, ", or ")),
            Criterion::All { of } => {
                write!(f, "({})", list(of, ", and "))
            }
            Criterion::Most { of, min_share_pct } => {
                write!(f, "{min_share_pct} % of: {}", list(of, "; "))
            }
            Criterion::Report { quantity } => write!(f, "{quantity}"),
        }
    }
}

fn band(low: Option<f64>, high: Option<f64>) -> String {
    match (low, high) {
        (Some(low), Some(high)) => format!("from {low} to {high}"),
        (Some(low), None) => format!("at least {low}"),
        (None, Some(high)) => format!("at most {high}"),
        (None, None) => String::new(),
    }
}

fn places(least: Option<f64>) -> String {
    least.map_or(String::new(), |least| format!(" at {least} % of places"))
}

fn pairs(less: &[Expression], more: &[Expression], sign: &str) -> String {
    format!("{} {sign} {}", list(less, ", "), list(more, ", "))
}

fn list(all: &[impl ToString], between: &str) -> String {
    all.iter().map(ToString::to_string).collect::<Vec<_>>().join(between)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_criterion_is_told_in_words() {
        let told = |text: &str| toml::from_str::<Criterion>(text).unwrap().to_string();
        let range = "test = 'range'\nquantity = 'max(plt(a))'\nlow = 1.5";
        assert_eq!(told(range), "max(plt(a)) at least 1.5");
        let sign = "test = 'sign'\nless = ['plt(a)']\nmore = ['plt(b)']\nmin_share_pct = 80";
        assert_eq!(told(sign), "plt(a) < plt(b) at 80 % of places");
        let fit = "test = 'fit'\nquantity = 'plt(a)'\nslope_low = 1\nslope_high = 2\nmin_r2 = 0.9";
        assert_eq!(told(fit), "plt(a) is a line, slope from 1 to 2, R2 at least 0.9");
    }
}
