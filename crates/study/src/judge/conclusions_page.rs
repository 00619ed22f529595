//! The five studies and later technology, for readers who know none of them: `docs/five-studies.md`.

use std::fmt::Write;

use super::conclusions::{Compared, Concluded, Since, Way};
use super::{Figure, Hearing};

/// The page of these studies; `command` regenerates it.
pub fn summary(hearings: &[Hearing], command: &str) -> String {
    let mut page = String::from(HEAD);
    let _ = write!(page, "\n    {command}\n\n");
    table(&mut page, hearings);
    hearings.iter().for_each(|hearing| study(&mut page, hearing));
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

fn table(page: &mut String, hearings: &[Hearing]) {
    page.push_str("| study | it said | as it was then, here | with HTTP/2 | with HTTP/3 |\n|---|---|---|---|---|\n");
    for hearing in hearings {
        for concluded in &hearing.conclusions {
            let then = ways(concluded, concluded.then.iter());
            let since = |with| {
                let meant = concluded.since.iter().filter(move |(it, _)| *it == with);
                ways(concluded, meant.map(|(_, compared)| compared))
            };
            let _ = writeln!(
                page,
                "| [{0}](#{0}) | {1} | {then} | {2} | {3} |",
                hearing.study.name,
                concluded.said,
                since(Since::Http2),
                since(Since::Http3),
            );
        }
    }
}

/// Number of these comparisons that agree with the study.
fn ways<'a>(concluded: &Concluded, compared: impl Iterator<Item = &'a Compared>) -> String {
    let ways: Vec<Option<Way>> = compared.map(Compared::way).collect();
    let is_so = ways.iter().filter(|way| **way == Some(concluded.expects)).count();
    match (ways.len(), is_so) {
        (0, _) => "-".to_owned(),
        (all, 0) => format!("not so, in {all} of {all}"),
        (all, so) if so == all => format!("so, in {all} of {all}"),
        (all, so) => format!("so in {so} of {all}"),
    }
}

fn study(page: &mut String, hearing: &Hearing) {
    let setup = &hearing.study.setup;
    let _ = write!(
        page,
        "\n## {}\n\n{}, \"{}\" ({}). {}\n",
        hearing.study.name, setup.authors, setup.title, setup.year, setup.question
    );
    for concluded in &hearing.conclusions {
        let _ = write!(
            page,
            "\n**{}**\n\n| | saved | that is | loads |\n|---|--:|---|--:|\n",
            concluded.said
        );
        concluded.then.iter().for_each(|it| row(page, "then: ", it, Some(concluded.expects)));
        for (with, compared) in &concluded.since {
            row(page, &format!("now: {} ", with.title()), compared, Some(concluded.expects));
        }
        for (with, compared) in &concluded.beside {
            row(page, &format!("beside: {} ", with.title()), compared, None);
        }
    }
}

/// Row of a comparison; `expects` is the study's statement, if it could make one.
fn row(page: &mut String, lead: &str, compared: &Compared, expects: Option<Way>) {
    let what = &compared.what;
    let _ = match &compared.saved {
        Ok(saved) => {
            let way = saved.way();
            let so = if Some(way) == expects { ", as it said" } else { "" };
            let loads = saved.loads;
            writeln!(page, "| {lead}{what} | {} | {way}{so} | {loads} |", percent(&saved.percent))
        }
        Err(missing) => writeln!(page, "| {lead}{what} | | waits for {missing} | |"),
    };
}

/// A percentage with its interval, rounded to whole numbers.
fn percent(figure: &Figure) -> String {
    let whole = |value: f64| format!("{:.0}", value.round() + 0.0);
    match figure.interval {
        Some(interval) => format!(
            "{} % ({} to {})",
            whole(figure.value),
            whole(interval.low),
            whole(interval.high)
        ),
        None => format!("{} %", whole(figure.value)),
    }
}
