//! What lies between the two sides: named links, and who crosses which.
//!
//! ```text
//!   client -> up -> hop/1/up -> ... [-> origin/3/up] -> server
//!   client <- down <- hop/1/down <- ... [<- origin/3/down] <- server
//! ```
//!
//! Names key the links' random streams: a topology with the names that the simulation uses loses the same packets.

use std::collections::BTreeMap;
use std::net::IpAddr;

use net::{LinkConfig, Network};
use units::BitsPerSec;

use crate::{Drops, Side};

/// Links between client and server side.
#[derive(Clone, Debug)]
pub struct Topology {
    links: Vec<NamedLink>,
    /// For most servers.
    common: Route,
    /// For servers that have links of their own.
    farther: BTreeMap<IpAddr, Route>,
}

/// One link.
#[derive(Clone, Debug)]
pub(crate) struct NamedLink {
    pub(crate) name: String,
    pub(crate) config: LinkConfig,
    /// What is dropped at its entrance.
    pub(crate) drops: Drops,
}

/// The links that packets cross, in their order; numbers as in [`Topology::links`].
#[derive(Clone, Debug, Default)]
pub(crate) struct Route {
    up: Vec<usize>,
    down: Vec<usize>,
}

impl Route {
    /// Those that a packet of one side crosses.
    pub(crate) fn from(&self, side: Side) -> &[usize] {
        match side {
            Side::Client => &self.up,
            Side::Server => &self.down,
        }
    }
}

impl Topology {
    /// One link each way, called `up` and `down`.
    pub fn between(up: LinkConfig, down: LinkConfig) -> Topology {
        let mut topology =
            Topology { links: Vec::new(), common: Route::default(), farther: BTreeMap::new() };
        topology.common.up.push(topology.links.len());
        topology.add("up", up);
        topology.common.down.push(topology.links.len());
        topology.add("down", down);
        topology
    }

    /// The links of a network: `up`, `down`, and for each farther hop `hop/1/up`, `hop/1/down` and so on.
    pub fn of(network: &Network) -> Topology {
        let nearest = Topology::between(network.up.clone(), network.down.clone());
        network
            .beyond
            .iter()
            .fold(nearest, |topology, hop| topology.beyond(hop.up.clone(), hop.down.clone()))
    }

    /// Adds a hop for all servers, beyond those that there are. To be called before [`Topology::farther`].
    pub fn beyond(mut self, up: LinkConfig, down: LinkConfig) -> Topology {
        let hop = self.common.up.len();
        let (up, down) =
            (self.add(&format!("hop/{hop}/up"), up), self.add(&format!("hop/{hop}/down"), down));
        self.common.up.push(up);
        self.common.down.insert(0, down);
        self
    }

    /// Gives one server links of its own, beyond those that it shares with all.
    pub fn farther(
        mut self,
        server: IpAddr,
        (up_name, up): (&str, LinkConfig),
        (down_name, down): (&str, LinkConfig),
    ) -> Topology {
        let mut route = self.common.clone();
        route.up.push(self.add(up_name, up));
        route.down.insert(0, self.add(down_name, down));
        self.farther.insert(server, route);
        self
    }

    /// Drops these data packets at the entrance of the link called `name`, beside what the link itself does.
    ///
    /// # Panics
    /// If there is no such link.
    pub fn losing(mut self, name: &str, drops: Drops) -> Topology {
        let link = self.links.iter_mut().find(|link| link.name == name);
        link.unwrap_or_else(|| panic!("the topology has no link `{name}`")).drops = drops;
        self
    }

    /// The largest packet that all links carry.
    pub fn mtu(&self) -> u32 {
        self.links.iter().map(|link| link.config.mtu).min().unwrap_or(u32::MAX)
    }

    /// A rate that packets of one side exceed at no time.
    pub(crate) fn peak(&self, from: Side) -> BitsPerSec {
        let rates = self.common.from(from).iter().map(|link| self.links[*link].config.rate.peak());
        rates.min().unwrap_or(BitsPerSec::UNLIMITED)
    }

    pub(crate) fn links(&self) -> &[NamedLink] {
        &self.links
    }

    /// All routes, the common one first, with the servers that have one of their own.
    pub(crate) fn routes(&self) -> (Vec<Route>, BTreeMap<IpAddr, usize>) {
        let own = self.farther.values().cloned();
        let numbers = self.farther.keys().copied().zip(1..);
        (std::iter::once(self.common.clone()).chain(own).collect(), numbers.collect())
    }

    fn add(&mut self, name: &str, config: LinkConfig) -> usize {
        self.links.push(NamedLink { name: name.to_owned(), config, drops: Drops::default() });
        self.links.len() - 1
    }
}
