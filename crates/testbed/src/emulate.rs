//! Runs one journey in the emulated world: the machine's time, the kernel's TCP, the simulator's links.
//!
//! ```text
//!   farlink: Emulation           orders a journey, gets its records; judges whether the emulator was on time
//!     supervisor                 first process of a sandbox: namespaces, emulator, what crossed the links
//!       client                   the loader in a client's network namespace: the same tour as in simulation; one or several
//!       proxy                    the proxy in a namespace of its own, if the route has one
//!       pep-near, pep-far        the halves of a PEP, likewise
//!       servers                  the origins in the servers' namespace
//! ```
//!
//! Each journey has a sandbox of its own; nothing is left of it. Loads may run in parallel as far as the
//! processors allow: a journey with late packet deliveries, or whose loader and servers wait for a processor for a
//! quarter of the time, is emulated again, and fails if that happens repeatedly. It never yields times that are not
//! the network's.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use chance::RandomSource;
use emu::EmulatedTopology;
use net::Network;
use scenario::{ResolverPlace, RouteKind, Scenario};
use world::real::{self, Recording, Sampling};
use world::report::Endpoint;

use crate::tour::{self, Detail, Ready, Resolver};

mod capture;
mod chromium;
mod client;
mod executor;
mod messages;
mod server;
mod supervisor;

use ::chromium::ChromiumError;
use messages::{Channel, ChannelError, FromClient, Prepared, StartSignal};

pub use capture::Frame;
pub use executor::{Emulation, Tell};

/// Role of a process in an emulated journey.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The first process of the sandbox.
    Supervisor,
    /// The loader.
    Client,
    /// The driver of a real browser.
    Chromium,
    /// The origins.
    Servers,
    /// The proxy between both.
    Proxy,
    /// The half of a PEP on the clients' side.
    PepNear,
    /// The half of a PEP beyond the network.
    PepFar,
}

impl Role {
    /// All roles.
    pub const ALL: [Role; 7] = [
        Role::Supervisor,
        Role::Client,
        Role::Chromium,
        Role::Servers,
        Role::Proxy,
        Role::PepNear,
        Role::PepFar,
    ];

    /// Its name, which [`work`]'s caller gets from the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Role::Supervisor => "supervisor",
            Role::Client => "client",
            Role::Chromium => "chromium",
            Role::Servers => "servers",
            Role::Proxy => "proxy",
            Role::PepNear => "pep-near",
            Role::PepFar => "pep-far",
        }
    }

    /// Arguments that make farlink take this role: a hidden command.
    fn arguments(self) -> [&'static str; 2] {
        [COMMAND, self.name()]
    }
}

/// The hidden command with which farlink starts itself in one of the [roles](Role).
pub const COMMAND: &str = "emulated";

/// Works as a process of an emulated journey, until the journey is over. `program` is this executable. Must be
/// called before any thread is started.
///
/// # Errors
/// One sentence; the parent process is told as well.
pub fn work(role: Role, program: &Path) -> Result<(), String> {
    let done = match role {
        Role::Supervisor => {
            return supervisor::supervise(program).map_err(|error| error.to_string());
        }
        Role::Client => as_client(client::load),
        Role::Chromium => as_client(chromium::load),
        Role::Servers => supervisor().and_then(server::serve_origins),
        Role::Proxy => supervisor().and_then(server::serve_proxy),
        Role::PepNear => supervisor().and_then(server::serve_near_pep),
        Role::PepFar => supervisor().and_then(server::serve_far_pep),
    };
    done.map_err(|error| error.to_string())
}

/// Channel to the supervisor, for a node that yields to the emulator.
fn supervisor() -> Result<Channel, NodeError> {
    kernel::give_way();
    let stream = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    Ok(Channel::new(stream)?)
}

/// Runs a client's job and reports a failure to the supervisor.
fn as_client(job: fn(Channel) -> Result<(), NodeError>) -> Result<(), NodeError> {
    let mut told = supervisor()?;
    supervisor()
        .and_then(job)
        .or_else(|error| Ok(told.send(&FromClient::Failed(error.to_string()))?))
}

/// The network of a scenario with all its clients, its proxy, and the extra distance of some of its hosts.
fn topology(scenario: &Scenario, ready: &Ready, network: &Network) -> EmulatedTopology {
    let hosts = ready.page.hosts.iter().zip(ready.page.machines()).enumerate();
    let machines = hosts.filter(|(index, (_, machine))| index == machine);
    let extra =
        machines.filter_map(|(index, (host, _))| Some((index, tour::extra_delay(scenario, host)?)));
    let shared = EmulatedTopology::of(network).shared_by(scenario.clients.users());
    let servers = (0..ready.page.hosts.len()).map(tour::origin_address);
    let reached = match tour::stretch(scenario) {
        None => shared,
        Some(links) => match scenario.route.kind {
            RouteKind::Direct => shared.stretched(servers, tour::STRETCH, &links),
            RouteKind::Proxy | RouteKind::CachingProxy | RouteKind::Socks => {
                shared.proxied(servers, tour::STRETCH, &links)
            }
            RouteKind::Pep => {
                let near = tour::near_link(scenario);
                shared.split(servers, (tour::NEAR_LINK, &near), (tour::STRETCH, &links))
            }
        },
    };
    let origins = extra.fold(reached, |topology, (index, link)| {
        let [up, down] = tour::link_names(index);
        topology.farther(tour::origin_address(index), &up, link.clone(), &down, link)
    });
    match tour::Resolver::of(scenario, &ready.page) {
        Some(Resolver { address, place: ResolverPlace::FirstHop, .. }) => {
            origins.at_first_hop(address.ip())
        }
        Some(_) | None => origins,
    }
}

/// Tells the supervisor that this node can begin, or the reason why not.
fn tell_prepared<T>(supervisor: &mut Channel, prepared: Result<T, String>) -> Result<T, NodeError> {
    match prepared {
        Ok(prepared) => {
            supervisor.send(&Prepared::Ready)?;
            Ok(prepared)
        }
        Err(reason) => {
            supervisor.send(&Prepared::Failed(reason.clone()))?;
            Err(NodeError::Scenario(reason))
        }
    }
}

/// The ends of all connections in this node's world so far.
fn endpoints() -> Vec<Endpoint> {
    real::report().map_or_else(Vec::new, |report| report.endpoints)
}

/// The world of a node: its clock starts with the emulator's.
fn world_config(source: RandomSource, begin: &StartSignal, detail: Detail) -> real::Config {
    let recording = match detail {
        Detail::Records | Detail::Bodies => Recording::Endpoints,
        Detail::Packets | Detail::Film => Recording::Series(Sampling::default()),
    };
    let began = Some(Duration::from_nanos(begin.began_ns));
    real::Config { began, recording, ..real::Config::new(source) }
}

/// Failure of a journey's sandbox.
#[derive(Debug, thiserror::Error)]
enum EmulationError {
    /// Namespaces, interfaces or the emulator.
    #[error(transparent)]
    Emulator(#[from] emu::Error),
    /// The kernel does not have a setting that the scenario asks for, or refused it.
    #[error(transparent)]
    Kernel(#[from] kernel::UnsupportedKnobsError),
    /// The page or the network cannot be read.
    #[error("{0}")]
    Scenario(String),
    /// One end of the network failed.
    #[error("the {} of the emulated journey failed: {}", .0.name(), .1)]
    Node(Role, String),
    /// farlink's own socket pairs failed.
    #[error("failed to speak between processes: {0}")]
    Channel(io::Error),
    /// The process that ordered the journey is gone or sent an unknown message.
    #[error("failed to speak to farlink: {0}")]
    Owner(ChannelError),
}

impl EmulationError {
    fn channel(error: io::Error) -> EmulationError {
        EmulationError::Channel(error)
    }

    fn owner(error: ChannelError) -> EmulationError {
        EmulationError::Owner(error)
    }
}

/// Failure of one end of the network.
#[derive(Debug, thiserror::Error)]
enum NodeError {
    /// The supervisor is gone or sent an unknown message.
    #[error("failed to speak to the supervisor: {0}")]
    Supervisor(#[from] ChannelError),
    /// The page or the network cannot be read.
    #[error("{0}")]
    Scenario(String),
    /// The browser.
    #[error(transparent)]
    Chromium(#[from] ChromiumError),
    /// The kernel does not report the browser's connections.
    #[error(transparent)]
    Follower(#[from] kernel::Error),
    /// The kernel refused a socket.
    #[error("failed to listen or to run: {0}")]
    Io(#[from] io::Error),
}
