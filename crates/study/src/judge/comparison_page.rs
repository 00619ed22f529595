//! The comparison of both worlds as a page: `docs/studies-emulated.md`.

use std::fmt::Write;

use super::page::cell;
use super::{Agreement, Agreements, Both, Comparison, Judged};

/// The page of these studies; `commands` are those that regenerate it.
pub fn comparison_markdown(comparisons: &[Comparison], commands: &str) -> String {
    let mut page = String::new();
    page.push_str(HEAD);
    let _ = write!(page, "\n    {commands}\n\n");
    summary(&mut page, comparisons);
    comparisons.iter().for_each(|comparison| study(&mut page, comparison));
    page
}

const HEAD: &str = "\
# Five studies, carried by a kernel's TCP

Written by a program from a store of runs. A **reduced grid** of each study - `studies/*/emulated.toml`, some of its cells over fewer repetitions - is run twice: in simulation, and in the
[emulated world](emulation.md), where the kernel's TCP carries the same loads over the same links in real time. In both the TCP is that of Linux 6, which is not the studies'; so what
is confirmed or refuted here says nothing of the studies ([studies.md](studies.md) does), only whether simulation and kernel would judge them alike.

Both worlds are judged by the same clauses (`studies/*/clauses.toml`), as far as the grid has cells for them: a clause over many cells is read over those that are there, one that must
hold on so many curves must hold on all if there are fewer. A claim that asks for cells which are not there is **not covered** and counts nowhere. Two verdicts are the **same** if both confirm,
both refute, or both are inconclusive; else they differ: **undecided** if one of them is inconclusive, **opposite** if one confirms what the other refutes or if one world
has nothing to judge by. The agreement is the share of the same among all that are covered; beside it stands the share of the same among those that both worlds decide.

Loads in real time repeat in their description only: made anew, some verdicts that hang on chance turn.

Made by:
";

fn summary(page: &mut String, comparisons: &[Comparison]) {
    page.push_str("| study | cells | journeys in each world | claims covered | the same (of those inconclusive) | undecided | opposite | agreement | among the decided |\n");
    page.push_str("|---|--:|--:|--:|--:|--:|--:|--:|--:|\n");
    let mut all = Agreements::default();
    let (mut cells, mut journeys) = (0, 0);
    for comparison in comparisons {
        let (name, agreements) = (&comparison.study.name, comparison.agreements());
        row(page, &format!("[{name}](#{name})"), comparison.size(), &agreements);
        all += agreements;
        cells += comparison.size().0;
        journeys += comparison.size().1;
    }
    if comparisons.len() > 1 {
        row(page, "**all**", (cells, journeys), &all);
    }
}

fn row(page: &mut String, name: &str, (cells, journeys): (usize, u64), agreements: &Agreements) {
    let Agreements { decided, inconclusive, undecided, opposite, .. } = agreements;
    let (same, covered) = (decided + inconclusive, agreements.covered());
    let (share, among_decided) =
        (percentage(agreements.share()), percentage(agreements.decided_share()));
    let _ = writeln!(
        page,
        "| {name} | {cells} | {journeys} | {covered} | {same} ({inconclusive}) | {undecided} | {opposite} | {share} | {among_decided} |"
    );
}

/// A share for people.
pub fn percentage(share: Option<f64>) -> String {
    share.map_or("-".to_owned(), |share| format!("{share:.0} %"))
}

fn study(page: &mut String, comparison: &Comparison) {
    let _ = write!(page, "\n## {}\n\n", comparison.study.name);
    page.push_str("| experiment | cells | repetitions | digest of the simulated run | of the emulated run | journeys that were never on time |\n");
    page.push_str("|---|--:|--:|---|---|--:|\n");
    for it in &comparison.experiments {
        let digests = it.runs.as_ref().map(|runs| {
            let digest = |at: usize| runs[at].digest.as_deref().unwrap_or("-");
            [0, 1].map(|at| digest(at).chars().take(16).collect::<String>()).join(" | ")
        });
        let digests = digests.unwrap_or_else(|| "not run in both worlds |".to_owned());
        let (id, cells, repetitions, late) = (&it.id, it.cells, it.repetitions, it.never_on_time);
        let _ = writeln!(page, "| {id} | {cells} | {repetitions} | {digests} | {late} |");
    }
    page.push('\n');
    for (what, value) in comparison.punctuality.facts() {
        let _ = writeln!(page, "- {what}: {value}");
    }
    page.push_str("\n| claim | simulated | emulated | |\n|---|---|---|---|\n");
    comparison.claims.iter().for_each(|both| claim(page, both));
    let left_out = comparison.not_covered();
    if !left_out.is_empty() {
        let names: Vec<&str> = left_out.into_iter().collect();
        let _ = write!(page, "\nNot covered: `{}`.\n", names.join("`, `"));
    }
}

/// A claim that the grid covers, with the findings if the worlds differ.
fn claim(page: &mut String, both: &Both) {
    let Both { simulated, emulated } = both;
    let (agreement, shows_findings) = match both.agreement() {
        Agreement::NotCovered => return,
        Agreement::Same => ("the same", false),
        Agreement::Undecided => ("**undecided**", true),
        Agreement::Opposite => ("**opposite**", true),
    };
    let side = |judged: &Judged, other: &Judged| {
        let mut told = cell(&judged.verdict.to_string());
        if shows_findings {
            let pairs = judged.findings.iter().enumerate();
            let differing = pairs.filter(|(index, found)| {
                let beside = other.findings.get(*index);
                beside.is_none_or(|beside| beside.finding.outcome != found.finding.outcome)
            });
            for (_, found) in differing {
                let finding = cell(&found.finding.to_string());
                let _ = write!(told, "<br>`{}` {finding}", found.clause.replace('|', "\\|"));
            }
        }
        told
    };
    let _ = writeln!(
        page,
        "| `{}` | {} | {} | {agreement} |",
        simulated.id,
        side(simulated, emulated),
        side(emulated, simulated)
    );
}
