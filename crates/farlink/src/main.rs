//! The command line: what people type, told well.
//!
//! Data goes to standard output, talk to standard error. Exit codes: see [`failure::ExitCode`].

#![forbid(unsafe_code)]

mod args;
mod commands;
mod failure;
mod show;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    match commands::run(args::Cli::parse()) {
        Ok(code) => code.into(),
        Err(failure) => {
            failure.tell();
            failure.code().into()
        }
    }
}
