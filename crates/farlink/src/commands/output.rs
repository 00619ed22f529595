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
    told(write!(anstream::stdout(), "{text}"))
}

/// Writes bytes that need not be text.
pub fn bytes(bytes: &[u8]) -> Result<(), CliError> {
    let mut stdout = std::io::stdout().lock();
    told(stdout.write_all(bytes).and_then(|()| stdout.flush()))
}

fn told(written: std::io::Result<()>) -> Result<(), CliError> {
    match written {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(CliError::machine(format!("cannot write to standard output: {error}")))
        }
        _ => Ok(()),
    }
}
