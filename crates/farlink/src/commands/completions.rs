//! `farlink completions SHELL`.

use std::io;

use clap::CommandFactory;
use clap_complete::Shell;

use crate::args::Cli;
use crate::failure::{ExitCode, Failure};

pub fn run(shell: Shell) -> Result<ExitCode, Failure> {
    clap_complete::generate(shell, &mut Cli::command(), "farlink", &mut io::stdout());
    Ok(ExitCode::Success)
}
