//! The verdicts as a page: `docs/studies.md`.

use std::fmt::Write;

use super::tally::{Counted, Tally};
use super::{Evidence, Found, Hearing, Judged, Verdict, laboratories, reasons};
use crate::{Claim, DIGITS, Laboratory};

/// The page of these studies; `command` regenerates it.
pub fn markdown(hearings: &[Hearing], command: &str) -> String {
    let mut page = String::new();
    page.push_str(HEAD);
    if hearings.iter().any(|hearing| !hearing.chances.is_empty()) {
        page.push_str(DEEP);
    }
    let _ = write!(page, "\nMade by:\n\n    {command}\n\n");
    summary(&mut page, hearings);
    hearings.iter().for_each(|hearing| study(&mut page, hearing));
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

fn summary(page: &mut String, hearings: &[Hearing]) {
    page.push_str("| study | what is counted | claims | facts | confirmed | refuted | inconclusive | open | untestable | non-discriminating | rate |\n");
    page.push_str("|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n");
    let kinds = [
        (Counted::Findings, "facts"),
        (Counted::Strong, "strongly supported"),
        (Counted::Restatements, "restated inputs"),
    ];
    for (counted, what) in kinds {
        let mut all = Tally::default();
        for hearing in hearings {
            let tally = Tally::of(hearing, counted);
            all = all.plus(tally);
            row(page, &format!("[{0}](#{0})", hearing.study.name), what, &tally);
        }
        if hearings.len() > 1 {
            row(page, "**all**", what, &all);
        }
    }
}

fn row(page: &mut String, study: &str, what: &str, tally: &Tally) {
    if tally.claims == 0 {
        return;
    }
    let rate = tally.rate().map_or("-".to_owned(), |rate| format!("{rate:.0} %"));
    let Tally { claims, confirmed, refuted, inconclusive, open, untestable, facts, .. } = tally;
    let blind = tally.non_discriminating;
    let _ = writeln!(
        page,
        "| {study} | {what} | {claims} | {facts:.0} | {confirmed:.1} | {refuted:.1} | {inconclusive:.1} | {open:.1} | {untestable:.1} | {blind:.1} | {rate} |"
    );
}

fn study(page: &mut String, hearing: &Hearing) {
    let setup = &hearing.study.setup;
    let hash = &hearing.study.setup_digest()[..DIGITS];
    let _ = write!(
        page,
        "\n## {}\n\n{} ({}). {}\n\nSet-up {hash}.\n\n| experiment | journeys | digest of the run | not as the study did it: waits for |\n|---|--:|---|---|\n",
        hearing.study.name, setup.title, setup.year, setup.question
    );
    hearing.experiments.iter().for_each(|evidence| experiment(page, evidence));
    let is_deep = !hearing.chances.is_empty();
    let (head, rule) =
        if is_deep { (" by as many loads as the study's |", "---|") } else { ("", "") };
    let _ = write!(
        page,
        "\n| claim | published | ours | verdict |{head} wrong laboratories that confirm it | loads |\n|---|---|---|---|{rule}---|--:|\n"
    );
    for (index, (it, judged)) in hearing.study.claims.iter().zip(&hearing.judged).enumerate() {
        let chance = hearing.chances.get(index).map(|chance| format!(" {chance} |"));
        claim(page, it, judged, &chance.unwrap_or_default(), &wrongly(hearing, index));
    }
    reasons::sections(page, hearing);
    laboratories::section(page, hearing);
}

/// The wrong laboratories that confirm a claim.
fn wrongly(hearing: &Hearing, claim: usize) -> String {
    let names = hearing.confirmed_wrongly(claim);
    let names: Vec<&str> = names.into_iter().map(Laboratory::name).collect();
    match hearing.is_non_discriminating(claim) {
        true => "all four: non-discriminating".to_owned(),
        false => names.join(", "),
    }
}

fn experiment(page: &mut String, Evidence { id, run, waits_for }: &Evidence) {
    let waits_for = cell(&waits_for.join(", "));
    let _ = match run {
        Some(run) => {
            let digest = run.digest.as_deref().unwrap_or("-");
            let digest = &digest[..DIGITS.min(digest.len())];
            writeln!(page, "| {id} | {} | {digest} | {waits_for} |", run.journeys)
        }
        None => writeln!(page, "| {id} | not run | | {waits_for} |"),
    };
}

fn claim(page: &mut String, claim: &Claim, judged: &Judged, chance: &str, wrongly: &str) {
    let one = |found: &Found| {
        format!("`{}` {}", found.clause.replace('|', "\\|"), cell(&found.finding.to_string()))
    };
    let mut ours: Vec<String> = judged.findings.iter().map(one).collect();
    ours.extend(judged.reading.as_ref().map(|reading| format!("(read as: {})", cell(reading))));
    let restated = if claim.restates_inputs { ", restated" } else { "" };
    let verdict = match &judged.verdict {
        Verdict::Open(_) => judged.verdict.to_string(),
        settled => format!("**{settled}**"),
    };
    let failed = match judged.grounds.failed {
        0 => String::new(),
        failed => format!(", {failed} failed"),
    };
    let _ = writeln!(
        page,
        "| `{}` ({}{restated}) {} | {} | {} | {} |{chance} {wrongly} | {}{failed} |",
        claim.id,
        claim.strength,
        cell(&claim.statement),
        cell(&claim.published),
        ours.join("<br>"),
        cell(&verdict),
        judged.grounds.loads,
    );
}

/// Text escaped for a table cell.
pub(super) fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ").replace('<', "&lt;")
}
