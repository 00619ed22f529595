//! Named links between the two sides, and the route of each packet.
//!
//! ```text
//!   client -> up -> hop/1/up -> ... [-> origin/3/up] -> server
//!   client <- down <- hop/1/down <- ... [<- origin/3/down] <- server
//!
//!   client -> up -> ... -> proxy -> upstream/up [-> origin/3/up] -> server
//!   client -> up -> ... -> upstream/up [-> origin/3/up] -> server, bypassing the proxy
//!
//!   client -> near/up -> near half -> up -> ... -> far half -> upstream/up [-> origin/3/up] -> server
//! ```
//!
//! Names key the links' random streams: a topology with the names that the simulation uses loses the same packets.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use net::{EmulatorModel, JitterShape, LinkConfig, Network, RadioConfig, Reorder};
use units::BitsPerSec;

use crate::routing::LinkReach;
use crate::{AccessSide, BetweenHosts, ListedDrops};

/// A thread wakes up late by some tens of microseconds: below this, lookahead is useless.
const LEAST_LOOKAHEAD: Duration = Duration::from_micros(200);
/// Packets that arrive meanwhile must fit into the sockets' buffers: a quarter of a megabyte at 1 Gbit/s.
const MOST_LOOKAHEAD: Duration = Duration::from_millis(2);

/// Links between client and server side.
#[derive(Clone, Debug)]
pub struct EmulatedTopology {
    links: Vec<NamedLink>,
    /// The route of most servers.
    common: LinkRoute,
    /// Routes of servers with links of their own.
    farther: BTreeMap<IpAddr, LinkRoute>,
    /// Radio of each client, in front of `up` and `down`.
    radio: Option<RadioConfig>,
    /// Number of clients that share it.
    clients: u32,
    /// Intermediary between clients and servers.
    between: BetweenHosts,
    /// Route between clients and the near half of a split-connection proxy.
    near: LinkRoute,
}

/// One link.
#[derive(Clone, Debug)]
pub struct NamedLink {
    /// Name of the link.
    pub name: String,
    /// Its configuration.
    pub config: LinkConfig,
    /// Packets dropped at its entrance.
    pub(crate) drops: ListedDrops,
}

/// The links that packets cross, in their order; numbers as in [`EmulatedTopology::links`].
#[derive(Clone, Debug, Default)]
pub(crate) struct LinkRoute {
    up: Vec<usize>,
    down: Vec<usize>,
}

impl LinkRoute {
    /// The links of this route followed by those of `beyond`.
    fn then(mut self, beyond: &LinkRoute) -> LinkRoute {
        self.up.extend(&beyond.up);
        self.down.splice(..0, beyond.down.iter().copied());
        self
    }

    /// Links crossed by packets from one side.
    pub(crate) fn from(&self, side: AccessSide) -> &[usize] {
        match side {
            AccessSide::Client => &self.up,
            AccessSide::Server => &self.down,
        }
    }
}

impl EmulatedTopology {
    /// One link each way, called `up` and `down`.
    pub fn between(up: LinkConfig, down: LinkConfig) -> EmulatedTopology {
        let (common, farther) = (LinkRoute::default(), BTreeMap::new());
        let (links, between, near) = (Vec::new(), BetweenHosts::Nobody, LinkRoute::default());
        let mut topology =
            EmulatedTopology { links, common, farther, radio: None, clients: 1, between, near };
        topology.common.up.push(topology.links.len());
        topology.add("up", up);
        topology.common.down.push(topology.links.len());
        topology.add("down", down);
        topology
    }

    /// The links of a network: `up`, `down`, and for each farther hop `hop/1/up`, `hop/1/down` and so on; its radio, if it has one.
    pub fn of(network: &Network) -> EmulatedTopology {
        let nearest = EmulatedTopology::between(network.up.clone(), network.down.clone());
        let nearest = EmulatedTopology { radio: network.radio.clone(), ..nearest };
        network
            .beyond
            .iter()
            .fold(nearest, |topology, hop| topology.beyond(hop.up.clone(), hop.down.clone()))
    }

    /// Adds a hop for all servers, beyond the existing ones. Call before [`EmulatedTopology::farther`].
    pub fn beyond(mut self, up: LinkConfig, down: LinkConfig) -> EmulatedTopology {
        let hop = self.common.up.len();
        let (up, down) =
            (self.add(&format!("hop/{hop}/up"), up), self.add(&format!("hop/{hop}/down"), down));
        self.common.up.push(up);
        self.common.down.insert(0, down);
        self
    }

    /// Gives one server links of its own, beyond those shared by all.
    pub fn farther(
        mut self,
        server: IpAddr,
        up_name: &str,
        up: LinkConfig,
        down_name: &str,
        down: LinkConfig,
    ) -> EmulatedTopology {
        let links = [self.add(up_name, up), self.add(down_name, down)];
        self.append_links(server, links);
        self
    }

    /// Gives these servers one shared link each way, beyond the links shared by all.
    pub fn stretched(
        mut self,
        servers: impl IntoIterator<Item = IpAddr>,
        [up_name, down_name]: [&str; 2],
        [up, down]: &[LinkConfig; 2],
    ) -> EmulatedTopology {
        let links = [self.add(up_name, up.clone()), self.add(down_name, down.clone())];
        servers.into_iter().for_each(|server| self.append_links(server, links));
        self
    }

    /// Puts a proxy at the network's far end, which talks to these servers over one link each way; clients may bypass it.
    /// It has the address after the last client's. Call before [`EmulatedTopology::farther`].
    pub fn proxied(
        mut self,
        servers: impl IntoIterator<Item = IpAddr>,
        names: [&str; 2],
        links: &[LinkConfig; 2],
    ) -> EmulatedTopology {
        self.between = BetweenHosts::Proxy;
        self.via_intermediary(servers, names, links)
    }

    /// Puts the halves of a split-connection proxy at the network's two ends. `nearer` lies between clients and the near half, `farther` between the
    /// far half and these servers: one link each way, with their names. Call before [`EmulatedTopology::farther`].
    pub fn split(
        mut self,
        servers: impl IntoIterator<Item = IpAddr>,
        (near_names, nearer): ([&str; 2], &LinkConfig),
        (names, farther): ([&str; 2], &[LinkConfig; 2]),
    ) -> EmulatedTopology {
        self.between = BetweenHosts::Halves;
        let [up, down] = near_names.map(|name| self.add(name, nearer.clone()));
        self.near = LinkRoute { up: vec![up], down: vec![down] };
        self.via_intermediary(servers, names, farther)
    }

    /// Makes one link each way the only ones between these servers and the intermediary in front of them.
    fn via_intermediary(
        mut self,
        servers: impl IntoIterator<Item = IpAddr>,
        names: [&str; 2],
        links: &[LinkConfig; 2],
    ) -> EmulatedTopology {
        let servers: Vec<IpAddr> = servers.into_iter().collect();
        self.farther.extend(servers.iter().map(|server| (*server, LinkRoute::default())));
        self.stretched(servers, names, links)
    }

    /// Adds links to those of a server.
    fn append_links(&mut self, server: IpAddr, [up, down]: [usize; 2]) {
        let route = self.farther.entry(server).or_insert_with(|| self.common.clone());
        route.up.push(up);
        route.down.insert(0, down);
    }

    /// Intermediary between clients and servers.
    pub fn intermediary(&self) -> BetweenHosts {
        self.between
    }

    /// Puts one server at the far end of the first hop. Call after [`EmulatedTopology::beyond`].
    pub fn at_first_hop(mut self, server: IpAddr) -> EmulatedTopology {
        let LinkRoute { up, down } = &self.common;
        let first = |links: &[usize]| links.first().copied().into_iter().collect();
        let last = |links: &[usize]| links.last().copied().into_iter().collect();
        let route = LinkRoute { up: first(up), down: last(down) };
        self.farther.insert(server, route);
        self
    }

    /// Drops these data packets at the entrance of the link called `name`, in addition to the link's own drops.
    ///
    /// # Panics
    /// If there is no such link.
    pub fn losing(mut self, name: &str, drops: ListedDrops) -> EmulatedTopology {
        let link = self.links.iter_mut().find(|link| link.name == name);
        link.unwrap_or_else(|| panic!("the topology has no link `{name}`")).drops = drops;
        self
    }

    /// The same for several clients, which share all links, each behind a radio of its own.
    ///
    /// # Panics
    /// Without any client, or with more than 250.
    pub fn shared_by(self, clients: u32) -> EmulatedTopology {
        assert!((1..=250).contains(&clients), "a network has 1 to 250 clients, not {clients}");
        EmulatedTopology { clients, ..self }
    }

    /// Number of clients that share it.
    pub fn clients(&self) -> u32 {
        self.clients
    }

    /// Each client's radio, in front of `up` and `down`.
    pub fn radio(&self) -> Option<&RadioConfig> {
        self.radio.as_ref()
    }

    /// The largest packet that all links carry.
    pub fn mtu(&self) -> u32 {
        self.links.iter().map(|link| link.config.mtu).min().unwrap_or(u32::MAX)
    }

    /// All links, in the order in which they were added: `up`, `down`, `hop/1/up`, ...
    pub fn links(&self) -> &[NamedLink] {
        &self.links
    }

    /// Upper bound of the rate of packets from one side.
    pub(crate) fn peak(&self, from: AccessSide) -> BitsPerSec {
        let rates = self.common.from(from).iter().map(|link| self.links[*link].config.rate.peak());
        rates.min().unwrap_or(BitsPerSec::UNLIMITED)
    }

    /// Half of the minimum transit time of any packet, within useful limits.
    pub(crate) fn lookahead(&self) -> Duration {
        let least = |links: &[usize]| -> Duration {
            links.iter().map(|link| least_delay(&self.links[*link].config)).sum()
        };
        let near = (self.between == BetweenHosts::Halves).then_some(&self.near);
        let routes = std::iter::once(&self.common).chain(self.farther.values()).chain(near);
        let ways = routes.flat_map(|route| [least(&route.up), least(&route.down)]);
        let half = ways.min().unwrap_or_default() / 2;
        if half < LEAST_LOOKAHEAD { Duration::ZERO } else { half.min(MOST_LOOKAHEAD) }
    }

    /// All links; all routes, the common one first; the reaches that take another route.
    pub(crate) fn into_parts(self) -> (Vec<NamedLink>, Vec<LinkRoute>, BTreeMap<LinkReach, usize>) {
        let mut routes = vec![self.common.clone()];
        let mut numbers = BTreeMap::new();
        let mut add = |reach, route| {
            numbers.insert(reach, routes.len());
            routes.push(route);
        };
        for (server, route) in self.farther {
            if self.between != BetweenHosts::Nobody {
                add(LinkReach::Past(server), self.common.clone().then(&route));
            }
            add(LinkReach::Server(server), route);
        }
        if self.between == BetweenHosts::Halves {
            add(LinkReach::Near, self.near);
        }
        (self.links, routes, numbers)
    }

    fn add(&mut self, name: &str, config: LinkConfig) -> usize {
        self.links.push(NamedLink { name: name.to_owned(), config, drops: ListedDrops::default() });
        self.links.len() - 1
    }
}

/// Minimum delay of a link, without serialisation.
fn least_delay(config: &LinkConfig) -> Duration {
    let varies = match config.jitter.shape {
        JitterShape::Uniform => config.jitter.spread,
        // No farther from the mean by construction.
        JitterShape::Normal => config.jitter.spread * 6,
    };
    match (config.emulator, config.reorder) {
        (EmulatorModel::Farlink, Reorder::Never | Reorder::ByJitter) => {
            config.delay.saturating_sub(varies)
        }
        // Ticks are rounded, and some packets jump.
        _ => Duration::ZERO,
    }
}

#[cfg(test)]
mod tests {
    use net::{Jitter, QueueLimit};

    use super::*;

    fn lookahead(config: LinkConfig) -> Duration {
        EmulatedTopology::between(config, LinkConfig::delay(Duration::from_secs(1))).lookahead()
    }

    #[test]
    fn the_lookahead_is_half_of_the_shortest_way() {
        let delay = |micros| LinkConfig::delay(Duration::from_micros(micros));
        assert_eq!(lookahead(delay(1000)), Duration::from_micros(500));
        assert_eq!(lookahead(delay(100)), Duration::ZERO);
        assert_eq!(lookahead(delay(50_000)), MOST_LOOKAHEAD);
        let jitter = Jitter { spread: Duration::from_micros(400), shape: JitterShape::Uniform };
        assert_eq!(lookahead(LinkConfig { jitter, ..delay(1000) }), Duration::from_micros(300));
        assert_eq!(
            lookahead(LinkConfig { reorder: Reorder::Jump(0.1), ..delay(1000) }),
            Duration::ZERO
        );
        let rate = LinkConfig::new(BitsPerSec::kbit(1), Duration::ZERO, QueueLimit::Unlimited);
        assert_eq!(lookahead(rate), Duration::ZERO);
    }

    #[test]
    #[should_panic(expected = "no link `sideways`")]
    fn drops_need_a_link() {
        let link = LinkConfig::delay(Duration::ZERO);
        let _ =
            EmulatedTopology::between(link.clone(), link).losing("sideways", ListedDrops::of([1]));
    }
}
