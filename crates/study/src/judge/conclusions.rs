//! A study's conclusions, in numbers: in its own laboratory, and with later technology.
//!
//! A conclusion states that one way of loading pages is sooner than another, later, or no different.
//! `conclusions.toml` defines those ways for the study and for today; each comparison yields one number, the
//! share of the load time that is saved. A conclusion is not a claim: claims are judged by
//! [`verdict`](super::verdict), to the letter of their criteria.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use serde::Deserialize;

use super::markdown::Table;
use super::verdict::judge_clause;
use super::{
    Clause, ClauseError, Criterion, Expression, Filter, Measurements, NamedNumber, Sources,
    StudyResult, Terms,
};
use crate::{Study, StudyError};
use scenario::choice;

/// The name of the file.
pub const FILE: &str = "conclusions.toml";

/// The least difference that counts, in per cent.
const LEAST_GAP_PERCENT: f64 = 2.0;

choice! {
    /// Relation of two load times.
    pub enum Effect, "way" {
        /// The pages are there sooner.
        Sooner = "sooner",
        /// They are there later.
        Later = "later",
        /// Chance explains the difference, or it is too small.
        Same = "the same",
    }
    not_yet {}
}

choice! {
    /// Later technology.
    pub enum Technology, "with" {
        /// HTTP/2.
        Http2 = "http/2",
        /// HTTP/3.
        Http3 = "http/3",
    }
    not_yet {}
}

impl Technology {
    fn title(self) -> &'static str {
        match self {
            Technology::Http2 => "HTTP/2",
            Technology::Http3 => "HTTP/3",
        }
    }
}

/// The conclusions of a study, with the terms of their comparisons.
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
    expects: Effect,
    then: Vec<LoadComparison>,
    since: Vec<LoadComparison>,
    #[serde(default)]
    beside: Vec<LoadComparison>,
}

impl Conclusion {
    fn comparisons(&self) -> impl Iterator<Item = &LoadComparison> {
        self.then.iter().chain(&self.since).chain(&self.beside)
    }
}

/// Two ways of loading the same pages: a clause that reports the saved share.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "RawComparison")]
struct LoadComparison {
    /// The later technology in use, if any.
    with: Option<Technology>,
    /// Description.
    what: String,
    saved: Clause,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawComparison {
    with: Option<Technology>,
    what: String,
    on: Option<String>,
    #[serde(default, rename = "where")]
    filter: Filter,
    /// The load times of the way in question.
    of: Expression,
    /// The load times of the other way.
    against: Expression,
}

impl TryFrom<RawComparison> for LoadComparison {
    type Error = String;

    fn try_from(raw: RawComparison) -> Result<LoadComparison, String> {
        let quantity = Expression::saved_percent(&raw.of, &raw.against)?;
        let criterion = Criterion::Report { quantity };
        let saved = Clause { grid: raw.on, filter: raw.filter, cases: None, criterion };
        Ok(LoadComparison { with: raw.with, what: raw.what, saved })
    }
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
pub struct ConclusionResult {
    /// The study's statement, for a reader who does not know it.
    said: String,
    /// The relation that it states.
    expects: Effect,
    /// The comparisons of the study, in its laboratory.
    then: Vec<ComparisonResult>,
    /// The same question, with later technology.
    since: Vec<ComparisonResult>,
    /// Later technologies compared with each other: a question that the study could not ask.
    beside: Vec<ComparisonResult>,
}

/// A comparison with its number.
#[derive(Clone, Debug, PartialEq)]
struct ComparisonResult {
    with: Option<Technology>,
    what: String,
    /// The result, or what is missing for it.
    saved: Result<Saving, ClauseError>,
}

/// Share of the load time that one way saves against another.
#[derive(Clone, Debug, PartialEq)]
struct Saving {
    /// The share in per cent, the median over all positions; negative if time is lost.
    percent: NamedNumber,
    /// The loads behind it.
    loads: u32,
}

impl ComparisonResult {
    /// The relation that was found, if any could be.
    fn effect(&self) -> Option<Effect> {
        self.saved.as_ref().ok().map(Saving::effect)
    }
}

impl Saving {
    /// The relation: sooner or later only if the interval excludes 0 and the difference is at least 2 %.
    fn effect(&self) -> Effect {
        let Some(interval) = self.percent.interval else { return Effect::Same };
        match self.percent.value {
            value if value >= LEAST_GAP_PERCENT && interval.low > 0.0 => Effect::Sooner,
            value if value <= -LEAST_GAP_PERCENT && interval.high < 0.0 => Effect::Later,
            _ => Effect::Same,
        }
    }
}

impl Conclusions {
    /// The conclusions of `study`; empty if its folder has no such file.
    pub fn of_study(study: &Study) -> Result<Conclusions, StudyError> {
        if !study.files.contains_key(FILE) {
            return Ok(Conclusions::default());
        }
        let raw: RawConclusions = study.parsed(FILE, |raw: &RawConclusions| raw.format)?;
        let wrong = |entry: &str, field: &str, why: String| study.wrong(FILE, entry, field, why);
        if let Some(why) = raw.terms.mistake(study) {
            return Err(wrong("terms", "arm, grid", why));
        }
        let mut seen = BTreeSet::new();
        for conclusion in &raw.conclusions {
            if !seen.insert(&conclusion.id) {
                return Err(wrong(&conclusion.id, "id", "a second entry of this name".to_owned()));
            }
            for comparison in conclusion.comparisons() {
                if let Some(why) = comparison.saved.mistake(&raw.terms) {
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
    pub fn quantities(&self, experiment: &str) -> BTreeSet<String> {
        let Some(terms) = &self.terms else { return BTreeSet::new() };
        let all = self.conclusions.iter().flat_map(Conclusion::comparisons);
        let asked = all.flat_map(|it| it.saved.quantities(terms, experiment));
        asked.collect()
    }

    /// Computes their numbers from the measurements; `tables` are the study's files.
    pub fn evaluate(
        &self,
        measurements: &Measurements,
        tables: &BTreeMap<String, String>,
    ) -> Result<Vec<ConclusionResult>, (String, ClauseError)> {
        let Some(terms) = &self.terms else { return Ok(Vec::new()) };
        let sources = Sources { measurements, terms, tables };
        self.conclusions.iter().map(|conclusion| conclusion.evaluate(sources)).collect()
    }
}

impl Conclusion {
    fn evaluate(&self, sources: Sources<'_>) -> Result<ConclusionResult, (String, ClauseError)> {
        let all = |comparisons: &[LoadComparison]| {
            let one = |(index, comparison): (usize, &LoadComparison)| {
                let name = format!("{}/{}/{index}", self.id, comparison.what);
                match comparison.saving(&name, sources) {
                    Err(mistake @ ClauseError::Invalid(_)) => Err((self.id.clone(), mistake)),
                    saved => {
                        let (with, what) = (comparison.with, comparison.what.clone());
                        Ok(ComparisonResult { with, what, saved })
                    }
                }
            };
            comparisons.iter().enumerate().map(one).collect::<Result<Vec<_>, _>>()
        };
        let (then, since, beside) = (all(&self.then)?, all(&self.since)?, all(&self.beside)?);
        let (said, expects) = (self.said.clone(), self.expects);
        Ok(ConclusionResult { said, expects, then, since, beside })
    }
}

impl LoadComparison {
    fn saving(&self, name: &str, sources: Sources<'_>) -> Result<Saving, ClauseError> {
        let (finding, loads) = judge_clause(&self.saved, name, sources)?;
        let percent = NamedNumber { name: "saved", ..finding.numbers[0] };
        Ok(Saving { percent, loads: loads.all })
    }
}

/// The five studies and later technology, for readers who know none of them (`docs/five-studies.md`); `command`
/// regenerates it.
pub fn summary(results: &[StudyResult], command: &str) -> String {
    let columns = ["study", "it said", "as it was then, here", "with HTTP/2", "with HTTP/3"];
    let mut table = Table::new(&columns);
    for result in results {
        for it in &result.conclusions {
            let since = |with| agreement(it, it.since.iter().filter(|it| it.with == Some(with)));
            table.row([
                format!("[{0}](#{0})", result.study.name),
                it.said.clone(),
                agreement(it, it.then.iter()),
                since(Technology::Http2),
                since(Technology::Http3),
            ]);
        }
    }
    let mut page = format!("{HEAD}\n    {command}\n\n{table}");
    results.iter().for_each(|result| section(&mut page, result));
    page
}

const HEAD: &str = "\
# Five studies, and what came after

Between 2013 and 2016 five groups asked whether pages come sooner over slow, far or lossy links if a browser's requests share one connection, as in SPDY
and its heir HTTP/2, instead of waiting for each other on several, as in HTTP/1.1. Each had other pages, other links, other servers, and their answers do
not agree. Here all of their conditions are run in one laboratory ([studies/README.md](../studies/README.md)), first as they were then, and then with what
came after: HTTP/2 and HTTP/3 over TLS 1.3, today's TCP and today's browser, on the same pages and links.

Each line compares two ways of loading the same pages: *X for Y* says by how much of Y's load time the pages are there sooner by X, in per cent, the median over all
pages and links of the comparison, with what chance leaves open (95 %) in brackets; a negative number is time lost. *Sooner* or *later* is only what chance
does not explain and is 2 % at least. *As it said* is held against the study's conclusion; that a comparison of today goes another way is no mistake of the study's. *Beside* stands what it could
not ask: what HTTP/3 adds to HTTP/2. Claim by claim, to the letter, the studies are judged in [studies.md](studies.md).

Written by a program from a store of runs. Made by:
";

/// Number of these comparisons that agree with the study.
fn agreement<'a>(
    conclusion: &ConclusionResult,
    compared: impl Iterator<Item = &'a ComparisonResult>,
) -> String {
    let effects: Vec<Option<Effect>> = compared.map(ComparisonResult::effect).collect();
    let is_so = effects.iter().filter(|it| **it == Some(conclusion.expects)).count();
    match (effects.len(), is_so) {
        (0, _) => "-".to_owned(),
        (all, 0) => format!("not so, in {all} of {all}"),
        (all, so) if so == all => format!("so, in {all} of {all}"),
        (all, so) => format!("so in {so} of {all}"),
    }
}

fn section(page: &mut String, result: &StudyResult) {
    let setup = &result.study.setup;
    let _ = write!(
        page,
        "\n## {}\n\n{}, \"{}\" ({}). {}\n",
        result.study.name, setup.authors, setup.title, setup.year, setup.question
    );
    for it in &result.conclusions {
        let mut table = Table::new(&["", ">saved", "that is", ">loads"]);
        let parts = [
            ("then: ", &it.then, Some(it.expects)),
            ("now: ", &it.since, Some(it.expects)),
            ("beside: ", &it.beside, None),
        ];
        for (lead, compared, expects) in parts {
            compared.iter().for_each(|it| table.row(row(lead, it, expects)));
        }
        let _ = write!(page, "\n**{}**\n\n{table}", it.said);
    }
}

/// Row of a comparison; `expects` is the study's statement, if it could make one.
fn row(lead: &str, compared: &ComparisonResult, expects: Option<Effect>) -> [String; 4] {
    let with = compared.with.map_or(String::new(), |with| format!("{} ", with.title()));
    let what = format!("{lead}{with}{}", compared.what);
    match &compared.saved {
        Ok(saved) => {
            let effect = saved.effect();
            let so = if Some(effect) == expects { ", as it said" } else { "" };
            [what, percent(&saved.percent), format!("{effect}{so}"), saved.loads.to_string()]
        }
        Err(missing) => [what, String::new(), format!("waits for {missing}"), String::new()],
    }
}

/// A percentage with its interval, rounded to whole numbers.
fn percent(number: &NamedNumber) -> String {
    let whole = |value: f64| format!("{:.0}", value.round() + 0.0);
    let interval = number.interval.map_or(String::new(), |interval| {
        format!(" ({} to {})", whole(interval.low), whole(interval.high))
    });
    format!("{} %{interval}", whole(number.value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shipped;
    use statistics::Interval;

    fn saved(value: f64, low: f64, high: f64) -> Saving {
        let interval = Some(Interval { low, high });
        Saving { percent: NamedNumber { name: "saved", value, interval }, loads: 10 }
    }

    #[test]
    fn an_effect_needs_a_gap_that_is_no_chance_and_matters() {
        assert_eq!(saved(10.0, 4.0, 15.0).effect(), Effect::Sooner);
        assert_eq!(saved(-10.0, -15.0, -0.1).effect(), Effect::Later);
        assert_eq!(saved(10.0, -1.0, 15.0).effect(), Effect::Same, "chance explains it");
        assert_eq!(saved(1.5, 1.0, 2.0).effect(), Effect::Same, "nobody would notice");
        let alone = Saving { percent: NamedNumber::plain(("saved", 50.0)), loads: 1 };
        assert_eq!(alone.effect(), Effect::Same, "one load says nothing of chance");
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
            assert!(conclusions.quantities("afterwards").contains("plt"), "{name}");
        }
    }

    #[test]
    fn without_runs_it_says_what_is_missing() {
        let study = shipped("bth2013").unwrap();
        let conclusions = Conclusions::of_study(&study).unwrap();
        let drawn = conclusions.evaluate(&Measurements::default(), &study.files).unwrap();
        let missing = drawn[0].then[0].saved.as_ref().unwrap_err();
        assert_eq!(missing.to_string(), "a run of `rtt-http`");
        assert_eq!(drawn[0].then[0].effect(), None);
    }
}
