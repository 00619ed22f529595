//! Recordings as commands open and write them.

use std::io::Cursor;
use std::path::Path;

use ::archive::{Archive, RecordedLoad, har, wacz};

use super::files;
use crate::failure::CliError;
use crate::show::terminal::wrapped;

/// Reads a recording of any kind. Warns of what could not be read.
pub fn open(path: &Path) -> Result<Archive, CliError> {
    let shown = path.display();
    let archived = ::archive::open(path).map_err(|error| {
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

/// Checks that a recording can be written to `path`, before anything is recorded.
pub fn check_output(path: &Path) -> Result<(), CliError> {
    if !["har", "wacz"].iter().any(|kind| path.extension().is_some_and(|it| it == *kind)) {
        let message = format!("--output {}: recordings are HAR or WACZ files", path.display());
        return Err(CliError::bad_input(message).hint("name it FILE.har or FILE.wacz".to_owned()));
    }
    files::check_place(path)
}

/// Writes loads as a web archive or a HAR file, by the path's ending.
pub fn write(loads: &[RecordedLoad], path: &Path) -> Result<(), CliError> {
    const VERSION: &str = env!("CARGO_PKG_VERSION");
    let file = match path.extension().is_some_and(|it| it == "wacz") {
        false => har::text(loads, ("farlink", VERSION)).into_bytes(),
        true => {
            let mut file = Cursor::new(Vec::new());
            let written = wacz::write(loads, &format!("farlink {VERSION}"), &mut file);
            written
                .map_err(|error| CliError::machine(format!("cannot make the archive: {error}")))?;
            file.into_inner()
        }
    };
    files::write_quietly(path, &file)
}
