//! Recordings as commands open them.

use std::path::Path;

use ::archive::wacz::ArchivedLoad;

use crate::failure::CliError;
use crate::show::terminal::wrapped;

/// Reads a recording: a web archive, or a HAR file. Warns of what could not be read.
pub fn open(path: &Path) -> Result<ArchivedLoad, CliError> {
    let shown = path.display();
    let file =
        std::fs::read(path).map_err(|error| CliError::bad_input(format!("{shown}: {error}")))?;
    let archived = ::archive::read(&file).map_err(|error| {
        CliError::bad_input(format!("{shown}: {error}"))
            .hint("`farlink record URL -o FILE.wacz` makes a recording".to_owned())
    })?;
    if let Some(damage) = &archived.damage {
        let warning = format!("warning: {shown}: only a part could be read: {damage}");
        anstream::eprintln!("{}", wrapped(&warning));
    }
    for (kind, count) in &archived.skipped {
        anstream::eprintln!("note: {count} records skipped: {kind}");
    }
    Ok(archived)
}
