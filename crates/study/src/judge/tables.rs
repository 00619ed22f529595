//! A study's verdicts as CSV tables: the files under `docs/studies`.
//!
//! A cell that holds several claims, clauses or changes separates them by `; ` (clauses by a line break).

use std::collections::BTreeMap;

use super::{
    ClaimResult, ClauseResult, Counted, ExperimentRun, LaboratoryResult, PublishedTable,
    StudyResult, Tally,
};
use crate::{DIGITS, Laboratory, LaboratoryKind, SetupChange};

/// A table that becomes a file: `NAME.csv`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataTable {
    /// Name of the file, without its extension.
    pub name: &'static str,
    columns: Vec<&'static str>,
    rows: Vec<Vec<String>>,
}

impl DataTable {
    /// An empty table.
    pub(super) fn new(name: &'static str, columns: &[&'static str]) -> DataTable {
        DataTable { name, columns: columns.to_vec(), rows: Vec::new() }
    }

    /// Adds a row: one cell per column.
    pub(super) fn row<const N: usize>(&mut self, cells: [String; N]) {
        debug_assert_eq!(N, self.columns.len(), "{}", self.name);
        self.rows.push(cells.into());
    }

    /// The rows below a line of column names.
    pub fn csv(&self) -> String {
        let mut writer = csv::Writer::from_writer(Vec::new());
        let mut write = |cells: &mut dyn Iterator<Item = &str>| {
            writer.write_record(cells).expect("each row has a cell per column");
        };
        write(&mut self.columns.iter().copied());
        self.rows.iter().for_each(|row| write(&mut row.iter().map(String::as_str)));
        let bytes = writer.into_inner().expect("memory takes what is written");
        String::from_utf8(bytes).expect("cells are text")
    }
}

/// The verdicts of a study.
pub fn verdict_tables(result: &StudyResult) -> Vec<DataTable> {
    let tables = [
        tallies(result),
        published(result),
        experiments(result),
        claims(result),
        causes(result),
        changes(result),
        laboratories(result),
    ];
    tables.into_iter().filter(|table| !table.rows.is_empty()).collect()
}

fn tallies(result: &StudyResult) -> DataTable {
    let columns = [
        "setup",
        "counted",
        "claims",
        "facts",
        "confirmed",
        "refuted",
        "inconclusive",
        "open",
        "untestable",
        "non_discriminating",
        "rate_percent",
        "ceiling_percent",
        "ceiling_facts",
        "sign_percent",
        "sign_facts",
    ];
    let mut table = DataTable::new("tally", &columns);
    let kinds = [
        (Counted::Findings, "facts"),
        (Counted::Strong, "strongly supported"),
        (Counted::Restatements, "restated inputs"),
    ];
    for (counted, what) in kinds {
        let tally = Tally::of(result, counted);
        if tally.claims == 0 {
            continue;
        }
        let [confirmed, refuted, inconclusive, open, untestable, non_discriminating] =
            tally.counts().map(|count| format!("{count:.1}"));
        table.row([
            short(&result.study.setup_digest()),
            what.to_owned(),
            tally.claims.to_string(),
            format!("{:.0}", tally.facts),
            confirmed,
            refuted,
            inconclusive,
            open,
            untestable,
            non_discriminating,
            rounded(tally.rate()),
            rounded(result.ceiling_rate(counted)),
            format!("{:.1}", result.ceiling.decided(&result.study, counted)),
            rounded(tally.reproduced_rate()),
            format!("{:.1}", tally.with_sign),
        ]);
    }
    table
}

/// Our loads beside the published tables, the last row for all of them.
fn published(result: &StudyResult) -> DataTable {
    let columns = ["published", "places", "median_error_percent", "median_ratio"];
    let mut table = DataTable::new("published", &columns);
    let all = PublishedTable::of_all(&result.published);
    for it in result.published.iter().chain(&all) {
        let (error, ratio) = (format!("{:.1}", it.error_percent()), format!("{:.3}", it.ratio()));
        table.row([it.name.clone(), it.places().to_string(), error, ratio]);
    }
    table
}

fn rounded(percent: Option<f64>) -> String {
    percent.map_or(String::new(), |percent| format!("{percent:.0}"))
}

fn experiments(result: &StudyResult) -> DataTable {
    let columns = ["experiment", "journeys", "digest", "waits_for"];
    let mut table = DataTable::new("experiments", &columns);
    for ExperimentRun { id, run, waits_for } in &result.experiments {
        let journeys = run.as_ref().map_or(String::new(), |run| run.journeys.to_string());
        let digest =
            run.as_ref().and_then(|run| run.digest.as_deref()).map_or(String::new(), short);
        table.row([id.clone(), journeys, digest, waits_for.join("; ")]);
    }
    table
}

fn short(digest: &str) -> String {
    digest.chars().take(DIGITS).collect()
}

fn claims(result: &StudyResult) -> DataTable {
    let columns = [
        "claim",
        "strength",
        "restated",
        "statement",
        "published",
        "ours",
        "verdict",
        "sign_reproduced",
        "of_published_data",
        "by_own_loads",
        "confirmed_wrongly_in",
        "loads",
        "failed",
    ];
    let mut table = DataTable::new("claims", &columns);
    for (index, (claim, judged)) in result.study.claims.iter().zip(&result.claims).enumerate() {
        let wrong: Vec<&str> =
            result.confirmed_wrongly(index).into_iter().map(Laboratory::name).collect();
        table.row([
            claim.id.clone(),
            claim.strength.to_string(),
            yes(claim.restates_inputs),
            claim.statement.clone(),
            claim.published.clone(),
            ours(judged),
            judged.verdict.to_string(),
            judged.reproduces.map_or("", |is_so| if is_so { "yes" } else { "no" }).to_owned(),
            of_published_data(result, index),
            result.frequencies.get(index).map_or(String::new(), ToString::to_string),
            wrong.join("; "),
            judged.loads.all.to_string(),
            judged.loads.failed.to_string(),
        ]);
    }
    table
}

fn ours(judged: &ClaimResult) -> String {
    let reading = judged.reading.as_ref().map(|it| format!("(read as: {it})"));
    lines(judged.findings.iter().map(clause).chain(reading))
}

/// The verdicts on a claim by the study's own data, each with its number of shapes of the scatter.
fn of_published_data(result: &StudyResult, claim: usize) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    result
        .ceiling
        .verdicts(claim)
        .for_each(|it| *counts.entry(it.verdict.name()).or_default() += 1);
    let told: Vec<String> = counts.iter().map(|(name, count)| format!("{name}: {count}")).collect();
    told.join(", ")
}

fn yes(is_so: bool) -> String {
    if is_so { "yes" } else { "" }.to_owned()
}

/// A clause with its finding.
pub(super) fn clause(found: &ClauseResult) -> String {
    format!("{}: {}", found.clause, found.finding)
}

/// Clauses, each on its line.
pub(super) fn lines(clauses: impl Iterator<Item = String>) -> String {
    clauses.collect::<Vec<_>>().join("\n")
}

fn causes(result: &StudyResult) -> DataTable {
    let columns = ["claims", "lies_in", "cause", "place", "findings", "answer"];
    let mut table = DataTable::new("causes", &columns);
    for it in &result.causes {
        table.row([
            it.cause.of.join("; "),
            it.cause.lies_in.to_string(),
            it.cause.why.clone(),
            it.cause.place().trim_start().to_owned(),
            lines(it.findings.iter().map(clause)),
            it.answer(),
        ]);
    }
    let is_unknown = |id: &&str| result.causes_of(id).next().is_none();
    for id in result.unconfirmed().into_iter().filter(is_unknown) {
        let none = String::new;
        table.row([id.to_owned(), "not known".to_owned(), none(), none(), none(), none()]);
    }
    table
}

fn changes(result: &StudyResult) -> DataTable {
    let mut table = DataTable::new("changes", &["setup", "changed", "reason", "verdicts_moved"]);
    let changes = &result.study.changes;
    for SetupChange { to, what, reason, moved } in &changes.changes {
        let moved = moved
            .iter()
            .map(|it| format!("{} to {}: {}", it.from, it.to, it.claims.join(", ")))
            .collect::<Vec<_>>();
        table.row([to.clone(), what.clone(), reason.clone(), moved.join("; ")]);
    }
    if !changes.are_complete {
        let unlisted = "the set-up was changed in a way that is not listed".to_owned();
        table.row([short(&result.study.setup_digest()), unlisted, String::new(), String::new()]);
    }
    table
}

fn laboratories(result: &StudyResult) -> DataTable {
    let columns = [
        "laboratory",
        "kind",
        "run",
        "loads",
        "confirmed",
        "refuted",
        "inconclusive",
        "verdicts_changed",
    ];
    let mut table = DataTable::new("laboratories", &columns);
    let kinds = [(LaboratoryKind::Wrong, "wrong"), (LaboratoryKind::Unstated, "unstated")];
    for (kind, kind_name) in kinds {
        for laboratory in Laboratory::of_kind(kind) {
            let there = result.in_laboratory(laboratory);
            let judged = there.filter(|there| !there.is_same);
            let count = |name| {
                judged.map_or(String::new(), |there| {
                    there.verdicts.iter().filter(|it| it.name() == name).count().to_string()
                })
            };
            let run = match there {
                None => "no",
                Some(there) if there.is_same => "same as the study's",
                Some(_) => "yes",
            };
            table.row([
                laboratory.to_string(),
                kind_name.to_owned(),
                run.to_owned(),
                judged.and_then(|it| it.loads).map_or(String::new(), |loads| loads.to_string()),
                count("confirmed"),
                count("refuted"),
                count("inconclusive"),
                judged.map_or(String::new(), |there| changed(result, there)),
            ]);
        }
    }
    table
}

/// Changed verdicts, grouped by the kind of change.
fn changed(result: &StudyResult, there: &LaboratoryResult) -> String {
    let mut groups: Vec<(String, Vec<&str>)> = Vec::new();
    for it in result.changed_verdicts(there) {
        let change = format!("{} to {}", it.before, it.after);
        match groups.iter_mut().find(|(known, _)| *known == change) {
            Some((_, claims)) => claims.push(it.claim),
            None => groups.push((change, vec![it.claim])),
        }
    }
    let told: Vec<String> =
        groups.iter().map(|(change, ids)| format!("{change}: {}", ids.join(", "))).collect();
    told.join("; ")
}
