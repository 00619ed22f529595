//! `farlink study export`: the measurements of a run, in the format of a study's own programs.

use std::path::{Path, PathBuf};

use store::RunId;
use study::bth2013::{DocumentError, Written, documents};

use super::super::{files, output, report, stores};
use crate::args::Export;
use crate::failure::CliError;

pub fn run(export: &Export) -> Result<(), CliError> {
    let Export::Bth2013Results { run, store, net_type, output } = export;
    let opened = stores::open(store)?;
    let run = report::choose(&opened, store, *run)?;
    let mut text = Vec::new();
    let written = documents(&opened, run, *net_type, &mut text).map_err(not_written)?;
    say(run, written);
    put(&text, output)
}

fn put(text: &[u8], output: &Option<PathBuf>) -> Result<(), CliError> {
    match output {
        // JSON is UTF-8.
        None => output::print(String::from_utf8_lossy(text)),
        Some(path) => put_whole(path, text),
    }
}

fn put_whole(path: &Path, text: &[u8]) -> Result<(), CliError> {
    files::check_place(path)?;
    files::write_whole(path, text)
}

fn say(run: RunId, written: Written) {
    let Written { documents, failed } = written;
    if failed > 0 {
        anstream::eprintln!(
            "run {}: {failed} loads failed, of which the documents say nothing; {documents} documents",
            run.0
        );
    }
}

fn not_written(error: DocumentError) -> CliError {
    match error {
        DocumentError::Store(error) => stores::failed(error),
        DocumentError::NoNetType { .. } => {
            CliError::bad_input(error).hint("say it: --net-type 3G".to_owned())
        }
        DocumentError::Unstatable { .. } => CliError::bad_input(error)
            .hint("`farlink export --csv FILE` has words for everything".to_owned()),
        DocumentError::Write(_) => CliError::machine(error),
    }
}
