//! `farlink study import`: an experiment from the input of a study's own programs.

use std::path::Path;

use study::bth2013::{Conditions, Config, InputError};

use super::super::{files, output};
use crate::args::{Import, Imported, RunOptions};
use crate::failure::CliError;

/// The page that replaces bth2013's.
const PAGE: &str = "bth2013";

pub fn run(import: &Import) -> Result<(), CliError> {
    match import {
        Import::Bth2013Case { file, into } => {
            let name = file.display().to_string();
            let conditions = Conditions::of_case(&name, &read(file)?).map_err(refused)?;
            write(conditions, &name, into)
        }
        Import::Bth2013Run { asked, into } => {
            write(conditions(asked).map_err(refused)?, "A call of run.py", into)
        }
    }
}

fn conditions(asked: &RunOptions) -> Result<Conditions, InputError> {
    let options = study::bth2013::Options {
        times: asked.times,
        protocol: asked.protocol,
        ssl: asked.ssl,
        network: asked.net_type,
        loss: &asked.net_loss,
        up: &asked.net_up_bw,
        down: &asked.net_dw_bw,
        rtt: &asked.net_rtt,
    };
    options.conditions()
}

/// Writes the experiment, and reports what was left out.
fn write(mut conditions: Conditions, origin: &str, into: &Imported) -> Result<(), CliError> {
    if let Some(path) = &into.config {
        let name = path.display().to_string();
        let config = Config::read(&name, &read(path)?).map_err(refused)?;
        if into.page.is_none() {
            config.check_page(&name).map_err(refused)?;
        }
        conditions.notes.extend(config.notes);
    }
    for note in &conditions.notes {
        anstream::eprintln!("left out: {note}");
    }
    let page = into.page.as_deref().unwrap_or(PAGE);
    let text = conditions.experiment(origin, page);
    match &into.output {
        None => output::print(text),
        Some(path) => {
            files::check_place(path)?;
            files::write_whole(path, text.as_bytes())
        }
    }
}

fn read(path: &Path) -> Result<String, CliError> {
    std::fs::read_to_string(path)
        .map_err(|error| CliError::bad_input(format!("cannot read {}: {error}", path.display())))
}

fn refused(error: InputError) -> CliError {
    let hint = error.hint.clone();
    CliError::bad_input(error).hint(hint)
}
