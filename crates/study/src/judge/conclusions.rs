//! A study's conclusions, in numbers: in its own laboratory, and with later technology.
//!
//! A conclusion states that one way of loading pages is sooner than another, later, or no different.
//! `conclusions.toml` defines those ways for the study and for today; each comparison yields one number, the
//! share of the load time that is saved. A conclusion is not a claim: claims are judged by
//! [`verdict`](super::verdict), to the letter of their criteria.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::frame::Sources;
use super::{Expression, Fault, Figure, Filter, Frame, Leaf, Measured, Quantity, Terms, Test};
use crate::{Study, StudyError, known_format, typed};
use scenario::choice;

/// The name of the file.
pub const FILE: &str = "conclusions.toml";

/// Least difference in load time that counts, in per cent: also the least gap of a claim's sign.
const LEAST_GAP_PERCENT: f64 = 2.0;

choice! {
    /// Relation of one way of loading pages to another.
    pub enum Way, "way" {
        /// Its pages load sooner.
        Sooner = "sooner",
        /// Its pages load later.
        Later = "later",
        /// No discernible difference.
        Same = "the same",
    }
    not_yet {}
}

choice! {
    /// Technology that came after a study.
    pub enum Since, "with" {
        /// HTTP/2, with TLS 1.3, today's TCP and today's browser.
        Http2 = "http/2",
        /// HTTP/3, with the same.
        Http3 = "http/3",
    }
    not_yet {}
}

impl Since {
    /// The name as used in a text.
    pub fn title(self) -> &'static str {
        match self {
            Since::Http2 => "HTTP/2",
            Since::Http3 => "HTTP/3",
        }
    }
}

/// A study's conclusions, and the comparisons that bear on them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Conclusions {
    terms: Option<Terms>,
    conclusions: Vec<Conclusion>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Conclusion {
    id: String,
    said: String,
    expects: Way,
    then: Vec<Comparison>,
    since: Vec<Comparison>,
    #[serde(default)]
    beside: Vec<Comparison>,
}

impl Conclusion {
    fn comparisons(&self) -> impl Iterator<Item = &Comparison> {
        self.then.iter().chain(&self.since).chain(&self.beside)
    }
}

/// Two ways of loading the same pages.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Comparison {
    /// The later technology that it is about; `None` if it is about what the study did.
    with: Option<Since>,
    /// Description.
    what: String,
    /// The grid of series that do not name one.
    on: Option<String>,
    /// Filter on its cells.
    #[serde(default, rename = "where")]
    filter: Filter,
    /// The load times of the way in question.
    of: Expression,
    /// The load times of the other way.
    against: Expression,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawConclusions {
    format: u32,
    terms: Terms,
    #[serde(rename = "conclusion")]
    conclusions: Vec<Conclusion>,
}

/// A conclusion with its numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Concluded {
    /// Its name within the study.
    pub id: String,
    /// The study's statement, for a reader who does not know it.
    pub said: String,
    /// The relation that it states.
    pub expects: Way,
    /// The comparisons of the study, in its laboratory.
    pub then: Vec<Compared>,
    /// The same question, with later technology.
    pub since: Vec<(Since, Compared)>,
    /// Later technologies compared with each other: a question that the study could not ask.
    pub beside: Vec<(Since, Compared)>,
}

/// A comparison with its number.
#[derive(Clone, Debug, PartialEq)]
pub struct Compared {
    /// Description.
    pub what: String,
    /// The result, or what is missing for it.
    pub saved: Result<Saved, Fault>,
}

/// Share of the load time that one way saves against another.
#[derive(Clone, Debug, PartialEq)]
pub struct Saved {
    /// The share in per cent, the median over all places; negative if time is lost.
    pub percent: Figure,
    /// The loads behind it.
    pub loads: u32,
}

impl Compared {
    /// The relation that was found, if any could be.
    pub fn way(&self) -> Option<Way> {
        self.saved.as_ref().ok().map(Saved::way)
    }
}

impl Saved {
    /// The relation: sooner or later only if the interval excludes 0 and the difference is at least 2 %.
    pub fn way(&self) -> Way {
        let Some(interval) = self.percent.interval else { return Way::Same };
        match self.percent.value {
            value if value >= LEAST_GAP_PERCENT && interval.low > 0.0 => Way::Sooner,
            value if value <= -LEAST_GAP_PERCENT && interval.high < 0.0 => Way::Later,
            _ => Way::Same,
        }
    }
}

impl Conclusions {
    /// The conclusions of `study`; empty if its folder has no such file.
    ///
    /// # Errors
    /// A mistake in the file.
    pub fn of_study(study: &Study) -> Result<Conclusions, StudyError> {
        let Some(text) = study.files.get(FILE) else { return Ok(Conclusions::default()) };
        let raw: RawConclusions = typed(&study.name, FILE, text)?;
        known_format(&study.name, FILE, raw.format)?;
        let wrong = |entry: &str, field: &str, why: String| StudyError::Field {
            study: study.name.clone(),
            file: FILE.to_owned(),
            entry: entry.to_owned(),
            field: field.to_owned(),
            why,
        };
        let is_experiment =
            |id: &str| study.setup.experiments.iter().any(|experiment| experiment.id == id);
        if let Some(why) = raw.terms.mistake(is_experiment) {
            return Err(wrong("terms", "arm, grid", why));
        }
        let mut seen = BTreeSet::new();
        for conclusion in &raw.conclusions {
            if !seen.insert(&conclusion.id) {
                return Err(wrong(&conclusion.id, "id", "a second entry of this name".to_owned()));
            }
            for comparison in conclusion.comparisons() {
                if let Some(why) = comparison.mistake(&raw.terms) {
                    return Err(wrong(&conclusion.id, &comparison.what, why));
                }
            }
            let mut later = conclusion.since.iter().chain(&conclusion.beside);
            if let Some(since) = later.find(|it| it.with.is_none()) {
                let why = "with what? Write `with = \"http/2\"` or `with = \"http/3\"`".to_owned();
                return Err(wrong(&conclusion.id, &since.what, why));
            }
        }
        Ok(Conclusions { terms: Some(raw.terms), conclusions: raw.conclusions })
    }

    /// All quantities that are needed of the loads of `experiment`.
    pub fn quantities(&self, experiment: &str) -> BTreeSet<Quantity> {
        let Some(terms) = &self.terms else { return BTreeSet::new() };
        let all = self.conclusions.iter().flat_map(Conclusion::comparisons);
        let asked = all.flat_map(|comparison| {
            let leaves = comparison.leaves().into_iter();
            leaves.filter_map(|leaf| terms.asked(leaf, comparison.on.as_deref(), experiment))
        });
        asked.collect()
    }

    /// Computes their numbers from the measurements; `tables` are the study's files.
    ///
    /// # Errors
    /// An unreadable comparison, with its conclusion and the reason.
    pub fn draw(
        &self,
        measured: &Measured,
        tables: &BTreeMap<String, String>,
    ) -> Result<Vec<Concluded>, (String, Fault)> {
        let Some(terms) = &self.terms else { return Ok(Vec::new()) };
        let sources = Sources { measured, terms, tables };
        self.conclusions.iter().map(|conclusion| conclusion.draw(sources)).collect()
    }
}

impl Conclusion {
    fn draw(&self, sources: Sources<'_>) -> Result<Concluded, (String, Fault)> {
        let all = |comparisons: &[Comparison]| -> Result<Vec<Compared>, (String, Fault)> {
            let one = |(index, comparison): (usize, &Comparison)| {
                let draws = format!("{}/{}/{index}", self.id, comparison.what);
                match comparison.saved(&draws, sources) {
                    Err(fault @ Fault::Clause(_)) => Err((self.id.clone(), fault)),
                    saved => Ok(Compared { what: comparison.what.clone(), saved }),
                }
            };
            comparisons.iter().enumerate().map(one).collect()
        };
        let then = all(&self.then)?;
        let later = |comparisons: &[Comparison]| {
            let with = comparisons.iter().filter_map(|comparison| comparison.with);
            Ok(with.zip(all(comparisons)?).collect::<Vec<_>>())
        };
        let (since, beside) = (later(&self.since)?, later(&self.beside)?);
        let (id, said) = (self.id.clone(), self.said.clone());
        Ok(Concluded { id, said, expects: self.expects, then, since, beside })
    }
}

impl Comparison {
    fn leaves(&self) -> BTreeSet<&Leaf> {
        self.of.leaves().into_iter().chain(self.against.leaves()).collect()
    }

    fn mistake(&self, terms: &Terms) -> Option<String> {
        if let Some(name) = self.filter.unknown() {
            return Some(format!("`{name}` is no fact of a cell"));
        }
        self.leaves().into_iter().find_map(|leaf| terms.unknown(leaf, self.on.as_deref()))
    }

    fn saved(&self, draws: &str, sources: Sources<'_>) -> Result<Saved, Fault> {
        let frame = Frame::new(sources, self.leaves(), self.on.as_deref(), &self.filter)?;
        let quantity = Expression::saved_percent(&self.of, &self.against);
        let finding = Test::Report { quantity }.judge(&frame, None, draws)?;
        let percent = finding.figures[0];
        Ok(Saved { percent: Figure { what: "saved", ..percent }, loads: frame.grounds.loads })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shipped;
    use statistics::Interval;

    fn saved(value: f64, low: f64, high: f64) -> Saved {
        let interval = Some(Interval { low, high });
        Saved { percent: Figure { what: "saved", value, interval }, loads: 10 }
    }

    #[test]
    fn a_way_needs_a_gap_that_is_no_chance_and_matters() {
        assert_eq!(saved(10.0, 4.0, 15.0).way(), Way::Sooner);
        assert_eq!(saved(-10.0, -15.0, -0.1).way(), Way::Later);
        assert_eq!(saved(10.0, -1.0, 15.0).way(), Way::Same, "chance explains it");
        assert_eq!(saved(1.5, 1.0, 2.0).way(), Way::Same, "nobody would notice");
        let alone = Saved { percent: Figure::plain(("saved", 50.0)), loads: 1 };
        assert_eq!(alone.way(), Way::Same, "one load says nothing of chance");
    }

    fn refusal(change: impl Fn(&str) -> String) -> String {
        let mut study = shipped("bth2013").unwrap();
        let text = change(&study.files[FILE]);
        study.files.insert(FILE.to_owned(), text);
        Conclusions::of_study(&study).unwrap_err().to_string()
    }

    #[test]
    fn what_is_wrong_is_named() {
        let arm = refusal(|text| text.replace("against = \"plt(h1)\"", "against = \"plt(h9)\""));
        assert!(arm.contains("bth2013/conclusions.toml") && arm.contains("[arm.h9]"), "{arm}");
        let since = refusal(|text| text.replacen("with = \"http/2\", ", "", 1));
        assert!(since.contains("with = \"http/2\""), "{since}");
        let twice = refusal(|text| text.replace("id = \"round-trip\"", "id = \"loss\""));
        assert!(twice.contains("a second entry"), "{twice}");
        let experiment = refusal(|text| text.replace("[\"afterwards\"]", "[\"elsewhere\"]"));
        assert!(experiment.contains("no experiment `elsewhere`"), "{experiment}");
    }

    #[test]
    fn every_study_has_conclusions_and_asks_for_load_times() {
        for name in crate::NAMES {
            let study = shipped(name).unwrap();
            let conclusions = Conclusions::of_study(&study).unwrap();
            assert!(!conclusions.conclusions.is_empty(), "{name}");
            assert!(conclusions.quantities("afterwards").contains(&Quantity::Plt), "{name}");
        }
    }

    #[test]
    fn without_runs_it_says_what_is_missing() {
        let study = shipped("bth2013").unwrap();
        let conclusions = Conclusions::of_study(&study).unwrap();
        let drawn = conclusions.draw(&Measured::new(), &study.files).unwrap();
        let missing = drawn[0].then[0].saved.as_ref().unwrap_err();
        assert_eq!(missing.to_string(), "a run of `rtt-http`");
        assert_eq!(drawn[0].then[0].way(), None);
    }
}
