//! The threads that serve, one world each, the ports they listen on, and resource limits.

use std::collections::BTreeSet;
use std::io;
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anstream::eprintln;
use chance::RandomSource;
use http_stack::h3::Steering;
use proxy::config::ProxyConfig;
use proxy::journal::{Journal, LogLines, Metrics};
use proxy::serve::{ListenError, PhaseReceiver, PortError, Worker, WorkerParts};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::disable_transparent_huge_pages;
use world::real;

use super::log::LogWriter;
use crate::commands::secret;
use crate::failure::CliError;

/// The worker threads.
pub struct Workers {
    threads: Vec<JoinHandle<bool>>,
    log: Option<JoinHandle<()>>,
    opened: OpenedAddresses,
}

/// Addresses that a worker listens on.
#[derive(Clone, Default)]
struct OpenedAddresses {
    addresses: Vec<SocketAddr>,
    admin: Option<SocketAddr>,
}

/// Inputs of a worker's thread.
struct WorkerStart {
    /// Source of randomness: each thread has its own, unpredictable from outside.
    source: RandomSource,
    orders: PhaseReceiver,
    place: (usize, usize),
    steering: Steering,
    log: Option<LogLines>,
    metrics: Arc<Metrics>,
    all_metrics: Option<Vec<Arc<Metrics>>>,
    start: Duration,
    opened: Option<Vec<SocketAddr>>,
}

impl Workers {
    /// Starts `count` threads. All ports are open when it returns.
    pub fn start(
        count: usize,
        orders: &PhaseReceiver,
        log: Option<&LogWriter>,
        settings: &ProxyConfig,
        start: Duration,
    ) -> Result<Workers, CliError> {
        let metrics: Vec<Arc<Metrics>> = (0..count).map(|_| Arc::default()).collect();
        let steering =
            Steering::new(u16::try_from(count).map_err(|_| {
                CliError::bad_input(format!("{count} workers: the maximum is 65535"))
            })?);
        let mut workers =
            Workers { threads: Vec::new(), log: None, opened: OpenedAddresses::default() };
        for (index, own) in metrics.iter().enumerate() {
            let log = log.map(|log| LogLines {
                format: log.format,
                sender: log.sender.clone(),
                metrics: Arc::clone(own),
                start,
            });
            let is_first = index == 0;
            let (seed, visit) = secret()?;
            let begin = WorkerStart {
                source: RandomSource::new(seed, visit),
                orders: orders.clone(),
                place: (index, count),
                steering: steering.clone(),
                log,
                metrics: Arc::clone(own),
                all_metrics: (is_first && settings.admin.is_some()).then(|| metrics.clone()),
                start,
                opened: (!is_first).then(|| workers.opened.addresses.clone()),
            };
            let (tell, told) = channel();
            let thread = thread::Builder::new().name(format!("worker-{index}"));
            workers
                .threads
                .push(thread.spawn(move || serve(begin, &tell)).map_err(CliError::machine)?);
            let opened = told
                .recv()
                .map_err(|_| CliError::machine("a worker thread exited during startup"))?;
            let opened = opened.map_err(|error| {
                let hint = "the address is in use, or the port requires privileges; choose another address";
                CliError::machine(error).hint(hint.to_owned())
            })?;
            if is_first {
                workers.opened = opened;
            }
        }
        Ok(workers)
    }

    pub fn addresses(&self) -> &[SocketAddr] {
        &self.opened.addresses
    }

    pub fn admin(&self) -> Option<SocketAddr> {
        self.opened.admin
    }

    /// Waits for their end; returns true if all requests were done by then.
    pub fn join(self) -> bool {
        let ends: Vec<bool> =
            self.threads.into_iter().map(|thread| thread.join().unwrap_or(false)).collect();
        if let Some(log) = self.log {
            // The log is complete.
            let _ = log.join();
        }
        ends.into_iter().all(|all_done| all_done)
    }

    /// Waits for the log's writer, too.
    pub fn with_log(self, log: Option<JoinHandle<()>>) -> Workers {
        Workers { log, ..self }
    }
}

fn serve(begin: WorkerStart, tell: &Sender<Result<OpenedAddresses, ListenError>>) -> bool {
    let WorkerStart { source, orders, place, steering, log, metrics, all_metrics, start, opened } =
        begin;
    let config = real::Config::new(source);
    let served = real::run(config, async {
        let journal: Rc<dyn Journal> = Rc::new(log);
        let complain = |complaint: &PortError| eprintln!("warning: {complaint}");
        let parts =
            WorkerParts { orders, place, steering, complain, journal, metrics, all_metrics, start };
        match Worker::open(parts, opened.as_deref()) {
            Ok(worker) => {
                let (addresses, admin) = (worker.addresses(), worker.admin_address());
                // The thread that started this one waits for it.
                let _ = tell.send(Ok(OpenedAddresses { addresses, admin }));
                worker.run().await
            }
            Err(error) => {
                let _ = tell.send(Err(error));
                true
            }
        }
    });
    served.unwrap_or(false)
}

/// Raises the limit of descriptors to its maximum: each connection takes one, and many systems begin with 1,024.
pub fn raise_descriptors() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    // If it cannot be raised, connections beyond it wait to be accepted.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
}

/// Uses pages of 4 KiB, not the huge ones that the allocator asks for: an idle connection has touched only the
/// beginning of each of its buffers, but a huge page is resident as a whole. This saves a third of the memory of
/// such a connection.
pub fn keep_pages_small() {
    // Fails on kernels without huge pages, where there is nothing to disable.
    let _ = disable_transparent_huge_pages(true);
}

// The ports of a running proxy, when its configuration changes: an unavailable port is rejected before any worker
// gets the configuration.

/// The addresses that a configuration names.
pub struct ListenPorts {
    tcp: BTreeSet<SocketAddr>,
    /// Addresses for HTTP/3.
    udp: BTreeSet<SocketAddr>,
}

impl ListenPorts {
    /// The addresses that `settings` listen on.
    pub fn of(settings: &ProxyConfig) -> ListenPorts {
        let listeners = settings.listeners.iter();
        let tcp = listeners.clone().map(|listener| listener.address).collect();
        let quic = listeners.filter(|listener| listener.http3.is_some());
        ListenPorts { tcp, udp: quic.map(|listener| listener.address).collect() }
    }

    /// The addresses that `settings` ask for, if the new ones are available.
    pub fn asked_by(&self, settings: &ProxyConfig) -> Result<ListenPorts, CliError> {
        let asked = ListenPorts::of(settings);
        try_new(&self.tcp, &asked.tcp, false, |address| TcpListener::bind(address).map(drop))?;
        try_new(&self.udp, &asked.udp, true, |address| UdpSocket::bind(address).map(drop))?;
        Ok(asked)
    }
}

/// Checks that the addresses in `asked` that are not `held` are available.
fn try_new(
    held: &BTreeSet<SocketAddr>,
    asked: &BTreeSet<SocketAddr>,
    is_udp: bool,
    bind: impl Fn(SocketAddr) -> io::Result<()>,
) -> Result<(), CliError> {
    // An address whose port we already hold on another address is left to the workers: they share ports, this test
    // does not.
    let is_new = |address: &&SocketAddr| {
        address.port() != 0 && !held.iter().any(|held| held.port() == address.port())
    };
    for address in asked.iter().filter(is_new).copied() {
        bind(address).map_err(|source| {
            let hint =
                "the address is in use, or the port requires privileges; choose another address";
            CliError::machine(ListenError { address, is_udp, source }).hint(hint.to_owned())
        })?;
    }
    Ok(())
}
