//! The verdicts as a page: `docs/studies.md`.

use std::fmt::Write;

use super::table::{Table, clause, escaped, named};
use super::{
    CauseKind, CauseResult, ClaimResult, Counted, ExperimentRun, StudyResult, Tally, percentage,
};
use crate::{Claim, DIGITS, Laboratory, LaboratoryKind, SetupChange, SetupChanges};

/// The page of these studies; `command` regenerates it.
pub fn markdown(results: &[StudyResult], command: &str) -> String {
    let is_deep = results.iter().any(|result| !result.frequencies.is_empty());
    let mut page = format!("{HEAD}{}", if is_deep { DEEP } else { "" });
    let _ = write!(page, "\nMade by:\n\n    {command}\n\n{}", summary(results));
    results.iter().for_each(|result| study(&mut page, result));
    page
}

const HEAD: &str = "\
# Five studies, judged

Written by a program from a store of runs; no verdict is written by hand. A claim is **confirmed** if every clause of its criterion holds, **refuted**
if one fails, **inconclusive** if the repetitions do not say, **untestable** if the study does not say enough for a test, and **open** if it has not been
judged: what it waits for is beside it. What the clauses are: `studies/*/clauses.toml`, in the words of [studies/README.md](../studies/README.md).

Behind a number stands the interval that 2,000 draws of the repetitions leave it. A clause holds or fails if it does so in nearly all of them. One thing
is less than another if the interval of the gap excludes 0 and the gap is 2 % at least.

A **fact** weighs one; the claims about it share its weight. What only says again what went into the laboratory is counted apart. The rate is the
confirmed share of what has been judged, in which the inconclusive counts. Every claim is judged in four **wrong laboratories** as well
([studies/README.md](../studies/README.md)): what all four confirm is no evidence for the right one; it is counted as non-discriminating and left out of the
rate. Where a row of laboratories names a number of loads, so many loads of each cell were made there, and its verdicts are set beside those of as many
loads of the study's own laboratory: fewer loads leave more inconclusive.

The set-up's hash is of `study.toml`, `sites.toml` and the experiments, which were committed before any of their claims could be judged; what was changed later
is listed with each study, with the verdicts that it moved. Why a strong claim is not confirmed is judged as well: each **cause** names what a run must show
(`studies/*/causes.toml`), and it is shown if that holds.
";

const DEEP: &str = "
Each cell was loaded far more often here than the study did, and every draw of its sites was taken: the verdicts are what is so, whatever chance did to
the study. Beside each stands **how often the study's own number of loads** would have given which verdict: the loads are cut into portions of that
size, twenty at most, and each is judged like the study's own run.
";

fn summary(results: &[StudyResult]) -> Table {
    let mut table = Table::new(&[
        "study",
        "what is counted",
        ">claims",
        ">facts",
        ">confirmed",
        ">refuted",
        ">inconclusive",
        ">open",
        ">untestable",
        ">non-discriminating",
        ">rate",
    ]);
    let kinds = [
        (Counted::Findings, "facts"),
        (Counted::Strong, "strongly supported"),
        (Counted::Restatements, "restated inputs"),
    ];
    for (counted, what) in kinds {
        let mut tallies = Vec::new();
        let mut all = Tally::default();
        for result in results {
            let tally = Tally::of(result, counted);
            all += tally;
            tallies.push((format!("[{0}](#{0})", result.study.name), tally));
        }
        if results.len() > 1 {
            tallies.push(("**all**".to_owned(), all));
        }
        for (study, tally) in tallies.into_iter().filter(|(_, tally)| tally.claims > 0) {
            let head = [study, what.to_owned(), tally.claims.to_string()];
            let counts = tally.counts().map(|count| format!("{count:.1}"));
            let facts = std::iter::once(format!("{:.0}", tally.facts));
            table
                .row(head.into_iter().chain(facts).chain(counts).chain([percentage(tally.rate())]));
        }
    }
    table
}

fn study(page: &mut String, result: &StudyResult) {
    let setup = &result.study.setup;
    let mut experiments = Table::new(&[
        "experiment",
        ">journeys",
        "digest of the run",
        "not as the study did it: waits for",
    ]);
    for ExperimentRun { id, run, waits_for } in &result.experiments {
        let (journeys, digest) = match run {
            Some(run) => (run.journeys.to_string(), short(run.digest.as_deref().unwrap_or("-"))),
            None => ("not run".to_owned(), String::new()),
        };
        experiments.row([id.clone(), journeys, digest, escaped(&waits_for.join(", "))]);
    }
    let _ = write!(
        page,
        "\n## {}\n\n{} ({}). {}\n\nSet-up {}.\n\n{experiments}\n{}",
        result.study.name,
        setup.title,
        setup.year,
        setup.question,
        short(&result.study.setup_digest()),
        claims(result)
    );
    causes(page, result);
    changes(page, &result.study.changes);
    laboratories(page, result);
}

fn short(digest: &str) -> String {
    digest.chars().take(DIGITS).collect()
}

fn claims(result: &StudyResult) -> Table {
    let mut columns = vec!["claim", "published", "ours", "verdict"];
    if !result.frequencies.is_empty() {
        columns.push("by as many loads as the study's");
    }
    columns.extend(["wrong laboratories that confirm it", ">loads"]);
    let mut table = Table::new(&columns);
    for (index, (claim, judged)) in result.study.claims.iter().zip(&result.claims).enumerate() {
        let wrong: Vec<&str> =
            result.confirmed_wrongly(index).into_iter().map(Laboratory::name).collect();
        let wrong = match result.is_non_discriminating(index) {
            true => "all four: non-discriminating".to_owned(),
            false => wrong.join(", "),
        };
        let frequency = result.frequencies.get(index).map(ToString::to_string);
        let [first, second, third, fourth, last] = row(claim, judged);
        let cells = [first, second, third, fourth].into_iter().chain(frequency);
        table.row(cells.chain([wrong, last]));
    }
    table
}

/// A claim with its verdict, and the loads behind it.
fn row(claim: &Claim, judged: &ClaimResult) -> [String; 5] {
    let restated = if claim.restates_inputs { ", restated" } else { "" };
    let mut ours: Vec<String> = judged.findings.iter().map(clause).collect();
    ours.extend(judged.reading.as_ref().map(|it| format!("(read as: {})", escaped(it))));
    let verdict = match &judged.verdict {
        open if open.is_open() => open.to_string(),
        settled => format!("**{settled}**"),
    };
    let failed = match judged.loads.failed {
        0 => String::new(),
        failed => format!(", {failed} failed"),
    };
    let statement = escaped(&claim.statement);
    [
        format!("`{}` ({}{restated}) {statement}", claim.id, claim.strength),
        escaped(&claim.published),
        ours.join("<br>"),
        escaped(&verdict),
        format!("{}{failed}", judged.loads.all),
    ]
}

fn causes(page: &mut String, result: &StudyResult) {
    let unconfirmed = result.unconfirmed();
    if unconfirmed.is_empty() && result.causes.is_empty() {
        return;
    }
    let mut table =
        Table::new(&["claims", "where the cause lies", "cause", "what shows it", "answer"]);
    for it in &result.causes {
        let place = it.cause.place();
        let place = (!place.is_empty()).then(|| format!("{}:", place.trim_start()));
        let shows: Vec<String> = place.into_iter().chain(it.findings.iter().map(clause)).collect();
        table.row([
            named(&it.cause.of),
            it.cause.lies_in.described().to_owned(),
            escaped(&it.cause.why),
            shows.join("<br>"),
            format!("**{}**", escaped(&it.answer())),
        ]);
    }
    let is_shown = |id: &&&str| result.causes_of(id).any(CauseResult::is_shown);
    let shown = unconfirmed.iter().filter(is_shown).count();
    let is_unknown = |id: &&str| result.causes_of(id).next().is_none();
    let unknown: Vec<&str> = unconfirmed.iter().copied().filter(is_unknown).collect();
    if !unknown.is_empty() {
        let none = String::new;
        table.row([named(&unknown), "not known".to_owned(), none(), none(), none()]);
    }
    let _ = write!(
        page,
        "\nStrong claims that are refuted or inconclusive: {}; a run shows a cause of {shown}.\n\n{table}",
        unconfirmed.len()
    );
}

impl CauseKind {
    /// Short description.
    fn described(self) -> &'static str {
        match self {
            CauseKind::SetUp => "the study's set-up",
            CauseKind::Defect => "the study's defect",
            CauseKind::Ours => "ours",
            CauseKind::Chance => "too few loads",
        }
    }
}

fn changes(page: &mut String, SetupChanges { changes, are_complete, .. }: &SetupChanges) {
    if !are_complete {
        page.push_str("\n**The set-up was changed in a way that is not listed.**\n");
    }
    if changes.is_empty() {
        return;
    }
    let columns = ["set-up since", "changed after the first judging", "reason", "verdicts moved"];
    let mut table = Table::new(&columns);
    for SetupChange { to, what, reason, moved } in changes {
        let moved = moved.iter().map(|it| {
            format!("{} to {}: {} ({})", it.from, it.to, it.claims.len(), named(&it.claims))
        });
        table.row([to.clone(), escaped(what), escaped(reason), joined(moved)]);
    }
    let _ = write!(page, "\n{table}");
}

fn joined(items: impl Iterator<Item = String>) -> String {
    let items: Vec<String> = items.collect();
    if items.is_empty() { "none".to_owned() } else { items.join("; ") }
}

fn laboratories(page: &mut String, result: &StudyResult) {
    let kinds = [
        (LaboratoryKind::Wrong, "wrong laboratory"),
        (LaboratoryKind::Unstated, "unstated, chosen otherwise"),
    ];
    for (kind, title) in kinds {
        let columns = [title, ">confirmed", ">refuted", ">inconclusive", "verdicts that turn"];
        let mut table = Table::new(&columns);
        for laboratory in Laboratory::of_kind(kind) {
            let none = String::new;
            let [name, changed] = match result.in_laboratory(laboratory) {
                None => [laboratory.to_string(), "not run".to_owned()],
                Some(there) if there.is_same => {
                    [laboratory.to_string(), "none: nothing of it is in this study".to_owned()]
                }
                Some(there) => {
                    let count = |name| {
                        there.verdicts.iter().filter(|it| it.name() == name).count().to_string()
                    };
                    let loads =
                        there.loads.map_or(String::new(), |loads| format!(", {loads} loads"));
                    table.row([
                        format!("{laboratory}{loads}"),
                        count("confirmed"),
                        count("refuted"),
                        count("inconclusive"),
                        changed(result, there),
                    ]);
                    continue;
                }
            };
            table.row([name, none(), none(), none(), changed]);
        }
        let _ = write!(page, "\n{table}");
    }
}

/// Changed verdicts, grouped by the kind of change.
fn changed(result: &StudyResult, there: &super::LaboratoryResult) -> String {
    let mut groups: Vec<(String, Vec<&str>)> = Vec::new();
    for it in result.changed_verdicts(there) {
        let way = format!("{} to {}", it.before, it.after);
        match groups.iter_mut().find(|(known, _)| *known == way) {
            Some((_, claims)) => claims.push(it.claim),
            None => groups.push((way, vec![it.claim])),
        }
    }
    joined(groups.iter().map(|(way, ids)| format!("{way}: {} ({})", ids.len(), named(ids))))
}
