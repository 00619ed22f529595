//! Standard output, which may be closed or full.

use std::fmt::Display;
use std::io::{ErrorKind, Write};

use crate::failure::CliError;

/// Prints `text` and a newline. A reader that has gone (`farlink ... | head`) is not a failure.
pub fn line(text: impl Display) -> Result<(), CliError> {
    print(format_args!("{text}\n"))
}

/// Prints `text` as it is.
pub fn print(text: impl Display) -> Result<(), CliError> {
    match write!(anstream::stdout(), "{text}") {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(CliError::machine(format!("cannot write to standard output: {error}")))
        }
        _ => Ok(()),
    }
}
