//! `farlink shell`: a program inside an emulated network.
//!
//! Two farlink processes take part. The one that was started by hand stays outside: it checks the arguments, starts
//! a sandbox, forwards signals, joins the requested ports of this machine's loopback and, for a shell at a
//! terminal, shows the links' status. The other one, [`inside`], is the sandbox's supervisor: it builds the
//! network, runs the emulator and starts the command. Both parse the same command line. Signal numbers go inwards;
//! outwards go first the listeners, then the lines to be shown.

mod account;
mod carrier;
mod command;
pub mod inside;
mod live;
mod log;
mod pseudo_terminal;
mod relay;
mod screen;
mod server;
mod signals;
mod status;
mod watch;

use std::os::unix::process::ExitStatusExt;
use std::process::{self, ExitStatus};

use emu::sandbox::{Sandbox, receive_listener};
use net::Network;
use nix::poll::{PollFd, PollFlags, poll};

use crate::args::Shell;
use crate::failure::Failure;
use signals::Signals;
use watch::Watch;

/// Carries out `farlink shell`; returns the command's exit code.
pub fn run(args: &Shell) -> Result<process::ExitCode, Failure> {
    networks(args)?;
    command::check(&args.command)?;
    let signals = Signals::take()?;
    let code = match args.command.is_empty() {
        true => live::run(args, signals)?,
        false => {
            let sandbox = start(args, inside::command())?;
            await_end(Watch::new(sandbox, signals))?
        }
    };
    Ok(process::ExitCode::from(code))
}

/// The networks named on the command line.
fn networks(args: &Shell) -> Result<Vec<Network>, Failure> {
    let parsed = args.network.iter().map(|text| Network::parse(text));
    parsed.collect::<Result<_, _>>().map_err(Failure::bad_input)
}

/// Starts the part inside and opens the requested ports.
fn start(args: &Shell, inside: process::Command) -> Result<Sandbox, Failure> {
    let wire = super::wire()?;
    let sandbox = Sandbox::start(inside).map_err(|error| Failure::not_emulated(error, wire))?;
    for port in &args.host_loopback {
        // None is sent if something went wrong inside; the error is reported there.
        let Some(listener) = receive_listener(sandbox.channel()).map_err(Failure::machine)? else {
            break;
        };
        relay::start(listener, port.host);
    }
    Ok(sandbox)
}

/// Waits for the command, which has our standard streams.
fn await_end(mut watch: Watch) -> Result<u8, Failure> {
    loop {
        // Interrupted or not: events are handled below.
        let _ = poll(&mut [PollFd::new(watch.signals(), PollFlags::POLLIN)], watch.timeout());
        if let Some(code) = watch.heed()? {
            return Ok(code);
        }
    }
}

/// A shell's exit code for this status: 128 + N if signal N killed it.
fn code_of(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX)
}
