//! The command line of farlink.
//!
//! Data goes to standard output, messages to standard error. Exit codes: see [`failure::ExitCode`].

#![forbid(unsafe_code)]

mod args;
mod budget;
mod commands;
mod failure;
mod show;

use std::process::ExitCode;

use clap::Parser;

/// A journey allocates about a megabyte and frees all of it. The system's allocator returns that to the kernel each
/// time, whose page faults took a quarter of a load's time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    match commands::run(args::Cli::parse()) {
        Ok(code) => code,
        Err(failure) => {
            failure.tell();
            failure.code().into()
        }
    }
}
