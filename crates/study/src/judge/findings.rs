//! Results of clauses.

use std::fmt;

use statistics::Interval;

/// Result of a criterion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TestOutcome {
    /// It holds, whatever repetitions are drawn.
    Holds,
    /// It fails, likewise.
    Fails,
    /// The repetitions do not say.
    Inconclusive,
    /// Nothing was to be decided.
    Reported,
}

impl TestOutcome {
    /// The outcome if at least so many must be sure, and this many are or may be.
    pub fn of_count(sure: f64, open: f64, least: f64) -> TestOutcome {
        match () {
            () if sure >= least => TestOutcome::Holds,
            () if sure + open < least => TestOutcome::Fails,
            () => TestOutcome::Inconclusive,
        }
    }
}

/// A clause, with its finding.
#[derive(Clone, Debug, PartialEq)]
pub struct ClauseResult {
    /// The clause, in words.
    pub clause: String,
    /// Its finding.
    pub finding: Finding,
}

/// An outcome, with the numbers behind it.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// The outcome.
    pub outcome: TestOutcome,
    /// The numbers.
    pub numbers: Vec<NamedNumber>,
    /// Further remarks.
    pub note: Option<String>,
    /// True if the sign, order or mechanism is as published by the measured values, whatever the size; `None` if there is only a size.
    pub reproduces: Option<bool>,
}

/// A number, with its interval over resamples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NamedNumber {
    /// Its name.
    pub name: &'static str,
    /// As it was measured.
    pub value: f64,
    /// The interval; `None` if there are too few repetitions for one.
    pub interval: Option<Interval>,
}

impl NamedNumber {
    /// A number without an interval.
    pub fn plain((name, value): (&'static str, f64)) -> NamedNumber {
        NamedNumber { name, value, interval: None }
    }
}

impl Finding {
    /// The finding of a clause that too few loads have the quantity for.
    pub fn of_too_few_loads(function: &str) -> Finding {
        let note = Some(format!("too few loads of which `{function}` can be taken"));
        Finding { outcome: TestOutcome::Inconclusive, numbers: Vec::new(), note, reproduces: None }
    }

    /// The finding of a clause that must hold on at least so many curves.
    pub fn over_cases(found: Vec<(String, Finding)>, least: usize) -> Finding {
        let count = |outcome| found.iter().filter(|(_, it)| it.outcome == outcome).count();
        let (sure, open) = (count(TestOutcome::Holds), count(TestOutcome::Inconclusive));
        let outcome = match count(TestOutcome::Reported) == found.len() {
            true => TestOutcome::Reported,
            false => TestOutcome::of_count(sure as f64, open as f64, least as f64),
        };
        let signs: Vec<bool> = found.iter().filter_map(|(_, it)| it.reproduces).collect();
        let right = signs.iter().filter(|is_right| **is_right).count();
        let reproduces = (!signs.is_empty()).then_some(right >= least.min(signs.len()));
        let notes: Vec<String> =
            found.iter().map(|(case, finding)| format!("{case}: {finding}")).collect();
        Finding { outcome, numbers: Vec::new(), note: Some(notes.join("; ")), reproduces }
    }
}

impl fmt::Display for TestOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TestOutcome::Holds => "holds",
            TestOutcome::Fails => "fails",
            TestOutcome::Inconclusive => "inconclusive",
            TestOutcome::Reported => "for the record",
        })
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let numbers = self.numbers.iter().map(NamedNumber::to_string);
        let all: Vec<String> = numbers.chain(self.note.clone()).collect();
        write!(f, "{}: {}", self.outcome, all.join(", "))
    }
}

impl fmt::Display for NamedNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.name, short(self.value))?;
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

    fn finding(outcome: TestOutcome) -> (String, Finding) {
        let number = NamedNumber::plain(("slope", 2.0 / 3.0));
        let reproduces = Some(outcome == TestOutcome::Holds);
        ("1024".to_owned(), Finding { outcome, numbers: vec![number], note: None, reproduces })
    }

    #[test]
    fn so_many_curves_must_hold() {
        use TestOutcome::*;
        let of = |outcomes: &[TestOutcome], least| {
            Finding::over_cases(outcomes.iter().map(|it| finding(*it)).collect(), least).outcome
        };
        assert_eq!(of(&[Holds, Holds, Holds, Fails], 3), Holds);
        assert_eq!(of(&[Holds, Holds, Fails, Fails], 3), Fails);
        assert_eq!(of(&[Holds, Holds, Inconclusive, Fails], 3), Inconclusive);
        assert_eq!(of(&[Reported, Reported], 2), Reported);
    }

    #[test]
    fn a_finding_shows_its_numbers() {
        let (_, one) = finding(TestOutcome::Fails);
        assert_eq!(one.to_string(), "fails: slope 0.667");
        let interval = Some(Interval { low: 11.23, high: f64::INFINITY });
        let number = NamedNumber { name: "from", value: 250.0, interval };
        assert_eq!(number.to_string(), "from 250 (11.2 to never)");
        assert_eq!(
            [short(-0.0), short(1.0), short(12.34), short(-1234.5)],
            ["0", "1", "12.3", "-1234"]
        );
        let several = Finding::over_cases(vec![finding(TestOutcome::Holds)], 1);
        assert_eq!(several.to_string(), "holds: 1024: holds: slope 0.667");
    }
}
