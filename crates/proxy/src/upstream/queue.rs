//! Fair queue: round-robin over addresses, and over the connections of each address.

use std::collections::VecDeque;
use std::net::IpAddr;

use super::shares::Peer;

/// The connections of an address, each with its waiting items.
type Connections<T> = VecDeque<(Peer, VecDeque<T>)>;

/// A queue in which every client is served once before any is served twice.
pub(super) struct Queue<T> {
    /// No entry is empty.
    networks: VecDeque<(Option<IpAddr>, Connections<T>)>,
}

impl<T> Default for Queue<T> {
    fn default() -> Queue<T> {
        Queue { networks: VecDeque::new() }
    }
}

impl<T> Queue<T> {
    pub(super) fn is_empty(&self) -> bool {
        self.networks.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.waiting().map(|(_, items)| items.len()).sum()
    }

    /// Clients in the order of their turns, and the waiting items of each in order of arrival.
    pub(super) fn waiting(&self) -> impl Iterator<Item = (Peer, &VecDeque<T>)> {
        let connections = self.networks.iter().flat_map(|(_, connections)| connections);
        connections.map(|(client, items)| (*client, items))
    }

    pub(super) fn push(&mut self, client: Peer, item: T) {
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
    pub(super) fn take(&mut self, client: Peer) -> Option<T> {
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
    pub(super) fn drop_last(&mut self, client: Peer) {
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

    fn client(address: &str) -> Peer {
        Peer::at(Some(address.parse().expect("an address")))
    }

    #[test]
    fn addresses_take_turns_and_so_do_their_connections() {
        let mut queue = Queue::default();
        let [a, b, c] = ["10.0.0.1:1", "10.0.0.1:2", "10.0.0.2:1"].map(client);
        for (client, item) in [(a, "a1"), (a, "a2"), (a, "a3"), (b, "b1"), (c, "c1"), (c, "c2")] {
            queue.push(client, item);
        }
        assert_eq!(queue.len(), 6);
        let mut served = Vec::new();
        loop {
            let next = queue.waiting().next().map(|(client, _)| client);
            let Some(client) = next else { break };
            served.push(queue.take(client).expect("it waits"));
        }
        assert_eq!(served, ["a1", "c1", "b1", "c2", "a2", "a3"]);
        assert!(queue.is_empty());
    }

    #[test]
    fn who_gives_up_leaves_no_place() {
        let mut queue = Queue::default();
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
