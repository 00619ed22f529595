//! The first process of an emulated journey's sandbox: builds the network, starts both ends, collects the measurements.

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use chance::RandomSource;
use emu::sandbox::{RunAs, Supervisor};
use emu::{
    AccessSide, ControlSocket, EmulatedTopology, NetNamespace, Snapshot, Testbed, TestbedConfig,
    Wire,
};
use record::EmulationRecord;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::capture::SharedPassages;
use super::capture::{Capture, Frame};
use super::messages::{
    AskServers, DroppedPacket, Emulated, FromClient, JourneyOrder, LinkDone, ListeningSignal,
    NetworkReport, Prepared, RadioDone, ServerReport, Settle, StartSignal, SupervisorAnswer,
};
use super::messages::{Channel, ChannelError};
use super::{EmulationError, Role};
use crate::tour::{self, Course, Library};
use scenario::{Program, Release, RouteKind, Scenario, Tcp, Transport};

/// Emulates the journey that farlink orders over the channel, and answers there. `program` is started for the nodes.
pub(super) fn supervise(program: &Path) -> Result<(), EmulationError> {
    let mut supervisor = Supervisor::enter()?;
    let stream = supervisor.channel().try_clone().map_err(EmulationError::channel)?;
    let mut owner = Channel::new(stream).map_err(EmulationError::channel)?;
    let order = owner.receive().map_err(EmulationError::owner)?;
    let answer = match emulate(&mut supervisor, program, &order) {
        Ok(emulated) => SupervisorAnswer::Emulated(Box::new(emulated)),
        Err(error) => SupervisorAnswer::Failed(error.to_string()),
    };
    owner.send(&answer).map_err(EmulationError::owner)
}

fn emulate(
    supervisor: &mut Supervisor,
    program: &Path,
    order: &JourneyOrder,
) -> Result<Emulated, EmulationError> {
    let topology = topology(order)?;
    let testbed = testbed(&topology, &order.scenario, order.wire)?;
    let mut servers = servers(program, &testbed, order)?;
    let mut clients = clients(program, &testbed, order)?;
    for server in &mut servers {
        server.prepared()?;
    }
    for client in &mut clients {
        client.prepared()?;
        client.send(&Settle { files: files(supervisor, client.role)? })?;
        client.prepared()?;
    }

    let emulation = RunningEmulator::start(topology, order, &testbed)?;
    let begin = StartSignal { began_ns: emulation.began_ns };
    for server in &mut servers {
        server.send(&begin)?;
        let ListeningSignal = server.receive()?;
    }
    for client in &mut clients {
        client.send(&begin)?;
    }
    // The cross-traffic client has nothing to report.
    clients.truncate(order.scenario.clients.count as usize);
    let wait = ProcessorWait::begin(servers.iter().chain(&clients));
    let mut journey = attend_all(&mut clients, &mut servers, &emulation)?;
    journey.invalid = wait.excess();
    if order.detail.is_watched() {
        journey.endpoints.extend(ask(&mut servers)?.endpoints);
    }
    emulation.finish(journey)
}

/// Starts the servers' node, and those of the proxy or PEP in front of them, the farthest from clients first.
fn servers(
    program: &Path,
    testbed: &Testbed,
    order: &JourneyOrder,
) -> Result<Vec<Node>, EmulationError> {
    let origins = (Role::Servers, testbed.namespace(AccessSide::Server));
    let between = match order.scenario.route.kind {
        RouteKind::Direct => Vec::new(),
        RouteKind::Proxy | RouteKind::CachingProxy | RouteKind::Socks => {
            vec![(Role::Proxy, testbed.proxy())]
        }
        RouteKind::Pep => {
            let [near, far] = testbed.halves();
            vec![(Role::PepFar, far), (Role::PepNear, near)]
        }
    };
    let all = std::iter::once(origins).chain(between);
    all.map(|(role, namespace)| Node::start(program, role, namespace, order)).collect()
}

/// Starts a node for each of the scenario's clients, and for cross traffic.
fn clients(
    program: &Path,
    testbed: &Testbed,
    order: &JourneyOrder,
) -> Result<Vec<Node>, EmulationError> {
    let role = match order.scenario.client.program {
        Program::Loader => Role::Client,
        Program::Chromium => Role::Chromium,
    };
    let start = |client| {
        let order = JourneyOrder { client, ..order.clone() };
        Node::start(program, role, testbed.client(client), &order)
    };
    (0..order.scenario.clients.users()).map(start).collect()
}

/// Serves all clients concurrently until each is done; returns their measurements in the order of their numbers.
fn attend_all(
    clients: &mut [Node],
    servers: &mut [Node],
    emulation: &RunningEmulator,
) -> Result<Emulated, EmulationError> {
    let servers = &Mutex::new(servers);
    let done = thread::scope(|scope| {
        let attended: Vec<_> = clients
            .iter_mut()
            .map(|client| scope.spawn(move || attend(client, servers, emulation)))
            .collect();
        let done = attended.into_iter().map(|one| match one.join() {
            Ok(done) => done,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        done.collect::<Result<Vec<Emulated>, EmulationError>>()
    })?;
    Ok(done.into_iter().fold(Emulated::default(), |mut all, one| {
        all.visits.extend(one.visits);
        all.endpoints.extend(one.endpoints);
        all.notes.extend(one.notes);
        all.shown.extend(one.shown);
        all.bodies.extend(one.bodies);
        all
    }))
}

/// Directory in which the client may write files. Created only after all nodes have read their files: its mount
/// hides some of the machine's.
fn files(supervisor: &mut Supervisor, client: Role) -> Result<Option<PathBuf>, EmulationError> {
    match client {
        Role::Chromium => Ok(Some(supervisor.temporary_directory()?.to_owned())),
        _ => Ok(None),
    }
}

/// Answers a client's queries until it is done.
fn attend(
    client: &mut Node,
    servers: &Mutex<&mut [Node]>,
    emulation: &RunningEmulator,
) -> Result<Emulated, EmulationError> {
    loop {
        match client.receive()? {
            FromClient::Ask => {
                let control = &emulation.control;
                let (snapshot, drops) = (control.snapshot()?, control.drops(0)?);
                let links = snapshot.links.into_iter().map(|link| {
                    let emu::EmulatedLinkReport { stats, delivered_bytes, busy_periods, .. } = link;
                    LinkDone { stats, delivered_bytes, busy_periods }
                });
                let links = links.collect();
                let drops = drops.into_iter().map(DroppedPacket::from).collect();
                let sent_again = emulation.passages.sent_again();
                let servers = ask(&mut servers.lock().unwrap_or_else(PoisonError::into_inner))?;
                let radios = snapshot.radios.into_iter().map(|radio| {
                    let emu::EmulatedRadioReport { transitions, energy, tail } = radio;
                    RadioDone { transitions, energy, tail }
                });
                let radios = radios.collect();
                client.send(&NetworkReport { links, radios, drops, sent_again, servers })?;
            }
            FromClient::Done { visits, endpoints, notes, shown, bodies } => {
                let done =
                    Emulated { visits, endpoints, notes, shown, bodies, ..Emulated::default() };
                return Ok(done);
            }
            FromClient::Failed(reason) => return Err(EmulationError::Node(client.role, reason)),
        }
    }
}

/// State of the servers so far.
fn ask(servers: &mut [Node]) -> Result<ServerReport, EmulationError> {
    servers.iter_mut().try_fold(ServerReport::default(), |all, server| {
        server.send(&AskServers)?;
        Ok(all.and(server.receive()?))
    })
}

/// Time that the loader and the servers waited for a processor.
struct ProcessorWait {
    processes: Vec<u32>,
    before: Duration,
    began: Duration,
}

impl ProcessorWait {
    /// The largest valid share of a journey's time. Up to it, two busy neighbours on two processors changed load times by at most 1.5 %.
    const LARGEST_SHARE: f64 = 0.25;

    /// Begins to count. A browser's processes are not counted: they share processors on a user's machine as well.
    fn begin<'n>(nodes: impl Iterator<Item = &'n Node>) -> ProcessorWait {
        let own = nodes.filter(|node| node.role != Role::Chromium);
        let processes: Vec<u32> = own.map(|node| node.process).collect();
        let before = processor_wait(&processes);
        ProcessorWait { processes, before, began: kernel::monotonic() }
    }

    /// Reason why the journey is invalid, if they waited too long.
    fn excess(&self) -> Option<String> {
        let waited = processor_wait(&self.processes).saturating_sub(self.before);
        let span = kernel::monotonic() - self.began;
        (waited > span.mul_f64(ProcessorWait::LARGEST_SHARE)).then(|| {
            format!(
                "the loader and the servers waited for a processor for {:.2} s of {:.2} s",
                waited.as_secs_f64(),
                span.as_secs_f64()
            )
        })
    }
}

fn processor_wait(processes: &[u32]) -> Duration {
    processes.iter().map(|process| kernel::processor_wait(*process)).sum()
}

/// A process in the network namespace of one end.
struct Node {
    role: Role,
    process: u32,
    channel: Channel,
}

impl Node {
    /// Starts it and sends it the journey. It ends with the sandbox.
    fn start(
        program: &Path,
        role: Role,
        namespace: &NetNamespace,
        order: &JourneyOrder,
    ) -> Result<Node, EmulationError> {
        let (near, far) = UnixStream::pair().map_err(EmulationError::channel)?;
        let mut command = Command::new(program);
        command.args(role.arguments()).stdin(OwnedFd::from(far));
        let process = namespace.start(&mut command, RunAs::Root)?.id();
        let channel = Channel::new(near).map_err(EmulationError::channel)?;
        let mut node = Node { role, process, channel };
        node.send(order)?;
        Ok(node)
    }

    /// Waits until it has read its inputs.
    fn prepared(&mut self) -> Result<(), EmulationError> {
        match self.receive()? {
            Prepared::Ready => Ok(()),
            Prepared::Failed(reason) => Err(EmulationError::Node(self.role, reason)),
        }
    }

    fn send(&mut self, message: &impl Serialize) -> Result<(), EmulationError> {
        self.channel.send(message).map_err(|error| self.failed(&error))
    }

    fn receive<T: DeserializeOwned>(&mut self) -> Result<T, EmulationError> {
        self.channel.receive().map_err(|error| self.failed(&error))
    }

    fn failed(&self, error: &ChannelError) -> EmulationError {
        EmulationError::Node(self.role, error.to_string())
    }
}

/// Result of the emulator.
type EmulatorResult = (Snapshot, Vec<Frame>);

/// The running emulator.
struct RunningEmulator {
    control: ControlSocket,
    passages: SharedPassages,
    thread: JoinHandle<Result<EmulatorResult, emu::Error>>,
    began_ns: u64,
}

impl RunningEmulator {
    /// Starts it in this process.
    fn start(
        topology: EmulatedTopology,
        order: &JourneyOrder,
        testbed: &Testbed,
    ) -> Result<RunningEmulator, EmulationError> {
        let source = RandomSource::new(order.seed, 0);
        let watched = order.detail.is_watched();
        let passages = SharedPassages::default();
        let observer = (passages.clone(), watched.then(Capture::default));
        let release = match order.scenario.release {
            Release::Single => emu::Release::Exact,
            Release::Coalesced => emu::Release::THRIFTY,
        };
        let emulator = testbed.emulator(topology, &source)?;
        let emulator = emulator.releasing(release).observed_by(observer);
        let (control, began) = (emulator.control(), emulator.clock().began());
        let thread = thread::spawn(move || {
            let account = emulator.run()?;
            Ok((account.snapshot, account.observer.1.map_or_else(Vec::new, |capture| capture.0)))
        });
        let began_ns = u64::try_from(began.as_nanos()).unwrap_or(u64::MAX);
        Ok(RunningEmulator { control, passages, thread, began_ns })
    }

    /// Stops it and reports its punctuality.
    fn finish(self, journey: Emulated) -> Result<Emulated, EmulationError> {
        self.control.stop();
        let (snapshot, frames) = join(self.thread)?;
        let nanos = |span: Duration| u64::try_from(span.as_nanos()).unwrap_or(u64::MAX);
        let late = snapshot.punctuality;
        let punctuality = EmulationRecord {
            delivered_packets: late.packets,
            late_p50_ns: nanos(late.p50),
            late_p99_ns: nanos(late.p99),
            late_max_ns: nanos(late.max),
            realtime: snapshot.realtime,
            attempts: 1,
            kernel: kernel_release(),
        };
        let invalid = journey.invalid.or(snapshot.check().err().map(|why| why.to_string()));
        let notes = journey.notes.into_iter().chain(note(snapshot.wire)).collect();
        let began_ns = self.began_ns;
        Ok(Emulated { began_ns, punctuality, invalid, frames, notes, ..journey })
    }
}

fn join(
    thread: JoinHandle<Result<EmulatorResult, emu::Error>>,
) -> Result<EmulatorResult, emu::Error> {
    thread.join().map_err(|_| emu::Error::Panicked("emulator"))?
}

/// A note on the wires for readers.
fn note(wire: Wire) -> Option<String> {
    match wire {
        Wire::Veth => None,
        Wire::Tap => Some(
            "the emulator's wires were TAP devices instead of veth: what a program or a timer sent entered its link when it was read, \
             later by a wake-up of the emulator"
                .to_owned(),
        ),
    }
}

/// `uname -r`
fn kernel_release() -> String {
    let text = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    text.trim().to_owned()
}

/// The namespaces.
fn testbed(
    topology: &EmulatedTopology,
    scenario: &Scenario,
    wire: Option<Wire>,
) -> Result<Testbed, EmulationError> {
    let settings = |tcp: &Tcp| kernel::KernelKnobs::for_config(&remembering(tcp, scenario));
    let Transport { client, server } = &*scenario.transport;
    let tcp = Some([settings(client)?, settings(server)?]);
    let has_pep = scenario.route.has_pep();
    let halves_tcp = has_pep.then(|| kernel::KernelKnobs::for_config(&tour::leg_tcp(scenario)));
    let halves_tcp = halves_tcp.transpose()?;
    let (mtu, clients, between) = (topology.mtu(), topology.clients(), topology.intermediary());
    Ok(Testbed::build(TestbedConfig { mtu, clients, between, tcp, halves_tcp, wire })?)
}

/// TCP's settings with as much metrics memory as the journey keeps: the kernel cannot be told to forget between
/// visits, only to save nothing.
fn remembering(tcp: &Tcp, scenario: &Scenario) -> tcp::Config {
    let mut config = tcp.config().clone();
    if scenario.visits_each() > 1 && !Course::keeps_metrics(scenario) {
        config.metrics = tcp::MetricsUse::Off;
    }
    config
}

/// The network between both ends.
fn topology(order: &JourneyOrder) -> Result<EmulatedTopology, EmulationError> {
    let library = Library::default();
    let scenario = &order.scenario;
    let open = || -> Result<EmulatedTopology, String> {
        let ready = library.ready(scenario)?;
        Ok(super::topology(scenario, &ready, &library.network_of(scenario)?))
    };
    open().map_err(EmulationError::Scenario)
}
