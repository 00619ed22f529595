//! `farlink report`: a run as an HTML page to open, print and send; and a run's answer in the terminal.

mod figures;

use std::path::Path;

use report::ReportError;
use scenario::{JourneyPlan, JourneyResult, MeasuredVisit, Plan};
use store::har_export::HarVisit;
use store::{RunId, RunState, Store, StoreError, VisitKey, VisitRow};

use super::run::live::LiveAnswer;
use super::watched::ObservedJourneys;
use super::{files, output, shell, stores};
use crate::args::Report;
use crate::failure::{CliError, ExitCode};
use crate::show::arms::Arm;
use crate::show::terminal::wrapped;
use crate::show::{answer, arms};

pub fn run(args: &Report) -> Result<ExitCode, CliError> {
    let store = stores::open(&args.store)?;
    let run = choose(&store, &args.store, args.run)?;
    files::check_place(&args.output)?;
    warn_if_partial(&store, run)?;
    let visits = visits(&store, run, &args.visit)?;
    let worlds = super::worlds()?;
    let watched = ObservedJourneys::new(&worlds);
    let observe = |scenario: &_, seed| watched.observe(scenario, seed);
    let html = report::html(&store, run, &visits, &observe).map_err(not_made)?;
    files::write_whole(&args.output, html.as_bytes())?;
    if let Some(folder) = &args.figures {
        figures::write(&html, folder, args.column)?;
    }
    if let Some(folder) = &args.har {
        write_hars(&store, run, folder)?;
    }
    Ok(ExitCode::Success)
}

/// The failure of a report.
pub(super) fn not_made(error: ReportError) -> CliError {
    match error {
        ReportError::Store(error) => stores::failed(error),
        ReportError::Empty { .. } => CliError::bad_input(error)
            .hint("repeat the `farlink run` command to resume it".to_owned()),
    }
}

/// The named visits, each of which must exist.
fn visits(store: &Store, run: RunId, named: &[String]) -> Result<Vec<VisitKey>, CliError> {
    if named.is_empty() {
        return Ok(Vec::new());
    }
    let stored: Vec<VisitKey> =
        store.visits(run).map_err(stores::failed)?.into_iter().map(|visit| visit.key).collect();
    let find = |text: &String| {
        let (journey, visit) = text.split_once(':').unwrap_or((text, "0"));
        let key = journey.parse().ok().zip(visit.parse().ok());
        let key = key.map(|(journey, visit)| VisitKey { run, journey, visit });
        key.filter(|key| stored.contains(key)).ok_or_else(|| {
            CliError::bad_input(format!("--visit {text}: no such visit in run {}", run.0)).hint(
                "`farlink export --csv visits.csv` lists the journeys and visits of a run"
                    .to_owned(),
            )
        })
    };
    named.iter().map(find).collect()
}

/// The named run, or the latest, of the store at `path`.
pub(super) fn choose(store: &Store, path: &Path, run: Option<i64>) -> Result<RunId, CliError> {
    let runs = store.runs().map_err(stores::failed)?;
    let (path, option) = (store.path().display(), shell::store_option(path));
    match run {
        _ if runs.is_empty() => Err(CliError::bad_input(format!("{path} contains no runs"))
            .hint(format!("farlink run EXPERIMENT.toml{option}"))),
        None => Ok(runs[runs.len() - 1].id),
        Some(number) => {
            let found = runs.iter().find(|run| run.id.0 == number).map(|run| run.id);
            found.ok_or_else(|| {
                CliError::bad_input(format!("{path} contains no run {number}"))
                    .hint(format!("`farlink runs{option}` lists its runs"))
            })
        }
    }
}

/// Warns that the report of an unfinished or interrupted run is partial.
pub(super) fn warn_if_partial(store: &Store, run: RunId) -> Result<(), CliError> {
    let row = store.run(run).map_err(stores::failed)?;
    if row.state != RunState::Complete {
        let stored = store.stored_count(run).map_err(stores::failed)?;
        anstream::eprintln!(
            "run {} is incomplete: the report covers {stored} of {} journeys",
            run.0,
            row.journeys
        );
    }
    Ok(())
}

fn write_hars(store: &Store, run: RunId, folder: &Path) -> Result<(), CliError> {
    files::make_folder(folder)?;
    let keys: Vec<VisitKey> =
        store.visits(run).map_err(stores::failed)?.into_iter().map(|visit| visit.key).collect();
    for key in &keys {
        let har = har(store, *key).map_err(stores::failed)?;
        let name = format!("run{}-journey{}-visit{}.har", key.run.0, key.journey, key.visit);
        files::write_quietly(&folder.join(name), har.as_bytes())?;
    }
    anstream::eprintln!("wrote {} HARs to {}", keys.len(), folder.display());
    Ok(())
}

/// A stored visit as HAR.
fn har(store: &Store, key: VisitKey) -> Result<String, StoreError> {
    let record = store.record(key)?;
    let journey = store.journey(key)?;
    let visit = HarVisit {
        record: &record,
        scenario: Some(&journey.scenario),
        seed: journey.seed,
        page: None,
    };
    Ok(super::har_text(&[visit]))
}

/// Most journeys whose visits are summed up by the report's sentences; beyond, medians alone are read.
const MOST_JOURNEYS: u64 = 100_000;

/// Larger runs are only summarised over all conditions: the tables need all visits in memory.
const MOST_VISITS: usize = 20_000;

/// Prints the answer over all conditions, and one for each of them.
pub fn print_answer(store: &Store, run: RunId, plan: &Plan) -> Result<(), CliError> {
    for skipped in plan.skipped() {
        output::line(wrapped(&format!("note: {}", skipped.sentence())))?;
    }
    if store.stored_count(run).map_err(stores::failed)? > MOST_JOURNEYS {
        let times = store.load_times(run).map_err(stores::failed)?;
        if let Some(sentence) = LiveAnswer::of_times(plan, times) {
            output::line(wrapped(&sentence))?;
        }
        return Ok(());
    }
    let visits = store.visits(run).map_err(stores::failed)?;
    if visits.len() > MOST_VISITS {
        return over_all(store, run);
    }
    let arms = arms::group(plan, results(store, run, visits).map_err(stores::failed)?);
    if arms::by_condition(&arms).count() > 1 {
        over_all(store, run)?;
    }
    for arms in arms::by_condition(&arms) {
        let condition = arms[0].condition();
        if !condition.is_empty() {
            output::line(format!("\n{condition}"))?;
        }
        for sentence in answer::answer(arms, plan.seed()) {
            output::line(sentence)?;
        }
        output::line(arms::table(arms))?;
    }
    output::line(arms::legend(&arms))?;
    output::line("")
}

/// The loads of a run by arm.
pub fn arms_of(store: &Store, run: RunId, plan: &Plan) -> Result<Vec<Arm>, CliError> {
    let visits = store.visits(run).map_err(stores::failed)?;
    Ok(arms::group(plan, results(store, run, visits).map_err(stores::failed)?))
}

/// Prints the answer at the report's beginning.
fn over_all(store: &Store, run: RunId) -> Result<(), CliError> {
    for sentence in report::sentences(store, run).map_err(not_made)? {
        output::line(wrapped(&sentence))?;
    }
    Ok(())
}

/// The stored journeys as results, as if just measured.
pub fn results(
    store: &Store,
    run: RunId,
    visits: Vec<VisitRow>,
) -> Result<Vec<(JourneyPlan, JourneyResult)>, StoreError> {
    let mut visits = visits.into_iter().peekable();
    let mut results = Vec::new();
    for row in store.journeys(run)? {
        let mut result =
            JourneyResult { notes: row.notes, failure: row.failure, ..JourneyResult::default() };
        while let Some(visit) = visits.next_if(|visit| visit.key.journey == row.position) {
            let record = store.record(visit.key)?;
            result.visits.push(MeasuredVisit {
                kept: Some(visit.figures()),
                floors: visit.floors,
                critical_path: store.critical_path(visit.key)?,
                ..MeasuredVisit::new(record)
            });
        }
        let journey = JourneyPlan {
            position: row.position,
            cell: row.cell,
            repetition: row.repetition,
            seed: row.seed,
            scenario: row.scenario,
        };
        results.push((journey, result));
    }
    Ok(results)
}
