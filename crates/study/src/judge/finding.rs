//! Result of a clause.

use std::fmt;

use statistics::Interval;

/// A clause's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It holds.
    Holds,
    /// It does not hold.
    Fails,
    /// The repetitions are inconclusive.
    Inconclusive,
    /// Only a number was asked for.
    Reported,
}

/// A clause with its answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// The clause, in words.
    pub clause: String,
    /// Its answer.
    pub finding: Finding,
}

/// An answer and the numbers that it is drawn from.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// The answer.
    pub outcome: Outcome,
    /// The numbers.
    pub figures: Vec<Figure>,
    /// The result on each of several curves.
    pub note: Option<String>,
}

/// A number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figure {
    /// Its label.
    pub what: &'static str,
    /// Its value.
    pub value: f64,
    /// Its interval, where it has one.
    pub interval: Option<Interval>,
}

impl Figure {
    /// A number without an interval.
    pub fn plain((what, value): (&'static str, f64)) -> Figure {
        Figure { what, value, interval: None }
    }
}

impl Finding {
    /// The answer if no load, or too few curves, have the quantity `what`.
    pub fn silent(what: &str) -> Finding {
        let note = Some(format!("too few loads of which `{what}` can be taken"));
        Finding { outcome: Outcome::Inconclusive, figures: Vec::new(), note }
    }

    /// The answer over several curves, given that of each: it must hold on `least` of them.
    pub fn over_cases(found: Vec<(String, Finding)>, least: usize) -> Finding {
        let count = |outcome| found.iter().filter(|(_, it)| it.outcome == outcome).count();
        let (sure, open) = (count(Outcome::Holds), count(Outcome::Inconclusive));
        let outcome = match () {
            () if count(Outcome::Reported) == found.len() => Outcome::Reported,
            () if sure >= least => Outcome::Holds,
            () if sure + open < least => Outcome::Fails,
            () => Outcome::Inconclusive,
        };
        let notes: Vec<String> =
            found.iter().map(|(case, finding)| format!("{case}: {finding}")).collect();
        Finding { outcome, figures: Vec::new(), note: Some(notes.join("; ")) }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Outcome::Holds => "holds",
            Outcome::Fails => "fails",
            Outcome::Inconclusive => "inconclusive",
            Outcome::Reported => "for the record",
        })
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let figures: Vec<String> = self.figures.iter().map(Figure::to_string).collect();
        let numbers = figures.into_iter().chain(self.note.clone()).collect::<Vec<_>>().join(", ");
        write!(f, "{}: {numbers}", self.outcome)
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.what, short(self.value))?;
        match self.interval {
            Some(Interval { low, high }) if short(low) != short(high) => {
                write!(f, " ({} to {})", short(low), short(high))
            }
            _ => Ok(()),
        }
    }
}

/// A number with three significant digits; "never" for a value beyond the grid.
fn short(value: f64) -> String {
    match value.abs() {
        size if size.is_infinite() => "never".to_owned(),
        size if size.is_nan() => "none".to_owned(),
        size if size >= 100.0 || value == value.trunc() => format!("{:.0}", value + 0.0),
        size if size >= 10.0 => format!("{value:.1}"),
        size if size >= 0.995 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(outcome: Outcome) -> (String, Finding) {
        let figure = Figure::plain(("slope", 2.0 / 3.0));
        ("1024".to_owned(), Finding { outcome, figures: vec![figure], note: None })
    }

    #[test]
    fn so_many_curves_must_hold() {
        use Outcome::*;
        let of = |outcomes: &[Outcome], least| {
            Finding::over_cases(outcomes.iter().map(|it| finding(*it)).collect(), least).outcome
        };
        assert_eq!(of(&[Holds, Holds, Holds, Fails], 3), Holds);
        assert_eq!(of(&[Holds, Holds, Fails, Fails], 3), Fails);
        assert_eq!(of(&[Holds, Holds, Inconclusive, Fails], 3), Inconclusive);
        assert_eq!(of(&[Reported, Reported], 2), Reported);
    }

    #[test]
    fn a_finding_shows_its_numbers() {
        let (_, one) = finding(Outcome::Fails);
        assert_eq!(one.to_string(), "fails: slope 0.667");
        let interval = Some(Interval { low: 11.23, high: f64::INFINITY });
        let figure = Figure { what: "from", value: 250.0, interval };
        assert_eq!(figure.to_string(), "from 250 (11.2 to never)");
        assert_eq!(
            [short(-0.0), short(1.0), short(12.34), short(-1234.5)],
            ["0", "1", "12.3", "-1234"]
        );
        let several = Finding::over_cases(vec![finding(Outcome::Holds)], 1);
        assert_eq!(several.to_string(), "holds: 1024: holds: slope 0.667");
    }
}
