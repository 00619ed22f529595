//! One core's share of a proxy.

use std::cell::RefCell;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use http_stack::server::{Acceptor, ClientTimeouts};
use http_stack::timer_wheel::Wheel;
use http_stack::{h1, h3, socks, spdy};
use thiserror::Error;
use tls::{PublicClient, Security};
use tokio::sync::Semaphore;
use world::JoinHandle;

use super::admin::{AdminHandler, ProxyState};
use super::port::{CloseResult, PortService, TcpPort};
use super::port::{ConnectionContext, QuicPort};
use super::{PhaseReceiver, WorkerPhase};
use crate::caching::CacheStore;
use crate::config::{Http3, ListenerSettings, ProxyConfig};
use crate::forward::{Proxy, ProxyHandler, ProxyParts};
use crate::journal::{HitSummary, Journal, LogEntry, Metrics};
use crate::target::Scheme;

/// Maximum number of open client connections per core; more wait to be accepted.
const CONNECTIONS: usize = 10_000;

/// Interval at which a core updates its gauges, and checks for the end of draining.
const UPDATE_INTERVAL: Duration = Duration::from_millis(200);

/// Time at the end for HTTP/3's last packets to leave, and for clients to acknowledge them.
const CLOSE_GRACE: Duration = Duration::from_millis(200);

/// Inputs of a worker.
pub struct WorkerParts {
    /// Its orders.
    pub orders: PhaseReceiver,
    /// Index of the worker and number of workers: it has its share of global limits.
    pub place: (usize, usize),
    /// Steering of HTTP/3 packets to their worker.
    pub steering: h3::Steering,
    /// Callback for ports that could not be opened, or not be closed in order.
    pub complain: fn(&PortError),
    /// Journal of requests, beside its metrics.
    pub journal: Rc<dyn Journal>,
    /// Its own counters.
    pub metrics: Arc<Metrics>,
    /// All cores' counters, if this core answers the operator.
    pub all_metrics: Option<Vec<Arc<Metrics>>>,
    /// Unix time at which the world's clock started.
    pub start: Duration,
}

/// A core's share of a proxy, with open ports.
pub struct Worker {
    parts: WorkerParts,
    ports: Vec<OpenPort>,
    admin: Option<TcpPort<AdminHandler>>,
    /// The proxy for new connections.
    proxy: Rc<RefCell<Rc<Proxy>>>,
    common: WorkerCommon,
    /// Time allowed for requests under way at the end.
    drain: Duration,
}

/// A port, and its configured address, which may leave the port number to the system.
struct OpenPort {
    configured: SocketAddr,
    port: TcpPort<ProxyHandler>,
    /// The same UDP port, if HTTP/3 is spoken.
    quic: Option<QuicPort<ProxyHandler>>,
}

/// State that survives a change of settings.
struct WorkerCommon {
    acceptor: Acceptor,
    wheel: Wheel,
    room: Rc<Semaphore>,
    journal: Rc<dyn Journal>,
    state: Rc<ProxyState>,
    /// Kept alive while the current settings' servers are checked.
    checking: RefCell<Rc<()>>,
}

/// A port that could not be opened.
#[derive(Debug, Error)]
#[error("cannot listen on {address}{}: {source}", if *is_udp { " for HTTP/3 (UDP)" } else { "" })]
pub struct ListenError {
    /// The address.
    pub address: SocketAddr,
    /// True if it is the UDP port.
    pub is_udp: bool,
    /// The cause.
    pub source: io::Error,
}

/// A problem with a port, for the operator.
#[derive(Debug, Error)]
pub enum PortError {
    /// Another program has taken the port since the settings were checked.
    #[error(transparent)]
    Lost(ListenError),
    /// It was closed while clients were about to connect.
    #[error(
        "{address} was closed at once: the kernel cannot let new handshakes wait ({source}), so clients in a handshake were refused"
    )]
    Abrupt {
        /// The address.
        address: SocketAddr,
        /// The cause.
        source: io::Error,
    },
}

/// A journal that counts requests and passes them on.
struct CountingJournal {
    metrics: Arc<Metrics>,
    journal: Rc<dyn Journal>,
}

impl Journal for CountingJournal {
    fn done(&self, entry: &LogEntry) {
        self.metrics.done(entry);
        self.journal.done(entry);
    }

    fn wants_hits(&self) -> bool {
        self.journal.wants_hits()
    }

    fn wants_fields(&self) -> bool {
        self.journal.wants_fields()
    }

    fn hit(&self, brief: HitSummary) {
        self.metrics.hit(brief);
    }

    fn hinted(&self) {
        self.metrics.hinted();
    }
}

impl Worker {
    /// Opens the ports. Where the settings leave a port number to the system and another core has opened it, `opened` has it.
    ///
    /// # Errors
    /// If a port cannot be opened.
    ///
    /// # Panics
    /// If the first phase is [`WorkerPhase::Drain`].
    pub fn open(
        mut parts: WorkerParts,
        opened: Option<&[SocketAddr]>,
    ) -> Result<Worker, ListenError> {
        let WorkerPhase::Serve { settings, tls, store } = parts.orders.current() else {
            panic!("a worker's first phase has something to serve")
        };
        let wheel = Wheel::new();
        let journal = CountingJournal {
            metrics: Arc::clone(&parts.metrics),
            journal: Rc::clone(&parts.journal),
        };
        let common = WorkerCommon {
            acceptor: acceptor(&wheel),
            wheel,
            room: Rc::new(Semaphore::new(CONNECTIONS)),
            journal: Rc::new(journal),
            state: Rc::default(),
            checking: RefCell::default(),
        };
        let proxy = Rc::new(RefCell::new(common.proxy(&settings, tls, store, &parts)));
        let drain = settings.drain;
        let mut worker = Worker { parts, ports: Vec::new(), admin: None, proxy, common, drain };
        for (index, listener) in settings.listeners.iter().enumerate() {
            let address = opened.and_then(|opened| opened.get(index)).copied();
            worker.open_port(address.unwrap_or(listener.address), listener)?;
        }
        if let (Some(cores), Some(admin)) = (worker.parts.all_metrics.clone(), &settings.admin) {
            let (state, address) = (Rc::clone(&worker.common.state), admin.address);
            let handler = AdminHandler::new(cores, state, admin.users.clone(), worker.parts.start);
            let handler = Rc::new(handler);
            let acceptor = worker.common.acceptor.clone();
            let service = PortService { acceptor, handler, balancers: Vec::new() };
            let (room, metrics) = (Rc::new(Semaphore::new(64)), Arc::default());
            let port = TcpPort::open(address, service, &room, &metrics);
            worker.admin =
                Some(port.map_err(|source| ListenError { address, is_udp: false, source })?);
        }
        Ok(worker)
    }

    /// The listening addresses.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.ports.iter().map(|opened| opened.port.address()).collect()
    }

    /// An entrance for requests of our own, as if they came in at `address` in clear text.
    pub fn entrance(&self, address: SocketAddr) -> Rc<ProxyHandler> {
        Rc::new(ProxyHandler::new(&self.proxy.borrow(), Scheme::Http, address))
    }

    /// The operator's address.
    pub fn admin_address(&self) -> Option<SocketAddr> {
        self.admin.as_ref().map(TcpPort::address)
    }

    fn open_port(
        &mut self,
        address: SocketAddr,
        listener: &ListenerSettings,
    ) -> Result<(), ListenError> {
        let service = self.service(address, listener);
        let port = TcpPort::open(address, service, &self.common.room, &self.parts.metrics);
        let port = port.map_err(|source| ListenError { address, is_udp: false, source })?;
        if address.port() == 0 {
            // The proxy's own address includes the port that was picked.
            port.serve(self.service(port.address(), listener));
        }
        let configured = listener.address;
        let quic = listener.http3.as_ref().map(|http3| self.open_quic(port.address(), http3));
        self.ports.push(OpenPort { configured, port, quic: quic.transpose()? });
        Ok(())
    }

    fn open_quic(
        &self,
        address: SocketAddr,
        http3: &Http3,
    ) -> Result<QuicPort<ProxyHandler>, ListenError> {
        let WorkerParts { place: (index, _), steering, metrics, .. } = &self.parts;
        let around = ConnectionContext {
            common: self.common.acceptor.common.clone(),
            room: Rc::clone(&self.common.room),
            metrics: Arc::clone(metrics),
        };
        let worker = u16::try_from(*index).expect("there are fewer threads");
        let (acceptor, handler) = (&http3.acceptor, self.quic_entrance(address));
        let port = QuicPort::open(address, acceptor, handler, (steering, worker), around);
        port.map_err(|source| ListenError { address, is_udp: true, source })
    }

    fn quic_entrance(&self, address: SocketAddr) -> Rc<ProxyHandler> {
        Rc::new(ProxyHandler::new(&self.proxy.borrow(), Scheme::Https, address))
    }

    fn service(
        &self,
        address: SocketAddr,
        listener: &ListenerSettings,
    ) -> PortService<ProxyHandler> {
        let scheme = if listener.tls.is_some() { Scheme::Https } else { Scheme::Http };
        let (tls, socks) = (listener.tls.clone(), self.socks(listener));
        let acceptor = Acceptor { tls, socks, ..self.common.acceptor.clone() };
        let port = address.port();
        let alternative = listener.http3.as_ref().and_then(|http3| http3.alternative(port));
        let entrance =
            ProxyHandler::new(&self.proxy.borrow(), scheme, address).telling(alternative);
        let balancers = listener.balancers.clone();
        PortService { acceptor, handler: Rc::new(entrance), balancers }
    }

    /// Authentication of SOCKS clients: required if there are users.
    fn socks(&self, listener: &ListenerSettings) -> socks::server::SocksAccess {
        let proxy = self.proxy.borrow();
        match (listener.socks, proxy.requires_users()) {
            (false, _) => socks::server::SocksAccess::None,
            (true, false) => socks::server::SocksAccess::Open,
            (true, true) => socks::server::SocksAccess::Guarded(Rc::clone(&proxy) as _),
        }
    }

    /// Serves until it has drained: all requests are done, or the time for them is over. Returns true if all were done.
    pub async fn run(mut self) -> bool {
        drop(world::spawn(update_gauges(Rc::clone(&self.proxy), Arc::clone(&self.parts.metrics))));
        loop {
            match self.parts.orders.changed().await {
                WorkerPhase::Drain => return self.drain().await,
                WorkerPhase::Serve { settings, tls, store } => self.reload(&settings, tls, store),
            }
        }
    }

    /// Serves with other settings. A port that cannot be opened is reported and left out: the others go on working.
    fn reload(
        &mut self,
        settings: &Arc<ProxyConfig>,
        tls: PublicClient,
        store: Option<Arc<CacheStore>>,
    ) {
        self.proxy.replace(self.common.proxy(settings, tls, store, &self.parts));
        self.drain = settings.drain;
        let mut before = std::mem::take(&mut self.ports);
        for listener in &settings.listeners {
            let same = before.iter().position(|opened| {
                [opened.configured, opened.port.address()].contains(&listener.address)
            });
            match same.map(|index| before.remove(index)) {
                Some(opened) => self.keep(opened, listener),
                None => {
                    if let Err(lost) = self.open_port(listener.address, listener) {
                        (self.parts.complain)(&PortError::Lost(lost));
                    }
                }
            }
        }
        let (closing, _) = close(before);
        drop(world::spawn(closed(closing, self.parts.complainer())));
    }

    /// Keeps a port open with `listener`'s settings.
    fn keep(&mut self, mut opened: OpenPort, listener: &ListenerSettings) {
        let address = opened.port.address();
        if let Some(http3) = &listener.http3 {
            match &opened.quic {
                Some(quic) => quic.serve(&http3.acceptor, self.quic_entrance(address)),
                None => match self.open_quic(address, http3) {
                    Ok(quic) => opened.quic = Some(quic),
                    Err(lost) => (self.parts.complain)(&PortError::Lost(lost)),
                },
            }
        } else if let Some(quic) = opened.quic.take() {
            quic.close();
        }
        opened.port.serve(self.service(address, listener));
        self.ports.push(opened);
    }

    async fn drain(self) -> bool {
        self.common.state.is_draining.set(true);
        let (closing, quic) = close(self.ports);
        let deadline = world::now() + self.drain;
        self.common.acceptor.drain();
        // Ports complete handshakes under way first.
        closed(closing, self.parts.complainer()).await;
        let all_done = loop {
            if self.common.room.available_permits() == CONNECTIONS {
                break true;
            }
            if world::now() >= deadline {
                break false;
            }
            world::sleep(UPDATE_INTERVAL).await;
        };
        // Over TCP the kernel closes connections; over UDP this must be done here.
        let closing = async {
            for port in &quic {
                port.cut().await;
            }
        };
        let _ = world::timeout(CLOSE_GRACE, closing).await;
        all_done
    }
}

impl WorkerParts {
    /// Callback for problems common to all workers: only the first worker reports them.
    fn complainer(&self) -> Option<fn(&PortError)> {
        (self.place.0 == 0).then_some(self.complain)
    }
}

/// Ports being closed.
type Closing = Vec<(SocketAddr, JoinHandle<CloseResult>)>;

/// Closes ports; UDP ports still have connections to end.
fn close(ports: Vec<OpenPort>) -> (Closing, Vec<QuicPort<ProxyHandler>>) {
    let (mut closing, mut quic) = (Vec::new(), Vec::new());
    for opened in ports {
        opened.quic.iter().for_each(QuicPort::close);
        quic.extend(opened.quic);
        closing.push((opened.port.address(), opened.port.close()));
    }
    (closing, quic)
}

/// Waits until all are closed; reports those that could not be closed in order.
async fn closed(closing: Closing, complain: Option<fn(&PortError)>) {
    for (address, port) in closing {
        if let (Err(source), Some(complain)) = (port.await, complain) {
            complain(&PortError::Abrupt { address, source });
        }
    }
}

impl WorkerCommon {
    fn proxy(
        &self,
        settings: &Arc<ProxyConfig>,
        tls: PublicClient,
        store: Option<Arc<CacheStore>>,
        parts: &WorkerParts,
    ) -> Rc<Proxy> {
        let (wheel, journal) = (self.wheel.clone(), Rc::clone(&self.journal));
        self.state.store.replace(store.clone());
        self.state.partitions.replace(settings.reverse.iter().map(|site| site.partition).collect());
        let ((index, count), start) = (parts.place, parts.start);
        let upstream = settings.upstream.share(index, count);
        let settings = Arc::new(ProxyConfig { upstream, ..ProxyConfig::clone(settings) });
        let sites = settings.reverse.iter();
        let sites = sites.map(|site| (Arc::clone(&site.origins), Arc::clone(&site.health)));
        self.state.sites.replace(sites.collect());
        let inside = self.acceptor.clone();
        let proxy = Proxy::new(settings, ProxyParts { tls, store, wheel, inside, journal, start });
        // The results of one core's checks hold for all.
        if index == 0 {
            self.checking.replace(Rc::new(()));
            proxy.check_servers(&self.checking.borrow());
        }
        proxy
    }
}

/// An acceptor of all protocols, with timeouts for every client.
fn acceptor(wheel: &Wheel) -> Acceptor {
    let settings = h1::server::Settings { half_closed_clients: false, ..Default::default() };
    let core = h1::server::Core::new(settings, wheel.clone());
    let (wheel, patience) = (wheel.clone(), Some(ClientTimeouts::default()));
    Acceptor {
        h1: Rc::new(core),
        common: http_stack::server::SharedServerState { wheel, patience, ..Default::default() },
        spdy_in_clear: Some(spdy::Version::V31),
        ..Acceptor::new(Security::None)
    }
}

/// Updates the core's gauges periodically.
async fn update_gauges(proxy: Rc<RefCell<Rc<Proxy>>>, metrics: Arc<Metrics>) {
    loop {
        let count = proxy.borrow().upstream().count();
        let gauges = metrics.gauges();
        for (gauge, number) in [
            (&gauges.origins, count.open),
            (&gauges.origins_idle, count.idle),
            (&gauges.waiting, count.waiting),
        ] {
            gauge.store(number as u64, Ordering::Relaxed);
        }
        world::sleep(UPDATE_INTERVAL).await;
    }
}
