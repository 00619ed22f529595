//! `farlink completions SHELL`.

use clap::CommandFactory;
use clap_complete::Shell;

use super::output;
use crate::args::Cli;
use crate::failure::{ExitCode, Failure};

pub fn run(shell: Shell) -> Result<ExitCode, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "farlink", &mut script);
    output::print(String::from_utf8_lossy(&script))?;
    Ok(ExitCode::Success)
}
