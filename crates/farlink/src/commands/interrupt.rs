//! Ctrl-C: the first requests an orderly end, the second ends the process at once.

use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::failure::{CliError, ExitCode};

/// A flag that Ctrl-C raises.
pub fn flag() -> Result<Arc<AtomicBool>, CliError> {
    let flag = Arc::new(AtomicBool::new(false));
    let raised = Arc::clone(&flag);
    ctrlc::set_handler(move || {
        if raised.swap(true, Ordering::SeqCst) {
            process::exit(ExitCode::Interrupted as i32);
        }
    })
    .map_err(|error| CliError::machine(format!("cannot watch for Ctrl-C: {error}")))?;
    Ok(flag)
}
