//! Link test of a network: ping, loss test and speed test in virtual time, delivered beside configured.
//!
//! Each test runs in a world of its own, over links built from the network's description like those of a page
//! load, with traffic that knows nothing of the links: datagrams and one TCP flow. Results at the far end are
//! compared with the configuration. A radio is tested by pings through it, from idle and awake; all other tests
//! leave it out.

mod loss;
mod ping;
mod radio;
mod speed;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use chance::RandomSource;
use net::Network;
use world::sim::{NodeId, SimPlan};

pub use self::loss::Loss;
pub use self::ping::Ping;
pub use self::radio::RadioPing;
pub use self::speed::Speed;
use crate::{simulate, tour};
pub use speed::Bulk;

/// The normal deviate of a two-sided interval of 99 %.
const Z: f64 = 2.576;

/// Results of the tests.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkTest {
    /// Round trips on the idle network, behind its radio if it has one.
    pub ping: Ping,
    /// Round trips on the whole network, through its radio.
    pub radio: Option<RadioPing>,
    /// From the server to the client.
    pub down: Direction,
    /// From the client to the server.
    pub up: Direction,
}

/// Results in one direction.
#[derive(Clone, Debug, PartialEq)]
pub struct Direction {
    /// Throughput of a flood of full packets; `None` if no rate is set.
    pub speed: Option<Speed>,
    /// Loss of datagrams without queueing.
    pub loss: Loss,
    /// One TCP flow; `None` if no rate is set.
    pub bulk: Option<Bulk>,
}

/// Direction of the tested packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PacketDirection {
    Down,
    Up,
}

/// Tests the links of `network`, and pings through its radio; deterministic for a seed.
pub fn run(network: &Network, seed: u64) -> LinkTest {
    let radio = radio::measure(&TestedNetwork { network, seed });
    let bench = TestedNetwork { network: &network.clone().without_radio(), seed };
    let direction = |way| Direction {
        speed: speed::measure(&bench, way),
        loss: loss::measure(&bench, way),
        bulk: speed::measure_bulk(&bench, way),
    };
    let (down, up) = (direction(PacketDirection::Down), direction(PacketDirection::Up));
    LinkTest { ping: ping::measure(&bench), radio, down, up }
}

/// The network under test.
pub(crate) struct TestedNetwork<'a> {
    pub(crate) network: &'a Network,
    seed: u64,
}

/// A fresh world with two nodes and the network between them.
pub(crate) struct TestWorld {
    pub(crate) plan: SimPlan,
    pub(crate) sender: NodeId,
    pub(crate) receiver: NodeId,
    pub(crate) from: SocketAddr,
    pub(crate) to: SocketAddr,
}

impl TestedNetwork<'_> {
    /// The links that packets of a direction cross, in order of crossing.
    pub(crate) fn links(&self, way: PacketDirection) -> Vec<&net::LinkConfig> {
        match way {
            PacketDirection::Up => self.network.up_links().collect(),
            PacketDirection::Down => {
                let mut links: Vec<_> = self.network.down_links().collect();
                links.reverse();
                links
            }
        }
    }

    /// A world for one test, with the sender's packets to the receiver in direction `way`.
    pub(crate) fn set_up(&self, way: PacketDirection) -> TestWorld {
        let mut plan = SimPlan::new(RandomSource::new(self.seed, 0));
        let tcp = Arc::new(tcp::Config::default());
        let addresses = [1, 2].map(|last| IpAddr::V4(Ipv4Addr::new(10, 0, 0, last)));
        let [client, server] = addresses.map(|address| plan.node(address, Arc::clone(&tcp)));
        let (ups, downs) = simulate::links(&mut plan, self.network);
        simulate::radio(&mut plan, self.network, client, tour::RADIO, &ups, &downs);
        plan.route(client, server, &ups);
        plan.route(server, client, &downs);
        let [client_at, server_at] = addresses.map(|address| SocketAddr::new(address, 7));
        match way {
            PacketDirection::Up => {
                TestWorld { plan, sender: client, receiver: server, from: client_at, to: server_at }
            }
            PacketDirection::Down => {
                TestWorld { plan, sender: server, receiver: client, from: server_at, to: client_at }
            }
        }
    }
}
