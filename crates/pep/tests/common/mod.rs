//! A client behind a satellite: `client - near end - satellite - far end - server`, simulated. The RTT from client to server is 620 ms, of
//! which the satellite takes 600; 1 Mbit/s down, 128 kbit/s up.
#![allow(dead_code, reason = "each test file uses its part")]

use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use chance::RandomSource;
use farlink_pep::leg::{Fec, LegPort, LegQuic, LegTransport};
use farlink_pep::{
    ForwardTarget, LegAcceptor, LegConnector, Local, PrivateKey, Remote, local, remote,
};
use net::Network;
use quic::Transport;
use quic::bare::FecCounts;
use world::TcpListener;
use world::sim::{LinkId, NodeId, SimPlan};

/// RTT from client to server.
pub const RTT: Duration = Duration::from_millis(620);
/// Time for the leg to be established: three round trips and a little.
pub const WARM_UP: Duration = Duration::from_secs(5);

const CLIENT: &str = "10.0.0.1";
const NEAR: &str = "10.0.0.2";
const FAR: &str = "10.1.0.1";
pub const SERVER: &str = "10.2.0.1";

/// The near end's address for clients, for the server's port 7.
pub fn near() -> SocketAddr {
    at(NEAR, 7)
}

/// The server itself.
pub fn server() -> SocketAddr {
    at(SERVER, 7)
}

pub fn at(address: &str, port: u16) -> SocketAddr {
    SocketAddr::new(address.parse().unwrap(), port)
}

/// The two ends' keys.
pub fn keys() -> [PrivateKey; 2] {
    [PrivateKey::from_seed([1; 32]), PrivateKey::from_seed([2; 32])]
}

pub fn connector() -> LegConnector {
    let [near, far] = keys();
    LegConnector::new(&near, far.public())
}

pub fn acceptor() -> LegAcceptor {
    let [near, far] = keys();
    LegAcceptor::new(&far, near.public())
}

/// Transport of the leg.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leg {
    Tcp,
    Quic,
    /// QUIC with parity after every tenth datagram.
    Fec,
}

pub const LEGS: [Leg; 3] = [Leg::Tcp, Leg::Quic, Leg::Fec];

impl Leg {
    /// Settings for an end with the TCP settings `tcp` and the counters `counts`.
    fn over(self, tcp: &tcp::Config, counts: &Arc<FecCounts>) -> LegTransport {
        let fec = Fec { every: 10, counts: Arc::clone(counts) };
        let quic = |fec| LegTransport::Quic(LegQuic { transport: Transport::matching(tcp), fec });
        match self {
            Leg::Tcp => LegTransport::Tcp,
            Leg::Quic => quic(None),
            Leg::Fec => quic(Some(fec)),
        }
    }
}

/// The simulated world before it begins.
pub struct Sky {
    leg: Leg,
    tuned: Arc<tcp::Config>,
    /// Counters of parity at both ends.
    pub fec: Arc<FecCounts>,
    pub plan: SimPlan,
    pub client: NodeId,
    pub near: NodeId,
    pub far: NodeId,
    pub server: NodeId,
}

impl Sky {
    /// A world whose satellite has `satellite` appended to its description (`,loss=1%`).
    pub fn new(seed: u64, satellite: &str) -> Sky {
        Sky::over(Leg::Tcp, seed, satellite)
    }

    /// The same with another leg.
    pub fn over(leg: Leg, seed: u64, satellite: &str) -> Sky {
        let satellite = format!("rtt=600ms,down=1mbit,up=128kbit,queue=64pkt{satellite}");
        let mut plan = SimPlan::new(RandomSource::new(seed, 0));
        plan.limit(Duration::from_secs(1800));
        let lan = links(&mut plan, "lan", "rtt=2ms,down=100mbit,up=100mbit,queue=1000pkt");
        let sky = links(&mut plan, "satellite", &satellite);
        let wire = links(&mut plan, "wire", "rtt=18ms,down=1gbit,up=1gbit,queue=1000pkt");
        let usual = Arc::new(tcp::Config::default());
        // 64 segments: the satellite's bandwidth-delay product.
        let tuned = tcp::Config {
            initial_window: 64,
            slow_start_after_idle: false,
            ..tcp::Config::default()
        };
        let tuned = Arc::new(tuned);
        let mut node = |address: &str, tcp: &Arc<tcp::Config>| {
            plan.node(address.parse::<IpAddr>().unwrap(), Arc::clone(tcp))
        };
        let client = node(CLIENT, &usual);
        let near = node(NEAR, &tuned);
        let far = node(FAR, &tuned);
        let server = node(SERVER, &usual);
        let nodes = [client, near, far, server];
        let hops = [lan, sky, wire];
        for from in 0..4 {
            for to in from + 1..4 {
                let up: Vec<LinkId> = hops[from..to].iter().map(|hop| hop.0).collect();
                let down: Vec<LinkId> = hops[from..to].iter().rev().map(|hop| hop.1).collect();
                plan.route(nodes[from], nodes[to], &up);
                plan.route(nodes[to], nodes[from], &down);
            }
        }
        Sky { leg, tuned, fec: Arc::default(), plan, client, near, far, server }
    }

    /// Adds both ends of the proxy, with default settings.
    pub fn with_pep(self) -> Sky {
        self.with_far_end(|remote, listener| remote.serve(listener)).with_near_end(|_| {})
    }

    /// Adds a far end that is served by `serve`.
    pub fn with_far_end<F: Future<Output = ()> + 'static>(
        self,
        serve: impl FnOnce(Rc<Remote>, LegPort) -> F + 'static,
    ) -> Sky {
        self.with_far_end_set(|_| {}, serve)
    }

    /// Adds a far end with settings that `change` modifies.
    pub fn with_far_end_set<F: Future<Output = ()> + 'static>(
        mut self,
        change: impl FnOnce(&mut remote::FarSettings) + 'static,
        serve: impl FnOnce(Rc<Remote>, LegPort) -> F + 'static,
    ) -> Sky {
        let over = self.leg.over(&self.tuned, &self.fec);
        self.plan.spawn(self.far, async move {
            let mut settings = remote::FarSettings::default();
            settings.leg.over = over;
            change(&mut settings);
            let remote = Remote::new(settings, acceptor());
            let port = remote.listen(at(FAR, 9400)).unwrap();
            serve(remote, port).await;
        });
        self
    }

    /// Adds a near end with settings that `change` modifies.
    pub fn with_near_end(mut self, change: impl FnOnce(&mut local::NearSettings) + 'static) -> Sky {
        let over = self.leg.over(&self.tuned, &self.fec);
        self.plan.spawn(self.near, async move {
            let mut settings = local::NearSettings::new(at(FAR, 9400));
            settings.leg.over = over;
            change(&mut settings);
            let local = Local::start(settings, &connector());
            for port in [7, 80, 443] {
                let listener = TcpListener::bind(at(NEAR, port)).unwrap();
                let target = ForwardTarget::Fixed(at(SERVER, port));
                drop(world::spawn(Rc::clone(&local).serve(listener, target)));
            }
        });
        self
    }

    /// Sets the server's task.
    pub fn with_server(mut self, server: impl Future<Output = ()> + 'static) -> Sky {
        self.plan.spawn(self.server, server);
        self
    }

    /// Runs `main` on the client's host, once the leg is established.
    pub fn run<F: Future + 'static>(self, main: F) -> F::Output {
        let main = async move {
            world::sleep(WARM_UP).await;
            main.await
        };
        self.plan.run(self.client, main).unwrap()
    }
}

fn links(plan: &mut SimPlan, name: &str, network: &str) -> (LinkId, LinkId) {
    let network = Network::parse(network).unwrap();
    (plan.link(&format!("{name}/up"), network.up), plan.link(&format!("{name}/down"), network.down))
}

/// `bytes` bytes that repeat in no short period.
pub fn pattern(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|i| (i * 7 + i / 251 + i / 65_521) as u8).collect()
}
