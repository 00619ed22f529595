//! `farlink export`: tables of a run for notebooks, databases and statistics packages.

mod packets;

use std::fmt::Display;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use export::{ExportError, Format, ObservePackets, TABLES, Table};
use scenario::nearest;
use store::{JourneyRow, RunId, Store, VisitRow};

use super::{files, report, stores};
use crate::args::ExportRun;
use crate::failure::{CliError, ExitCode};

pub fn run(args: &ExportRun) -> Result<ExitCode, CliError> {
    let tables = tables(&args.table)?;
    let (format, path) = args.place.format();
    let store = stores::open(&args.store)?;
    let run = report::choose(&store, &args.store, args.run)?;
    report::warn_if_partial(&store, run)?;
    let files = match tables[..] {
        [_] if !path.is_dir() => {
            files::check_place(path)?;
            vec![path.clone()]
        }
        _ => files_in(path, &tables, format)?,
    };
    let worlds = super::worlds()?;
    let observe = |journey: &JourneyRow, visits: &[VisitRow]| packets::of(&worlds, journey, visits);
    for (table, path) in tables.into_iter().zip(files) {
        let rows = write(&store, run, table, format, &observe, &path)?;
        anstream::eprintln!("wrote {} ({rows} {})", path.display(), plural(rows));
    }
    Ok(ExitCode::Success)
}

fn plural(rows: usize) -> &'static str {
    if rows == 1 { "row" } else { "rows" }
}

/// The named tables.
fn tables(names: &[String]) -> Result<Vec<&'static Table>, CliError> {
    if names.iter().any(|name| name == "all") {
        return Ok(TABLES.iter().filter(|table| !table.is_observed()).collect());
    }
    let find = |name: &String| {
        export::named(name).ok_or_else(|| {
            let known: Vec<&str> = TABLES.iter().map(|table| table.name).collect();
            let hint = match nearest(name, known.iter().copied()) {
                Some(nearest) => format!("did you mean `{nearest}`?"),
                None => format!("the tables: {}, all", known.join(", ")),
            };
            CliError::bad_input(format!("--table {name}: there is no such table")).hint(hint)
        })
    };
    names.iter().map(find).collect()
}

/// The files of several tables in a directory, which is created.
fn files_in(
    folder: &Path,
    tables: &[&'static Table],
    format: Format,
) -> Result<Vec<PathBuf>, CliError> {
    if folder.is_file() {
        let message =
            format!("{} is a file, and several tables need a directory", folder.display());
        return Err(CliError::bad_input(message).hint("name a directory".to_owned()));
    }
    files::make_folder(folder)?;
    let file = |table: &&Table| folder.join(format!("{}.{}", table.name, format.extension()));
    Ok(tables.iter().map(file).collect())
}

fn write(
    store: &Store,
    run: RunId,
    table: &Table,
    format: Format,
    observe: &ObservePackets<'_>,
    path: &Path,
) -> Result<usize, CliError> {
    files::write_streamed(path, |file| {
        let mut out = BufWriter::new(file);
        let failed = |error: &dyn Display| {
            CliError::machine(format!("cannot write {}: {error}", path.display()))
        };
        let rows = export::write(store, run, table, format, observe, &mut out);
        let rows = rows.map_err(|error| match error {
            ExportError::Store(error) => stores::failed(error),
            error => failed(&error),
        })?;
        out.flush().map_err(|error| failed(&error))?;
        Ok(rows)
    })
}
