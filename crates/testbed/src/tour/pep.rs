//! The scenario's performance enhancing proxy: farlink's own, configured by the route, with its halves at the
//! two ends of the scenario's network.
//!
//! ```text
//!   client --- near link --- near end === network (the leg) === far end --- stretch --- hosts
//! ```
//!
//! The near end takes over connections that clients open to the page's hosts: it listens at the hosts' own
//! addresses. All other traffic of clients bypasses it. The leg is established before the journey begins.
//!
//! Left out: compression on the leg, since the sizes of a page's bodies are already those of a transfer.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use browser::HostStack;
use net::{LinkConfig, Network, ProcessingJitter, QueueLimit};
use page::Page;
use pep::http::{PageCompression, PrefetchSettings as Fetching};
use pep::leg::{Fec, LegQuic, LegTransport};
use pep::{ForwardTarget, LegAcceptor, LegConnector, Local, PrivateKey, Remote, local, remote};
use quic::Transport;
use record::{EventKind, PepCounters, TcpEvent};
use units::{BitsPerSec, Time};
use world::TcpListener;
use world::report::Endpoint;

use scenario::{Noise, Prefetch, Scenario, Sight};

/// The links between clients and the near end; the names key their random streams.
pub(crate) const NEAR_LINK: [&str; 2] = ["near/up", "near/down"];

/// A local network: fast compared with any satellite, and with a rate, so that a burst takes its time.
const NEAR_RATE: BitsPerSec = BitsPerSec::mbit(100);
const NEAR_QUEUE: QueueLimit = QueueLimit::Packets(1000);

/// Port on which the far end listens for the near one.
const PORT: u16 = 9400;

/// Fixed seeds: a scenario's leg is never attacked, and its keys must be reproducible.
const NEAR_SEED: [u8; 32] = [1; 32];
const FAR_SEED: [u8; 32] = [2; 32];

/// Time limit of establishing a leg: its handshakes are lost like other packets.
const STANDING: Duration = Duration::from_secs(300);

/// Addresses of a scenario's PEP, if it has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PepPlace {
    /// The address behind the last client's.
    pub(crate) near: IpAddr,
    /// The next one.
    pub(crate) far: IpAddr,
}

impl PepPlace {
    /// Addresses of a scenario's PEP.
    pub(crate) fn of(scenario: &Scenario) -> Option<PepPlace> {
        let users = scenario.clients.users();
        let place = PepPlace {
            near: super::course::address(users),
            far: super::course::address(users + 1),
        };
        scenario.route.has_pep().then_some(place)
    }

    fn far_port(self) -> SocketAddr {
        SocketAddr::new(self.far, PORT)
    }
}

/// Round trips to establish a leg, with some to spare: its handshake, its keys, and retransmissions.
const ROUND_TRIPS_OF_START: u32 = 6;

/// Link between clients and the near end, in each direction.
pub(crate) fn near_link(scenario: &Scenario) -> LinkConfig {
    let mut link = LinkConfig::new(NEAR_RATE, scenario.route.pep.near_rtt() / 2, NEAR_QUEUE);
    if scenario.noise == Noise::On {
        link.processing_jitter = ProcessingJitter::UpToOneSerialisation;
    }
    link
}

/// TCP settings of both halves.
pub(crate) fn leg_tcp(scenario: &Scenario) -> tcp::Config {
    scenario.route.pep.leg_tcp(scenario.transport.server.config())
}

/// Transport of its leg: TCP as in the halves' nodes, or QUIC with matching settings.
fn leg_over(scenario: &Scenario) -> LegTransport {
    let turned = &scenario.route.pep;
    let fec = turned.fec.map(|every| Fec { every, counts: Arc::default() });
    match turned.is_over_quic() {
        true => {
            LegTransport::Quic(LegQuic { transport: Transport::matching(&leg_tcp(scenario)), fec })
        }
        false => LegTransport::Tcp,
    }
}

/// Checks that a scenario's PEP fits: that its network has two ends, and the page has the hosts that are to bypass it.
///
/// # Errors
/// One sentence.
pub(super) fn check(scenario: &Scenario, page: &Page, network: &Network) -> Result<(), String> {
    if let Some(radio) = network.radio.as_ref().filter(|radio| !radio.is_terminals()) {
        return Err(format!(
            "radio={} is a client's own, and a PEP's near end stands between clients and the network: use a satellite terminal's, dama or leo, or none",
            radio.name
        ));
    }
    let is_known = |host: &String| page.hosts.iter().any(|its| its.name.eq_ignore_ascii_case(host));
    let unknown = scenario.route.pep.bypass.iter().find(|host| !is_known(host));
    unknown.map_or(Ok(()), |host| {
        Err(format!("the page has no host `{host}` that a PEP could pass by (bypass)"))
    })
}

/// Lead of its start before the clients, behind a terminal: its leg is then established, and the terminal idle again.
pub(super) fn lead(scenario: &Scenario, network: &Network) -> Duration {
    let Some(radio) = network.radio.as_ref().filter(|_| scenario.route.has_pep()) else {
        return Duration::ZERO;
    };
    ROUND_TRIPS_OF_START * (network.rtt() + radio.least_first_wait()) + radio.longest_tail()
}

/// The half on the clients' side, before it starts.
pub(crate) struct NearEnd {
    settings: local::NearSettings,
    hosts: BTreeSet<SocketAddr>,
}

impl NearEnd {
    /// The near end of a scenario whose page's hosts have these arms.
    pub(crate) fn of(scenario: &Scenario, page: &Page, arms: &[HostStack]) -> Option<NearEnd> {
        let place = PepPlace::of(scenario)?;
        let names = || super::hosts(page, scenario.origin_addresses);
        let hosts = names().zip(arms).map(|((_, address), arm)| SocketAddr::new(address, arm.port));
        let turned = &scenario.route.pep;
        let bypass = names().filter(|(name, _)| turned.bypass.contains(&name.to_ascii_lowercase()));
        let mut settings = local::NearSettings::new(place.far_port());
        settings.channels = turned.channels() as usize;
        settings.leg.over = leg_over(scenario);
        settings.bypass = bypass.map(|(_, address)| address.into()).collect();
        if turned.prefetch() == Prefetch::Off {
            settings.http_ports.clear();
        }
        Some(NearEnd { settings, hosts: hosts.collect() })
    }

    /// Serves, and registers with `log`; returns once the leg is established.
    ///
    /// # Errors
    /// If it cannot listen, or the leg cannot be established.
    pub(crate) async fn start(self, log: &PepLog) -> io::Result<()> {
        let (near, far) = keys();
        let local = Local::start(self.settings, &LegConnector::new(&near, far.public()));
        for host in self.hosts {
            let listener = TcpListener::bind_transparent(host)?;
            drop(world::spawn(Rc::clone(&local).serve(listener, ForwardTarget::Fixed(host))));
        }
        world::timeout(STANDING, local.stood()).await.map_err(|_| {
            let message = format!("the PEP's leg did not come to stand in {STANDING:?}");
            io::Error::new(io::ErrorKind::TimedOut, message)
        })?;
        *log.0.borrow_mut() = Some(local);
        Ok(())
    }
}

/// The half beyond the network, before it starts.
pub(crate) struct FarEnd {
    settings: remote::FarSettings,
    listen: SocketAddr,
}

impl FarEnd {
    /// The far end of a scenario.
    pub(crate) fn of(scenario: &Scenario) -> Option<FarEnd> {
        let place = PepPlace::of(scenario)?;
        let depth = match scenario.route.pep.prefetch() {
            Prefetch::Off => 0,
            Prefetch::Depth(depth) => depth,
        };
        let http = Fetching { depth, compression: PageCompression::None, ..Fetching::default() };
        let mut settings = remote::FarSettings { http, ..remote::FarSettings::default() };
        settings.leg.over = leg_over(scenario);
        Some(FarEnd { settings, listen: place.far_port() })
    }

    /// Starts to serve.
    ///
    /// # Errors
    /// If it cannot listen.
    pub(crate) fn start(self) -> io::Result<Rc<Remote>> {
        let (near, far) = keys();
        let remote = Remote::new(self.settings, LegAcceptor::new(&far, near.public()));
        let port = remote.listen(self.listen)?;
        drop(world::spawn(Rc::clone(&remote).serve(port)));
        Ok(remote)
    }
}

fn keys() -> (PrivateKey, PrivateKey) {
    (PrivateKey::from_seed(NEAR_SEED), PrivateKey::from_seed(FAR_SEED))
}

/// Counters of the near end so far, once its leg is established.
#[derive(Clone, Default)]
pub(crate) struct PepLog(Rc<RefCell<Option<Rc<Local>>>>);

impl PepLog {
    /// Counters so far; `None` if there is no PEP.
    pub(crate) fn carried(&self) -> Option<PepCounters> {
        let local = self.0.borrow();
        let counters = local.as_ref()?.counters();
        Some(PepCounters {
            split: counters.split.get(),
            bypassed: counters.bypassed.get(),
            failed_open: counters.failed_open.get(),
            broken: counters.broken.get(),
            sent_bytes: counters.sent_bytes.get(),
            received_bytes: counters.received_bytes.get(),
            fetched: counters.fetched.get(),
            answered_early: counters.answered_early.get(),
            promised: counters.promised.get(),
            wasted: counters.wasted.get(),
            saved_ms: counters.saved_ms.get(),
        })
    }
}

/// Connections of a PEP since `since`: those of its leg, and those to hosts opened by either half.
pub(crate) fn events(place: PepPlace, endpoints: &[Endpoint], since: Time) -> Vec<TcpEvent> {
    let event = |at: Time, kind, detail| TcpEvent {
        at_ns: at.as_nanos(),
        kind,
        object: None,
        connection: None,
        detail,
    };
    let own = endpoints.iter().filter(|end| end.active);
    let own = own.filter(|end| [place.near, place.far].contains(&end.local.ip()));
    own.filter_map(|end| {
        let detail = super::proxied::connection(end);
        if end.peer == place.far_port() {
            let back =
                endpoints.iter().find(|other| (other.local, other.peer) == (end.peer, end.local));
            return Some(event(
                since.max(end.opened_at),
                EventKind::Leg,
                detail + &sent_again(end, back),
            ));
        }
        (end.opened_at >= since).then(|| event(end.opened_at, EventKind::Upstream, detail))
    })
    .collect()
}

/// Retransmitted segments of each half.
fn sent_again(near: &Endpoint, far: Option<&Endpoint>) -> String {
    let count = |end: &Endpoint| end.stats.as_ref().map(|stats| stats.retransmitted_segments);
    match (count(near), far.and_then(count)) {
        (Some(up), Some(down)) => format!(", sent again {up} up, {down} down"),
        _ => String::new(),
    }
}

/// A note for readers of results.
pub(super) fn note(scenario: &Scenario) -> Option<String> {
    let turned = &scenario.route.pep;
    let sees = match (turned.sight(scenario), turned.prefetch()) {
        (Sight::Secured, _) => "all is under TLS: it sees bytes, and splits TCP alone".to_owned(),
        (Sight::Requests, Prefetch::Depth(0)) => {
            "it sees requests in clear text, and fetches at its far end what is asked for"
                .to_owned()
        }
        (Sight::Requests, Prefetch::Depth(depth)) => format!(
            "it sees requests in clear text, and fetches at its far end what is asked for and unasked what that embeds, levels: {depth}; floors are those of a client that knows all objects"
        ),
        (Sight::Unread | Sight::Requests, _) => {
            "it does not look into what passes in clear text, and splits TCP alone".to_owned()
        }
    };
    let tcp = tcp::Config::to_string(&leg_tcp(scenario));
    let parity = turned
        .fec
        .map_or_else(String::new, |every| format!(", a datagram of parity after every {every}"));
    let over = match turned.is_over_quic() {
        false => String::new(),
        true => format!("; the leg is QUIC, set as that TCP{parity}"),
    };
    scenario.route.has_pep().then(|| {
        format!(
            "a PEP stands at the network's two ends, its leg before the journey begins, TCP of both halves: {tcp}{over}; {sees}"
        )
    })
}
