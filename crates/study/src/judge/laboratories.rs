//! Changes of a study's verdicts in other laboratories, as a section of the page.

use std::fmt::Write;

use super::{Elsewhere, Hearing, Verdict};
use crate::{Laboratory, LaboratoryKind};

/// A verdict that changes in another laboratory.
#[derive(Clone, Debug, PartialEq)]
pub struct Turn<'a> {
    /// The claim.
    pub claim: &'a str,
    /// In the study's own laboratory, with as many loads.
    pub here: &'a Verdict,
    /// In the other one.
    pub there: &'a Verdict,
}

impl Hearing {
    /// The verdicts that change there. One that is open in either laboratory does not count as changed.
    pub fn turns<'a>(&'a self, elsewhere: &'a Elsewhere) -> Vec<Turn<'a>> {
        let both = elsewhere.beside.iter().zip(&elsewhere.verdicts);
        let turned = self.judged.iter().zip(both).filter(|(_, (here, there))| {
            let is_open = |verdict: &Verdict| matches!(verdict, Verdict::Open(_));
            here != there && !is_open(here) && !is_open(there)
        });
        turned.map(|(judged, (here, there))| Turn { claim: &judged.id, here, there }).collect()
    }
}

/// One table for the wrong laboratories, one for the unstated choices.
pub(super) fn section(page: &mut String, hearing: &Hearing) {
    let tables = [
        (LaboratoryKind::Wrong, "wrong laboratory"),
        (LaboratoryKind::Unstated, "unstated, chosen otherwise"),
    ];
    for (kind, title) in tables {
        let _ = write!(
            page,
            "\n| {title} | confirmed | refuted | inconclusive | verdicts that turn |\n|---|--:|--:|--:|---|\n"
        );
        Laboratory::of_kind(kind).for_each(|it| row(page, hearing, it));
    }
}

fn row(page: &mut String, hearing: &Hearing, laboratory: Laboratory) {
    let _ = match hearing.in_laboratory(laboratory) {
        None => writeln!(page, "| {laboratory} | | | | not run |"),
        Some(there) if there.is_same => {
            writeln!(page, "| {laboratory} | | | | none: nothing of it is in this study |")
        }
        Some(there) => {
            let count = |verdict| there.verdicts.iter().filter(|it| **it == verdict).count();
            let loads = there.loads.map_or(String::new(), |loads| format!(", {loads} loads"));
            writeln!(
                page,
                "| {laboratory}{loads} | {} | {} | {} | {} |",
                count(Verdict::Confirmed),
                count(Verdict::Refuted),
                count(Verdict::Inconclusive),
                told(&hearing.turns(there))
            )
        }
    };
}

/// Claims by the change of their verdicts: `confirmed to refuted: a, b`.
fn told(turns: &[Turn<'_>]) -> String {
    let mut ways: Vec<(String, Vec<&str>)> = Vec::new();
    for Turn { claim, here, there } in turns {
        let way = format!("{here} to {there}");
        match ways.iter_mut().find(|(known, _)| *known == way) {
            Some((_, claims)) => claims.push(claim),
            None => ways.push((way, vec![claim])),
        }
    }
    let told: Vec<String> = ways
        .into_iter()
        .map(|(way, claims)| format!("{way}: {} (`{}`)", claims.len(), claims.join("`, `")))
        .collect();
    if told.is_empty() { "none".to_owned() } else { told.join("; ") }
}
