//! `farlink pages`.

use page::write::Existing;
use page::{Page, catalogue};

use super::output;
use crate::args::Pages;
use crate::failure::{ExitCode, Failure};
use crate::show::table::Table;
use crate::show::units::bytes;

pub fn run(pages: &Pages) -> Result<ExitCode, Failure> {
    match pages {
        Pages::List => list()?,
        Pages::Show { page, json: false } => output::print(page::Table(&open(page)?))?,
        Pages::Show { page, json: true } => output::print(page::file::to_text(&open(page)?))?,
        Pages::Write { page, output } => {
            let written = page::write::write(&open(page)?, output, Existing::Keep)
                .map_err(Failure::bad_input)?;
            let (files, size) = (written.files, bytes(written.bytes as f64));
            output::line(format!("wrote {files} files, {size}, to {}", output.display()))?;
            for note in &written.notes {
                output::line(format!("note: {note}"))?;
            }
        }
    }
    Ok(ExitCode::Success)
}

fn open(spec: &str) -> Result<Page, Failure> {
    page::open(spec).map_err(Failure::bad_input)
}

fn list() -> Result<(), Failure> {
    let mut table = Table::new(&["page", "requests", "hosts", "bodies", "what it is"]);
    for entry in catalogue() {
        table.row([
            entry.name,
            entry.requests.to_string(),
            entry.hosts.to_string(),
            bytes(entry.body_bytes as f64),
            entry.description,
        ]);
    }
    table.left(4);
    output::line(table)?;
    output::line(
        "\n`synthetic:NxSIZE[@Hhosts]` takes any numbers; a .har, .har.gz or page file is named by its path.",
    )
}
