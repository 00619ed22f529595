//! `farlink shell`: a program inside an emulated network.
//!
//! Two processes of farlink take part. The one that was started by hand stays outside: it checks what was typed, starts a sandbox, passes
//! signals on and joins the ports of this machine's loopback that were asked for. The other one, [`inside`], is the sandbox's supervisor:
//! it builds the network, runs the emulator and starts the command. Both read the same command line; between them go signal numbers
//! inwards and listeners outwards.

mod carrier;
mod command;
pub mod inside;
mod relay;
mod server;
mod signals;

use std::io::Write;
use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{self, ExitStatus};
use std::time::Duration;

use emu::sandbox::{Sandbox, receive_listener};
use net::Network;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::args::Shell;
use crate::failure::Failure;
use signals::{Event, Signals};

/// How long a command may take to end once it was asked to.
const PATIENCE: Duration = Duration::from_secs(2);

/// Carries out `farlink shell`; the exit code is the command's.
pub fn run(args: &Shell) -> Result<process::ExitCode, Failure> {
    networks(args)?;
    command::check(&args.command)?;
    let signals = Signals::take()?;
    let mut sandbox = Sandbox::start(inside::command()).map_err(Failure::not_emulated)?;
    open_ports(args, &sandbox)?;
    let code = await_end(&mut sandbox, &signals)?;
    Ok(process::ExitCode::from(code))
}

/// What was typed, as networks.
fn networks(args: &Shell) -> Result<Vec<Network>, Failure> {
    let parsed = args.network.iter().map(|text| Network::parse(text));
    parsed.collect::<Result<_, _>>().map_err(Failure::bad_input)
}

/// Takes the listeners from inside, in the order in which ports were asked for.
fn open_ports(args: &Shell, sandbox: &Sandbox) -> Result<(), Failure> {
    for port in &args.host_loopback {
        // None is sent where something went wrong inside, which is told there.
        let Some(listener) = receive_listener(sandbox.channel()).map_err(Failure::machine)? else {
            break;
        };
        relay::start(listener, port.host);
    }
    Ok(())
}

/// Waits for the command and passes signals on; one that does not end in time is ended with all that is inside.
fn await_end(sandbox: &mut Sandbox, signals: &Signals) -> Result<u8, Failure> {
    let mut asked = None;
    loop {
        let timeout = asked.map_or(PollTimeout::NONE, |_| {
            PollTimeout::try_from(PATIENCE).expect("a few seconds are a timeout")
        });
        let ready = poll(&mut [PollFd::new(signals.as_fd(), PollFlags::POLLIN)], timeout);
        if let (Ok(0), Some(signal)) = (ready, asked) {
            return Ok(128 + signal);
        }
        while let Some(event) = signals.next() {
            match event {
                Event::Child => {
                    if let Some(status) = sandbox.try_wait().map_err(Failure::machine)? {
                        return Ok(code_of(status));
                    }
                }
                Event::Resized => {}
                Event::End(signal) => {
                    let number = signal as u8;
                    // Fails where the sandbox is ending already.
                    let _ = sandbox.channel().write_all(&[number]);
                    asked = Some(number);
                }
            }
        }
    }
}

/// A shell's exit code for it: 128 + N if signal N killed it.
fn code_of(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX)
}
