//! `farlink shell`, the part inside: builds the network, emulates it and runs the command in it.

use std::env;
use std::io::Read;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::os::unix::net::UnixStream;
use std::process::{self, Command};
use std::thread::{self, JoinHandle};

use anstream::eprintln;
use emu::sandbox::{HostNames, RunAs, Supervisor, send_listener, take_terminal};
use emu::{
    AccessSide, ControlSocket, EmulatedTopology, EmulationResult, Release, Snapshot, Testbed,
    TestbedConfig, Wire,
};
use net::Network;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::json;

use super::account::{self, LogFile};
use super::replay::ShellReplayServer;
use super::server::FarSideServer;
use super::{code_of, networks};
use crate::args::{HostLoopback, Shell};
use crate::failure::CliError;

/// This part's name on the command line.
const NAME: &str = "shell-inside";

/// This part as a command, with the arguments of `farlink shell` as they were typed.
pub fn command() -> Command {
    let mut command = Command::new("/proc/self/exe");
    command.arg(NAME).args(env::args_os().skip(2));
    command
}

/// Runs it; the exit code is the command's.
pub fn run(args: &Shell) -> Result<process::ExitCode, CliError> {
    let supervisor = Supervisor::enter().map_err(CliError::machine)?;
    let replay = ShellReplayServer::open(&args.replay)?;
    let names = replay.as_ref().map_or_else(names, |replay| replay.names(names()));
    supervisor.set_names(&names).map_err(CliError::machine)?;
    let trust = replay.as_ref().map(|replay| replay.trust(&supervisor)).transpose()?;
    let log = args.log.as_deref().map(LogFile::create).transpose()?;
    let topology = chain(&networks(args)?);
    let topology = match &replay {
        Some(replay) => replay.topology(topology),
        None => topology,
    };
    let wire = crate::commands::wire()?;
    let testbed = Testbed::build(TestbedConfig {
        mtu: topology.mtu(),
        between: topology.intermediary(),
        wire,
        ..TestbedConfig::default()
    })
    .map_err(|error| CliError::not_emulated(error, wire))?;
    allow_unprivileged_ping(&testbed)?;
    let carrier = EmulatorThread::start(&testbed, topology, args.seed)?;
    for port in &args.host_loopback {
        let listener = listen(&testbed, *port)?;
        send_listener(supervisor.channel(), &listener).map_err(CliError::machine)?;
    }
    let server =
        args.server.as_deref().map(|text| FarSideServer::start(&testbed, text)).transpose()?;
    let replay = replay.map(|replay| replay.start(&testbed)).transpose()?;
    let mut command = super::prepare(&args.command, &args.network);
    if let Some(trust) = trust {
        trust.set(&mut command);
    }
    if args.command.is_empty() {
        take_terminal(&mut command);
        let channel = supervisor.channel().try_clone().map_err(CliError::machine)?;
        super::account::tell_status(carrier.control(), channel);
    }
    let client = testbed.namespace(AccessSide::Client);
    let child = client.start(&mut command, RunAs::Caller).map_err(CliError::machine)?;
    pass_signals_on(supervisor.channel(), child.id())?;
    let status = loop {
        let reaped = supervisor.reap().map_err(CliError::machine)?;
        if reaped.id == child.id() {
            break reaped.status;
        }
        if let Some(server) = server.as_ref().filter(|server| server.id() == reaped.id) {
            server.tell_end(reaped.status);
        }
    };
    let account = carrier.stop()?;
    tell(&account.snapshot);
    if let Some(replay) = &replay {
        replay.tell();
    }
    if let Some(log) = log {
        let mut account = account::json(args, &account.snapshot, &account.drops);
        if let Some(replay) = &replay {
            account["replay"] = json!(replay.journal());
        }
        log.write(&account)?;
    }
    Ok(process::ExitCode::from(code_of(status)))
}

/// The ends' names. Each has one address: of two, a program would try one after the other, a round trip each.
fn names() -> HostNames {
    HostNames::default()
        .with("client.farlink", AccessSide::Client.address())
        .with("server.farlink", AccessSide::Server.address())
        .with("client6.farlink", AccessSide::Client.address_v6())
        .with("server6.farlink", AccessSide::Server.address_v6())
}

/// Reports what was emulated, and whether the result is trustworthy.
fn tell(snapshot: &Snapshot) {
    eprintln!("farlink: {}", account::line(snapshot));
    if snapshot.wire == Wire::Tap {
        eprintln!(
            "farlink: used TAP devices instead of veth: packets entered their link when read"
        );
    }
    if let Err(invalid) = snapshot.check() {
        eprintln!(
            "warning: these results are invalid: {invalid}. The network was not emulated faithfully: run \
             it again on a less busy machine"
        );
    }
}

/// Opens ICMP sockets to the caller's group, which is called 0 here: `ping` without root (icmp(7)).
fn allow_unprivileged_ping(testbed: &Testbed) -> Result<(), CliError> {
    testbed.set_sysctl("ipv4/ping_group_range", "0 0").map_err(CliError::machine)
}

/// Listens at the network's far side on behalf of this machine's loopback.
fn listen(testbed: &Testbed, port: HostLoopback) -> Result<TcpListener, CliError> {
    // The first serves IPv4, too; there is no IPv6 where packets are too small for it.
    let all: [SocketAddr; 2] =
        [(Ipv6Addr::UNSPECIFIED, port.inside).into(), (Ipv4Addr::UNSPECIFIED, port.inside).into()];
    let bound = testbed.namespace(AccessSide::Server).run(move || Ok(TcpListener::bind(&all[..])));
    bound.map_err(CliError::machine)?.map_err(|error| {
        CliError::bad_input(format!(
            "--host-loopback {}={}: cannot listen on port {} inside: {error}",
            port.host, port.inside, port.inside
        ))
    })
}

/// Relays signals from the channel to the command: signal numbers, a byte each.
fn pass_signals_on(channel: &UnixStream, command: u32) -> Result<(), CliError> {
    let mut channel = channel.try_clone().map_err(CliError::machine)?;
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

/// A running emulator.
pub struct EmulatorThread {
    control: ControlSocket,
    thread: JoinHandle<EmulationResult<()>>,
}

/// The links of several chained networks, the first next to the client.
pub fn chain(networks: &[Network]) -> EmulatedTopology {
    let (first, others) = networks.split_first().expect("the command line demands a network");
    others.iter().fold(EmulatedTopology::of(first), |topology, network| {
        let links = network.up_links().zip(network.down_links());
        links.fold(topology, |topology, (up, down)| topology.beyond(up.clone(), down.clone()))
    })
}

impl EmulatorThread {
    /// Starts it between the two sides of `testbed`. If the emulator fails, the sandbox ends: nothing runs over a
    /// link that is not emulated.
    pub fn start(
        testbed: &Testbed,
        topology: EmulatedTopology,
        seed: u64,
    ) -> Result<EmulatorThread, CliError> {
        let release = Release::suiting(&topology);
        let emulator = testbed.emulator(topology, &chance::RandomSource::new(seed, 0));
        let emulator = emulator.map_err(CliError::machine)?.releasing(release);
        let control = emulator.control();
        let thread = thread::spawn(move || {
            emulator.run().unwrap_or_else(|error| {
                let failure = CliError::machine(error);
                failure.tell();
                process::exit(failure.code() as i32)
            })
        });
        Ok(EmulatorThread { control, thread })
    }

    /// Handle by which other threads query the emulator.
    pub fn control(&self) -> ControlSocket {
        self.control.clone()
    }

    /// Ends it.
    pub fn stop(self) -> Result<EmulationResult<()>, CliError> {
        self.control.stop();
        self.thread.join().map_err(|_| CliError::machine("the emulator's thread panicked"))
    }
}
