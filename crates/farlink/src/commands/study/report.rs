//! `farlink study report`: verdicts, and the reports of the experiments behind them.

use std::num::NonZeroU32;
use std::path::Path;

use store::Store;
use study::figures::{self, FiguresError};
use study::judge::{
    self, Counted, DataTable, EvaluationError, PublishedTable, StudyResult, Tally, evaluate_study,
    percentage, verdict_tables,
};
use study::{Depth, Laboratory};
use testbed::worlds::Worlds;

use crate::args::StudyReport;
use crate::commands::report::not_made;
use crate::commands::run::experiment_failure;
use crate::commands::{files, output, shell, stores, watched::ObservedJourneys};
use crate::failure::CliError;
use crate::show::table::Table;
use crate::show::terminal::wrapped;

pub fn run(args: &StudyReport) -> Result<(), CliError> {
    let which = &args.which;
    let store = stores::open(&which.store)?;
    let mut pages = [&args.html, &args.summary].into_iter().flatten();
    pages.try_for_each(|path| files::check_place(path))?;
    let worlds = crate::commands::worlds()?;
    let evaluated: Result<Vec<StudyResult>, CliError> = which
        .studies()?
        .into_iter()
        .map(|study| {
            evaluate_study(study, &store, which.mode(), args.laboratory_loads, worlds.library())
                .map_err(refused)
        })
        .collect();
    let results = evaluated?;
    summary(&results)?;
    match (args.claims, &results[..]) {
        (true, _) => results.iter().try_for_each(tell)?,
        (false, [result]) => verdicts(result)?,
        (false, _) => output::line("The clauses of each claim: --claims")?,
    }
    if let Some(folder) = &args.tables {
        let commands = commands(args, &results);
        results.iter().try_for_each(|result| {
            write_tables(&folder.join(&result.study.name), &verdict_tables(result), &commands)
        })?;
    }
    if let Some(path) = &args.html {
        let page = figures::html(&results, &store).map_err(not_drawn)?;
        files::write_whole(path, page.as_bytes())?;
    }
    if let Some(path) = &args.summary {
        let page = judge::summary(&results, &commands(args, &results).replace('\n', "\n    "));
        files::write_whole(path, page.as_bytes())?;
    }
    match &args.output {
        Some(folder) => write_reports(&results, &store, &worlds, folder),
        None => Ok(()),
    }
}

/// Writes a study's tables, with the commands that make them again.
pub(super) fn write_tables(
    folder: &Path,
    tables: &[DataTable],
    commands: &str,
) -> Result<(), CliError> {
    files::make_folder(folder)?;
    tables.iter().try_for_each(|table| {
        let path = folder.join(format!("{}.csv", table.name));
        files::write_whole(&path, table.csv().as_bytes())
    })?;
    files::write_whole(&folder.join("commands.txt"), format!("{commands}\n").as_bytes())
}

/// The commands that make the results again.
fn commands(args: &StudyReport, results: &[StudyResult]) -> String {
    let typed = args.which.typed();
    let elsewhere = |loads: Option<NonZeroU32>| -> String {
        let was_run = |laboratory: &&Laboratory| {
            let there = results.iter().filter_map(|result| result.in_laboratory(**laboratory));
            !laboratory.swaps_labels()
                && there.into_iter().any(|there| !there.is_same && there.loads == loads)
        };
        Laboratory::ALL.iter().filter(was_run).map(|it| format!(" --laboratory {it}")).collect()
    };
    let mut commands = vec![format!("farlink study run {typed}")];
    for loads in std::iter::once(None).chain(args.laboratory_loads.map(Some)) {
        let depth = loads.map_or(args.which.depth(), Depth::Loads);
        let laboratories = elsewhere(loads);
        if !laboratories.is_empty() {
            commands
                .push(format!("farlink study run {}{laboratories}", args.which.typed_at(depth)));
        }
    }
    if results.iter().flat_map(|result| &result.causes).any(|shown| !shown.findings.is_empty()) {
        let typed = args.which.typed_at(Depth::Usual);
        commands.push(format!("farlink study run {typed} --causes"));
    }
    commands.push(shell::this_command());
    commands.join("\n")
}

/// The claims of a study by their verdicts, on one screen.
fn verdicts(result: &StudyResult) -> Result<(), CliError> {
    let mut by_verdict: Vec<(String, Vec<&str>)> = Vec::new();
    for (index, (claim, judged)) in result.study.claims.iter().zip(&result.claims).enumerate() {
        let name = match result.is_non_discriminating(index) {
            true => "confirmed, and in all wrong laboratories, too".to_owned(),
            false => judged.verdict.to_string(),
        };
        match by_verdict.iter_mut().find(|(verdict, _)| *verdict == name) {
            Some((_, claims)) => claims.push(&claim.id),
            None => by_verdict.push((name, vec![&claim.id])),
        }
    }
    by_verdict.sort_by_key(|(_, claims)| std::cmp::Reverse(claims.len()));
    for (verdict, claims) in by_verdict {
        output::line(wrapped(&format!("{} {verdict}: {}", claims.len(), claims.join(", "))))?;
    }
    output::line(
        "\nThe clauses of each claim: --claims. The study's figures beside ours: --html FILE.",
    )
}

/// Each claim's verdict with the findings behind it.
fn tell(result: &StudyResult) -> Result<(), CliError> {
    for (index, (claim, judged)) in result.study.claims.iter().zip(&result.claims).enumerate() {
        let blind = match result.is_non_discriminating(index) {
            true => ", and so do all wrong laboratories confirm it: non-discriminating",
            false => "",
        };
        let chance = result
            .frequencies
            .get(index)
            .map(|chance| format!("; by as many loads as the study's: {chance}"));
        let chance = chance.unwrap_or_default();
        let (id, strength, verdict) = (&claim.id, claim.strength, &judged.verdict);
        output::line(format!("{id} ({strength}): {verdict}{blind}{chance}"))?;
        for found in &judged.findings {
            output::line(wrapped(&format!("    {}: {}", found.clause, found.finding)))?;
        }
    }
    result.causes.iter().try_for_each(|shown| {
        let cause = &shown.cause;
        let (of, lies_in, why) = (cause.of.join(", "), cause.lies_in, &cause.why);
        output::line(wrapped(&format!("cause ({lies_in}) of {of}: {why}: {}", shown.answer())))?;
        shown.findings.iter().try_for_each(|found| {
            let place = cause.place();
            output::line(wrapped(&format!("    {}{place}: {}", found.clause, found.finding)))
        })
    })?;
    result.laboratories.iter().filter(|there| !there.is_same).try_for_each(|there| {
        let changes = result.changed_verdicts(there);
        let laboratory = there.laboratory;
        output::line(format!("in the laboratory {laboratory} {} verdicts turn", changes.len()))?;
        changes.iter().try_for_each(|change| {
            output::line(format!("    {}: {} to {}", change.claim, change.before, change.after))
        })
    })?;
    output::line("")
}

fn summary(results: &[StudyResult]) -> Result<(), CliError> {
    let mut table = Table::new(&[
        "study",
        "claims",
        "facts",
        "confirmed",
        "refuted",
        "inconclusive",
        "open",
        "untestable",
        "non-discriminating",
        "rate",
        "ceiling",
        "sign",
    ]);
    for result in results {
        for (counted, mark) in [(Counted::Findings, ""), (Counted::Strong, ", strong")] {
            let tally = Tally::of(result, counted);
            let study = format!("{}{mark}", result.study.name);
            let head = [study, tally.claims.to_string(), format!("{:.0}", tally.facts)];
            let counts = tally.counts().map(|facts| format!("{facts:.1}"));
            let rates = [tally.rate(), result.ceiling_rate(counted), tally.reproduced_rate()];
            let cells = head.into_iter().chain(counts).chain(rates.map(percentage));
            table.row(cells);
        }
    }
    output::line(table)?;
    results.iter().try_for_each(published)?;
    output::line(wrapped(
        "\nConfirmed to non-discriminating: facts, whose claims share their weight. rate: confirmed of what has been judged; \
         what all wrong laboratories confirm is not in it. ceiling: the same rate of the study's own published measurements, of the \
         facts that they decide. sign: reproduced in sign, order or mechanism, whatever the size, of the facts that have one. \
         What only restates inputs is not counted here.\n",
    ))
}

/// Our load times beside the published tables of a study, place by place.
fn published(result: &StudyResult) -> Result<(), CliError> {
    let Some(all) = PublishedTable::of_all(&result.published) else { return Ok(()) };
    let told = |it: &PublishedTable| format!("{} {:.0} %", it.name, it.error_percent());
    let tables: Vec<String> = result.published.iter().map(told).collect();
    output::line(wrapped(&format!(
        "\n{}: {} places of published tables, half of them at most {:.1} % off: {}",
        result.study.name,
        all.places(),
        all.error_percent(),
        tables.join(", ")
    )))
}

fn write_reports(
    results: &[StudyResult],
    store: &Store,
    worlds: &Worlds,
    folder: &Path,
) -> Result<(), CliError> {
    files::make_folder(folder)?;
    let watched = ObservedJourneys::new(worlds);
    let observe = |scenario: &_, seed| watched.observe(scenario, seed);
    for result in results {
        for evidence in &result.experiments {
            let Some(run) = &evidence.run else { continue };
            let html = report::html(store, run.id, &[], &observe).map_err(not_made)?;
            let name = format!("{}-{}.html", result.study.name, evidence.id);
            files::write_whole(&folder.join(name), html.as_bytes())?;
        }
    }
    Ok(())
}

fn not_drawn(error: FiguresError) -> CliError {
    match error {
        FiguresError::Study(error) => super::refused(error),
        FiguresError::Store(error) => stores::failed(error),
        error @ FiguresError::Figure { .. } => CliError::bad_input(error),
    }
}

pub(super) fn refused(error: EvaluationError) -> CliError {
    match error {
        EvaluationError::Study(error) => super::refused(error),
        EvaluationError::Experiment(error) => experiment_failure(&error),
        EvaluationError::Store(error) => stores::failed(error),
        error @ EvaluationError::Clause { .. } => CliError::bad_input(error),
    }
}
