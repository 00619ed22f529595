//! `farlink merge`: stores with parts of an experiment become one.

use std::collections::BTreeSet;
use std::path::Path;

use store::{RunId, RunState, Store, without_password};

use super::run::now;
use super::{output, shell, stores};
use crate::args::Merge;
use crate::failure::{CliError, ExitCode};

pub fn run(args: &Merge) -> Result<ExitCode, CliError> {
    let from = open(args)?;
    // Declared before the store, so dropped after it.
    let _held;
    let mut into = stores::open_or_create(&args.into)?;
    _held = stores::hold(&args.into)?;
    let mut touched = BTreeSet::new();
    for store in &from {
        merge(&mut into, store, &mut touched)?;
    }
    if touched.is_empty() {
        return Err(CliError::bad_input("the stores contain no runs".to_owned())
            .hint("farlink run EXPERIMENT.toml --shard 1/7 --store part-1.sqlite".to_owned()));
    }
    let option = shell::store_option(&args.into);
    let mut is_whole = true;
    for run in touched {
        let state = into.finish_run(run, &now()).map_err(stores::failed)?;
        let row = into.run(run).map_err(stores::failed)?;
        if state == RunState::Complete {
            let digest = stores::short_digest(&row);
            anstream::eprintln!(
                "run {} complete: {} journeys, digest {digest}",
                run.0,
                row.journeys
            );
            output::line(format!("farlink report {}{option} -o report.html", run.0))?;
        } else {
            is_whole = false;
            let stored = into.stored_count(run).map_err(stores::failed)?;
            anstream::eprintln!(
                "run {} has {stored} of {} journeys: merge the other parts, or run the experiment into this store to add them",
                run.0,
                row.journeys
            );
        }
    }
    Ok(if is_whole { ExitCode::Success } else { ExitCode::Failed })
}

/// Opens all stores before anything is copied.
fn open(args: &Merge) -> Result<Vec<Store>, CliError> {
    let is_into = |path: &Path| match (path.canonicalize(), args.into.canonicalize()) {
        (Ok(one), Ok(other)) => one == other,
        _ => path == args.into,
    };
    if let Some(path) = args.from.iter().find(|path| is_into(path)) {
        let message =
            format!("{} is both read and written", without_password(&path.to_string_lossy()));
        return Err(
            CliError::bad_input(message).hint("leave it out: --into keeps its runs".to_owned())
        );
    }
    args.from.iter().map(|path| stores::open(path)).collect()
}

/// Copies every run of a store.
fn merge(into: &mut Store, from: &Store, touched: &mut BTreeSet<RunId>) -> Result<(), CliError> {
    for row in from.runs().map_err(stores::failed)? {
        let merged = into.merge_run(from, row.id).map_err(stores::failed)?;
        touched.insert(merged.run);
        let known = match merged.known {
            0 => String::new(),
            known => format!(", {known} were there"),
        };
        anstream::eprintln!(
            "{}: {} of {} journeys of `{}` added{known}",
            from.path().display(),
            merged.added,
            row.journeys,
            row.name
        );
    }
    Ok(())
}
