//! Hosts of an emulation: clients, servers, and the intermediaries between them. Hosts are numbered: the first client, the
//! server, the other clients, then intermediaries, which are set up like clients. A host's number is the last octet of its addresses, less one.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A host, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct HostId(u32);

impl HostId {
    /// The server's number.
    pub(crate) const SERVER: HostId = HostId(1);

    /// The client of user `user`.
    pub(crate) const fn client(user: u32) -> HostId {
        match user {
            0 => HostId(0),
            _ => HostId(user + 1),
        }
    }

    /// The host numbered after `clients` clients: an intermediary, or another host set up like a client.
    pub(crate) const fn behind(clients: u32) -> HostId {
        HostId::client(clients)
    }

    /// All hosts, by their numbers.
    pub(crate) fn all(clients: u32) -> impl Iterator<Item = HostId> {
        (0..=clients).map(HostId)
    }

    /// The host at one side that a user's packets come from or go to.
    pub(crate) const fn at(side: AccessSide, user: u32) -> HostId {
        match side {
            AccessSide::Client => HostId::client(user),
            AccessSide::Server => HostId::SERVER,
        }
    }

    pub(crate) const fn number(self) -> usize {
        self.0 as usize
    }

    /// Its side.
    pub(crate) const fn side(self) -> AccessSide {
        match self.0 {
            1 => AccessSide::Server,
            _ => AccessSide::Client,
        }
    }

    /// Its user number, if it is a client.
    pub(crate) const fn user(self) -> Option<u32> {
        match self.0 {
            0 => Some(0),
            1 => None,
            number => Some(number - 1),
        }
    }

    /// Its first IPv4 address.
    pub(crate) fn address(self) -> Ipv4Addr {
        Ipv4Addr::from(u32::from(AccessSide::Client.address()) + self.0)
    }

    /// Its first IPv6 address.
    pub(crate) fn address_v6(self) -> Ipv6Addr {
        Ipv6Addr::from(u128::from(AccessSide::Client.address_v6()) + u128::from(self.0))
    }

    /// Both addresses.
    pub(crate) fn addresses(self) -> [IpAddr; 2] {
        [self.address().into(), self.address_v6().into()]
    }

    /// Its interface in the middle namespace.
    pub(crate) fn interface(self) -> String {
        match self.user() {
            None => "server".to_owned(),
            Some(0) => "client".to_owned(),
            Some(user) => format!("client{user}"),
        }
    }

    pub(crate) fn hardware_address(self) -> String {
        format!("02:00:00:00:00:{:02x}", self.0 + 1)
    }
}

/// One of the two ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessSide {
    /// The side that opens connections.
    Client,
    /// The side that accepts them.
    Server,
}

impl AccessSide {
    /// Both sides.
    pub const BOTH: [AccessSide; 2] = [AccessSide::Client, AccessSide::Server];

    /// Its first IPv4 address.
    pub const fn address(self) -> Ipv4Addr {
        match self {
            AccessSide::Client => Ipv4Addr::new(10, 0, 0, 1),
            AccessSide::Server => Ipv4Addr::new(10, 0, 0, 2),
        }
    }

    /// Its first IPv6 address, unique local (RFC 4193).
    pub const fn address_v6(self) -> Ipv6Addr {
        match self {
            AccessSide::Client => Ipv6Addr::new(0xfd00, 0xfa, 0, 0, 0, 0, 0, 1),
            AccessSide::Server => Ipv6Addr::new(0xfd00, 0xfa, 0, 0, 0, 0, 0, 2),
        }
    }

    /// The opposite side.
    pub const fn peer(self) -> AccessSide {
        match self {
            AccessSide::Client => AccessSide::Server,
            AccessSide::Server => AccessSide::Client,
        }
    }
}

/// Intermediary between clients and servers. Its addresses follow the last client's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BetweenHosts {
    /// Clients talk to servers directly.
    #[default]
    Nobody,
    /// Clients talk to the proxy, at the network's far end, and the proxy to servers.
    Proxy,
    /// The near half, at the clients' side, takes over the connections that clients open to servers; the far half,
    /// beyond the network, talks to servers.
    Halves,
}

impl BetweenHosts {
    /// Number of its hosts.
    pub(crate) const fn hosts(self) -> u32 {
        match self {
            BetweenHosts::Nobody => 0,
            BetweenHosts::Proxy => 1,
            BetweenHosts::Halves => 2,
        }
    }

    /// The proxy, numbered after `clients` clients.
    pub(crate) fn proxy(self, clients: u32) -> Option<HostId> {
        (self == BetweenHosts::Proxy).then(|| HostId::behind(clients))
    }

    /// The near half and the far half, numbered after `clients` clients.
    pub(crate) fn halves(self, clients: u32) -> Option<[HostId; 2]> {
        (self == BetweenHosts::Halves)
            .then(|| [HostId::behind(clients), HostId::behind(clients + 1)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_two_have_the_sides_addresses() {
        for (end, side) in HostId::all(1).zip(AccessSide::BOTH) {
            assert_eq!(
                (end.side(), end.address(), end.address_v6()),
                (side, side.address(), side.address_v6())
            );
        }
    }

    #[test]
    fn users_and_hosts_are_told_apart() {
        let users: Vec<_> = HostId::all(3).map(HostId::user).collect();
        assert_eq!(users, [Some(0), None, Some(1), Some(2)]);
        for user in 0..3 {
            assert_eq!(HostId::client(user).user(), Some(user));
        }
        assert_eq!(HostId::client(2).address().to_string(), "10.0.0.4");
        assert_eq!(HostId::client(2).hardware_address(), "02:00:00:00:00:04");
        assert_eq!(HostId::client(2).interface(), "client2");
    }
}
