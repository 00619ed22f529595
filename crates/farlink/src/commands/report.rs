//! `farlink report`: a run as a page that one can open, print and send.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use lab::har_export::HarVisit;
use lab::report;
use lab::store::{RunId, Store, StoreError, VisitKey};

use super::runs;
use crate::args::Report;
use crate::failure::{ExitCode, Failure};

pub fn run(args: &Report) -> Result<ExitCode, Failure> {
    let store = runs::open(&args.store)?;
    let run = choose(&store, args)?;
    let html = report::html(&store, run, &[]).map_err(Failure::bad_input)?;
    write(&args.output, html.as_bytes())?;
    if let Some(path) = &args.csv {
        let mut csv = Vec::new();
        lab::csv_export::write_visits(&store, run, &mut csv).map_err(Failure::machine)?;
        write(path, &csv)?;
    }
    if let Some(folder) = &args.har {
        write_hars(&store, run, folder)?;
    }
    Ok(ExitCode::Success)
}

/// The run that was named, or the latest.
fn choose(store: &Store, args: &Report) -> Result<RunId, Failure> {
    let runs = store.runs().map_err(|error| runs::failure(&error))?;
    let chosen = match args.run {
        Some(number) => runs.iter().find(|run| run.id.0 == number),
        None => runs.last(),
    };
    chosen.map(|run| run.id).ok_or_else(|| {
        let what = args.run.map_or("no run".to_owned(), |number| format!("no run {number}"));
        Failure::bad_input(format!("{} holds {what}", args.store.display()))
            .hint(format!("farlink runs --store {} lists them", args.store.display()))
    })
}

/// Writes a file as a whole: beside its place first, then into it.
fn write(path: &Path, contents: &[u8]) -> Result<(), Failure> {
    let failed = |error: std::io::Error| {
        Failure::machine(format!("cannot write {}: {error}", path.display()))
    };
    let mut partial = path.as_os_str().to_owned();
    partial.push(".partial");
    let result = File::create(&partial)
        .and_then(|mut file| file.write_all(contents).and_then(|()| file.sync_all()))
        .and_then(|()| fs::rename(&partial, path));
    if result.is_err() {
        // The error that is told is the first one; there may be nothing to remove.
        let _ = fs::remove_file(&partial);
    }
    result.map_err(failed)?;
    anstream::eprintln!("wrote {}", path.display());
    Ok(())
}

fn write_hars(store: &Store, run: RunId, folder: &Path) -> Result<(), Failure> {
    fs::create_dir_all(folder)
        .map_err(|e| Failure::machine(format!("cannot make {}: {e}", folder.display())))?;
    let keys: Vec<VisitKey> = store
        .visits(run)
        .map_err(|error| runs::failure(&error))?
        .into_iter()
        .map(|visit| visit.key)
        .collect();
    for key in &keys {
        let har = har(store, *key).map_err(|error| runs::failure(&error))?;
        let name = format!("run{}-journey{}-visit{}.har", key.run.0, key.journey, key.visit);
        let path = folder.join(name);
        fs::write(&path, har)
            .map_err(|e| Failure::machine(format!("cannot write {}: {e}", path.display())))?;
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
