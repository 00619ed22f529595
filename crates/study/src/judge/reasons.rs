//! Causes of unconfirmed strong claims, and changes to set-ups, as sections of the page.

use std::fmt::Write;

use super::page::cell;
use super::{Found, Hearing, Shown, Verdict, Whose};
use crate::{Change, Changes, Moved, Strength};

impl Hearing {
    /// The claims that the study supports strongly and that are refuted or inconclusive, by index.
    pub fn unconfirmed(&self) -> impl Iterator<Item = usize> {
        let claims = self.study.claims.iter().zip(&self.judged).enumerate();
        let unconfirmed = claims.filter(|(_, (claim, judged))| {
            let is_settled = matches!(judged.verdict, Verdict::Refuted | Verdict::Inconclusive);
            claim.strength == Strength::Strong && is_settled
        });
        unconfirmed.map(|(index, _)| index)
    }

    /// The causes given for a claim.
    pub fn causes_of(&self, claim: &str) -> impl Iterator<Item = &Shown> {
        self.causes.iter().filter(move |shown| shown.cause.of.iter().any(|id| id == claim))
    }

    /// Number of unconfirmed strong claims, and of those for which a run shows a cause.
    pub fn explained(&self) -> (usize, usize) {
        let ids = self.unconfirmed().map(|index| self.study.claims[index].id.as_str());
        let explained = |id: &&str| self.causes_of(id).any(Shown::is_shown);
        let ids: Vec<&str> = ids.collect();
        (ids.len(), ids.iter().filter(|id| explained(id)).count())
    }
}

impl Shown {
    /// True if a run shows it.
    pub fn is_shown(&self) -> bool {
        self.verdict == Verdict::Confirmed
    }

    /// The answer in a word or two.
    pub fn answer(&self) -> String {
        match &self.verdict {
            Verdict::Confirmed => "shown".to_owned(),
            Verdict::Refuted => "not shown".to_owned(),
            other => other.to_string(),
        }
    }
}

impl Whose {
    /// Short description.
    fn words(self) -> &'static str {
        match self {
            Whose::SetUp => "the study's set-up",
            Whose::Defect => "the study's defect",
            Whose::Ours => "ours",
            Whose::Chance => "too few loads",
        }
    }
}

/// Appends both sections.
pub(super) fn sections(page: &mut String, hearing: &Hearing) {
    causes(page, hearing);
    changes(page, &hearing.study.changes);
}

fn causes(page: &mut String, hearing: &Hearing) {
    let (unconfirmed, explained) = hearing.explained();
    if unconfirmed == 0 && hearing.causes.is_empty() {
        return;
    }
    let _ = write!(
        page,
        "\nStrong claims that are refuted or inconclusive: {unconfirmed}; a run shows a cause of {explained}.\n\n\
         | claims | where the cause lies | cause | what shows it | answer |\n|---|---|---|---|---|\n"
    );
    hearing.causes.iter().for_each(|shown| cause(page, shown));
    let ids = hearing.unconfirmed().map(|index| hearing.study.claims[index].id.as_str());
    let unexplained: Vec<&str> = ids.filter(|id| hearing.causes_of(id).next().is_none()).collect();
    if !unexplained.is_empty() {
        let _ = writeln!(page, "| {} | not known | | | |", named(&unexplained));
    }
}

fn cause(page: &mut String, shown: &Shown) {
    let cause = &shown.cause;
    let one = |found: &Found| {
        format!("`{}` {}", found.clause.replace('|', "\\|"), cell(&found.finding.to_string()))
    };
    let mut what: Vec<String> = shown.findings.iter().map(one).collect();
    let place = cause.place();
    if !place.is_empty() {
        what.insert(0, format!("{}:", place.trim_start()));
    }
    let _ = writeln!(
        page,
        "| {} | {} | {} | {} | **{}** |",
        named(&cause.of),
        cause.lies_in.words(),
        cell(&cause.why),
        what.join("<br>"),
        cell(&shown.answer())
    );
}

fn changes(page: &mut String, Changes { changes, are_complete, .. }: &Changes) {
    if !are_complete {
        page.push_str("\n**The set-up was changed in a way that is not listed.**\n");
    }
    if changes.is_empty() {
        return;
    }
    page.push_str("\n| set-up since | changed after the first judging | reason | verdicts moved |\n|---|---|---|---|\n");
    for Change { to, what, reason, moved } in changes {
        let moved: Vec<String> = moved.iter().map(way).collect();
        let moved = if moved.is_empty() { "none".to_owned() } else { moved.join("; ") };
        let _ = writeln!(page, "| {to} | {} | {} | {moved} |", cell(what), cell(reason));
    }
}

fn way(Moved { from, to, claims }: &Moved) -> String {
    format!("{from} to {to}: {} ({})", claims.len(), named(claims))
}

fn named(ids: &[impl AsRef<str>]) -> String {
    let ids: Vec<String> = ids.iter().map(|id| format!("`{}`", id.as_ref())).collect();
    ids.join(", ")
}
