//! `farlink shell`, the part inside: builds the network, emulates it and runs the command in it.

use std::env;
use std::io::Read;
use std::net::TcpListener;
use std::os::unix::net::UnixStream;
use std::process::{self, Command};
use std::thread;

use emu::sandbox::{Names, RunAs, Supervisor, send_listener};
use emu::{Side, Testbed};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::carrier::Carrier;
use super::server::Server;
use super::{code_of, command as command_to_run, networks};
use crate::args::{HostLoopback, Shell};
use crate::failure::Failure;

/// What this part is called on the command line.
const NAME: &str = "shell-inside";

/// This part as a command, with the arguments of `farlink shell` as they were typed.
pub fn command() -> Command {
    let mut command = Command::new("/proc/self/exe");
    command.arg(NAME).args(env::args_os().skip(2));
    command
}

/// Runs it; the exit code is the command's.
pub fn run(args: &Shell) -> Result<process::ExitCode, Failure> {
    let supervisor = Supervisor::enter().map_err(Failure::machine)?;
    supervisor.set_names(&names()).map_err(Failure::machine)?;
    let testbed = Testbed::new().map_err(Failure::not_emulated)?;
    let_anybody_ping(&testbed)?;
    let carrier = Carrier::start(&testbed, &networks(args)?, args.seed)?;
    for port in &args.host_loopback {
        let listener = listen(&testbed, *port)?;
        send_listener(supervisor.channel(), &listener).map_err(Failure::machine)?;
    }
    let server = args.server.as_deref().map(|text| Server::start(&testbed, text)).transpose()?;
    let mut command = command_to_run::prepare(&args.command, &args.network);
    let client = testbed.namespace(Side::Client);
    let child = client.start(&mut command, RunAs::Caller).map_err(Failure::machine)?;
    pass_signals_on(supervisor.channel(), child.id())?;
    let status = loop {
        let reaped = supervisor.reap().map_err(Failure::machine)?;
        if reaped.id == child.id() {
            break reaped.status;
        }
        if let Some(server) = server.as_ref().filter(|server| server.id() == reaped.id) {
            server.tell_end(reaped.status);
        }
    };
    carrier.stop()?;
    Ok(process::ExitCode::from(code_of(status)))
}

/// What the ends are called.
fn names() -> Names {
    [(Side::Client, "client.farlink"), (Side::Server, "server.farlink")]
        .into_iter()
        .fold(Names::default(), |names, (side, name)| names.with(name, side.address()))
}

/// Opens ICMP sockets to the caller's group, which is called 0 here: `ping` without root (icmp(7)).
fn let_anybody_ping(testbed: &Testbed) -> Result<(), Failure> {
    testbed.set_sysctl("ipv4/ping_group_range", "0 0").map_err(Failure::machine)
}

/// Listens at the network's far side on behalf of this machine's loopback.
fn listen(testbed: &Testbed, port: HostLoopback) -> Result<TcpListener, Failure> {
    let address = (Side::Server.address(), port.inside);
    let bound = testbed.namespace(Side::Server).run(move || Ok(TcpListener::bind(address)));
    bound.map_err(Failure::machine)?.map_err(|error| {
        Failure::bad_input(format!(
            "--host-loopback {}={}: cannot listen on port {} inside: {error}",
            port.host, port.inside, port.inside
        ))
    })
}

/// Sends the command what arrives on the channel: numbers of signals, a byte each.
fn pass_signals_on(channel: &UnixStream, command: u32) -> Result<(), Failure> {
    let mut channel = channel.try_clone().map_err(Failure::machine)?;
    thread::spawn(move || {
        let mut number = [0];
        while channel.read_exact(&mut number).is_ok() {
            if let Ok(signal) = Signal::try_from(i32::from(number[0])) {
                // Fails if the command has just ended by itself.
                let _ = kill(Pid::from_raw(command.cast_signed()), signal);
            }
        }
    });
    Ok(())
}
