//! Fairness among clients: shares of a limited number (of the connections to an origin, and of all), and turns in the queue for it.
//!
//! A client may hold a fraction of the remaining free ones (dynamic thresholds, Choudhury and Hahne 1998): alone it has most of the
//! limit, and however many clients there are, the next one finds room as long as any are free. The share of an address is divided in
//! the same way, in smaller fractions, among its connections, so neither many connections nor one with many streams crowd out the
//! others.

use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

/// A client: a connection from an address. The default is the proxy itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ClientPeer {
    /// The address; for IPv6 its /64 network, all of which one machine may have.
    pub(super) network: Option<IpAddr>,
    pub(super) connection: Option<SocketAddr>,
}

impl ClientPeer {
    /// The peer of a connection.
    pub fn at(peer: Option<SocketAddr>) -> ClientPeer {
        let network = peer.map(|peer| match peer.ip().to_canonical() {
            IpAddr::V6(address) => {
                IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)))
            }
            v4 => v4,
        });
        ClientPeer { network, connection: peer }
    }
}

/// Divisor of an address's percentage for a single connection.
const CONNECTIONS: u8 = 3;

/// A connection may always hold this many, as long as its address has any left.
const FEW: usize = 8;

/// Numbers held by clients.
#[derive(Debug, Default)]
pub(super) struct Shares {
    held: usize,
    networks: BTreeMap<Option<IpAddr>, NetworkShare>,
}

#[derive(Debug, Default)]
struct NetworkShare {
    held: usize,
    connections: BTreeMap<Option<SocketAddr>, usize>,
}

impl Shares {
    /// Returns true if none is held.
    pub(super) fn is_unheld(&self) -> bool {
        self.held == 0
    }

    /// Number held by an address.
    pub(super) fn held_by(&self, client: ClientPeer) -> usize {
        self.networks.get(&client.network).map_or(0, |network| network.held)
    }

    /// Returns true if `client` may take one more of `limit`, of which a single client may hold `percent`.
    pub(super) fn has_room(&self, client: ClientPeer, limit: usize, percent: u8) -> bool {
        let network = self.networks.get(&client.network);
        let own = network.and_then(|network| network.connections.get(&client.connection));
        let free = limit.saturating_sub(self.held);
        let left = room(free, network.map_or(0, |network| network.held), percent);
        let own = own.copied().unwrap_or(0);
        let of_address = if percent < 100 { percent / CONNECTIONS } else { percent };
        left > 0 && (own < FEW || room(left, own, of_address) > 0)
    }

    pub(super) fn take(&mut self, client: ClientPeer) {
        self.held += 1;
        let network = self.networks.entry(client.network).or_default();
        network.held += 1;
        *network.connections.entry(client.connection).or_default() += 1;
    }

    pub(super) fn give_back(&mut self, client: ClientPeer) {
        let Some(network) = self.networks.get_mut(&client.network) else { return };
        let Some(own) = network.connections.get_mut(&client.connection) else { return };
        (self.held, network.held, *own) = (self.held - 1, network.held - 1, *own - 1);
        if *own == 0 {
            network.connections.remove(&client.connection);
        }
        if network.held == 0 {
            self.networks.remove(&client.network);
        }
    }
}

/// Number of `free` ones that a holder of `held` may take until it has `percent` of both.
fn room(free: usize, held: usize, percent: u8) -> usize {
    let (own, others) = (usize::from(percent), usize::from(100u8.saturating_sub(percent)));
    free.saturating_mul(own).saturating_sub(held.saturating_mul(others)).div_ceil(100)
}

/// The connections of an address, each with its waiting items.
type ConnectionQueues<T> = VecDeque<(ClientPeer, VecDeque<T>)>;

/// A queue in which every client is served once before any is served twice.
pub(super) struct FairQueue<T> {
    /// No entry is empty.
    networks: VecDeque<(Option<IpAddr>, ConnectionQueues<T>)>,
}

impl<T> Default for FairQueue<T> {
    fn default() -> FairQueue<T> {
        FairQueue { networks: VecDeque::new() }
    }
}

impl<T> FairQueue<T> {
    pub(super) fn is_empty(&self) -> bool {
        self.networks.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.waiting().map(|(_, items)| items.len()).sum()
    }

    /// Clients in the order of their turns, and the waiting items of each in order of arrival.
    pub(super) fn waiting(&self) -> impl Iterator<Item = (ClientPeer, &VecDeque<T>)> {
        let connections = self.networks.iter().flat_map(|(_, connections)| connections);
        connections.map(|(client, items)| (*client, items))
    }

    pub(super) fn push(&mut self, client: ClientPeer, item: T) {
        let at = self.networks.iter().position(|(network, _)| *network == client.network);
        let at = at.unwrap_or_else(|| {
            self.networks.push_back((client.network, VecDeque::new()));
            self.networks.len() - 1
        });
        let connections = &mut self.networks[at].1;
        match connections.iter_mut().find(|(other, _)| *other == client) {
            Some((_, items)) => items.push_back(item),
            None => connections.push_back((client, VecDeque::from([item]))),
        }
    }

    /// Takes the oldest item of `client`, whose next turn comes after all others'.
    pub(super) fn take(&mut self, client: ClientPeer) -> Option<T> {
        let at = self.networks.iter().position(|(network, _)| *network == client.network)?;
        let (network, mut connections) = self.networks.remove(at)?;
        let place = connections.iter().position(|(other, _)| *other == client);
        let item = place.and_then(|place| connections.remove(place)).and_then(|(_, mut items)| {
            let item = items.pop_front();
            if !items.is_empty() {
                connections.push_back((client, items));
            }
            item
        });
        if !connections.is_empty() {
            self.networks.push_back((network, connections));
        }
        item
    }

    /// Drops the newest item of `client`.
    pub(super) fn drop_last(&mut self, client: ClientPeer) {
        let mut items = self.networks.iter_mut().flat_map(|(_, connections)| connections);
        if let Some((_, items)) = items.find(|(other, _)| *other == client) {
            items.pop_back();
        }
        self.retain(|_| true);
    }

    /// Drops items for which `keep` returns false.
    pub(super) fn retain(&mut self, keep: impl Fn(&T) -> bool) {
        for (_, connections) in &mut self.networks {
            connections.retain_mut(|(_, items)| {
                items.retain(&keep);
                !items.is_empty()
            });
        }
        self.networks.retain(|(_, connections)| !connections.is_empty());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(address: &str) -> ClientPeer {
        ClientPeer::at(Some(address.parse().expect("an address")))
    }

    /// Takes as many as `client` may have.
    fn fill(shares: &mut Shares, client: ClientPeer, limit: usize) -> usize {
        let mut taken = 0;
        while shares.has_room(client, limit, 75) {
            shares.take(client);
            taken += 1;
        }
        taken
    }

    #[test]
    fn whoever_comes_finds_room() {
        let mut shares = Shares::default();
        let mut taken = Vec::new();
        for port in 1..=6 {
            taken.push(fill(&mut shares, client(&format!("10.0.0.1:{port}")), 256));
        }
        assert_eq!(
            taken,
            [48, 36, 27, 21, 15, 12],
            "of three quarters, a quarter of the rest each time"
        );
        let other = client("10.0.0.2:1");
        assert!(shares.has_room(other, 256, 75), "another address has a quarter left");
        assert!(fill(&mut shares, other, 256) > 18);
    }

    #[test]
    fn a_few_are_all_for_one_who_is_alone() {
        for limit in 1..=3 {
            assert_eq!(fill(&mut Shares::default(), client("10.0.0.1:1"), limit), limit);
        }
        let mut shares = Shares::default();
        while shares.has_room(client("10.0.0.1:1"), 50, 100) {
            shares.take(client("10.0.0.1:1"));
        }
        assert_eq!(shares.held, 50, "all of it, where no share is kept back");
        (0..50).for_each(|_| shares.give_back(client("10.0.0.1:1")));
        assert!(shares.is_unheld() && shares.networks.is_empty());
    }

    #[test]
    fn addresses_of_one_network_of_ipv6_are_one_client() {
        let [a, b, c] = ["[2001:db8::1]:1", "[2001:db8::2]:1", "[2001:db8:0:1::1]:1"].map(client);
        assert!(a.network == b.network && a.network != c.network);
        assert_eq!(client("[::ffff:10.0.0.1]:1").network, client("10.0.0.1:2").network);
    }

    #[test]
    fn addresses_take_turns_and_so_do_their_connections() {
        let mut queue = FairQueue::default();
        let [a, b, c] = ["10.0.0.1:1", "10.0.0.1:2", "10.0.0.2:1"].map(client);
        for (client, item) in [(a, "a1"), (a, "a2"), (a, "a3"), (b, "b1"), (c, "c1"), (c, "c2")] {
            queue.push(client, item);
        }
        assert_eq!(queue.len(), 6);
        let mut served = Vec::new();
        loop {
            let next = queue.waiting().next().map(|(client, _)| client);
            let Some(client) = next else { break };
            served.push(queue.take(client).expect("a client in the queue has a waiter"));
        }
        assert_eq!(served, ["a1", "c1", "b1", "c2", "a2", "a3"]);
        assert!(queue.is_empty());
    }

    #[test]
    fn who_gives_up_leaves_no_place() {
        let mut queue = FairQueue::default();
        let [a, b] = ["10.0.0.1:1", "10.0.0.2:1"].map(client);
        for (client, item) in [(a, 1), (a, 2), (b, 3)] {
            queue.push(client, item);
        }
        queue.retain(|item| *item != 3);
        assert_eq!(queue.take(b), None);
        queue.drop_last(a);
        assert_eq!((queue.take(a), queue.take(a), queue.is_empty()), (Some(1), None, true));
    }
}
