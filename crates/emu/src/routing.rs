//! Routing of packets, by the host that sent them and their addresses.

use std::collections::BTreeMap;
use std::net::IpAddr;

use crate::hosts::HostId;
use crate::{AccessSide, BetweenHosts};

/// The hosts of an emulation.
pub(crate) struct HostTable {
    /// Client of each address.
    users: BTreeMap<IpAddr, u32>,
    /// Intermediary between clients and servers.
    middle: Middle,
}

#[derive(Clone, Copy)]
enum Middle {
    Nobody,
    Proxy(HostId),
    Halves { near: HostId, far: HostId },
}

/// Route of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PacketRoute {
    /// Side of its origin: an intermediary is a server to clients, and a client to servers.
    pub(crate) from: AccessSide,
    /// Its destination.
    pub(crate) to: HostId,
    /// The links in between.
    pub(crate) reach: LinkReach,
    /// User that it belongs to. Packets that no client sends or receives count as the first client's.
    pub(crate) user: u32,
}

/// The pair that a packet passes between, as far as it determines the links in between.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum LinkReach {
    /// This address at the server's side, and the nearest host in front of it.
    Server(IpAddr),
    /// A client, and the near half in front of it.
    Near,
    /// A client, or the near half in front of it, and this server, beyond the proxy or the far half.
    Past(IpAddr),
}

impl HostTable {
    /// Places of `clients` clients and the intermediary, if any.
    pub(crate) fn new(clients: u32, between: BetweenHosts) -> HostTable {
        let middle = match (between.proxy(clients), between.halves(clients)) {
            (Some(proxy), _) => Middle::Proxy(proxy),
            (_, Some([near, far])) => Middle::Halves { near, far },
            (None, None) => Middle::Nobody,
        };
        let clients = (0..clients).map(|user| (HostId::client(user).addresses(), user));
        let users = clients.flat_map(|(addresses, user)| addresses.map(|address| (address, user)));
        HostTable { users: users.collect(), middle }
    }

    /// The route of a packet sent by `end`.
    pub(crate) fn leg(&self, end: HostId, source: IpAddr, destination: IpAddr) -> PacketRoute {
        let to_user = self.users.get(&destination).copied();
        match self.middle {
            Middle::Nobody => match end.user() {
                Some(user) => PacketRoute::up(HostId::SERVER, destination, user),
                // Packets to unknown addresses count as the first client's.
                None => PacketRoute::down(source, to_user.unwrap_or(0)),
            },
            Middle::Proxy(proxy) => {
                let to_proxy = proxy.addresses().contains(&destination).then_some(proxy);
                match (end == proxy, end.user(), to_proxy) {
                    (true, ..) => to_user.map_or_else(
                        || PacketRoute::up(HostId::SERVER, destination, 0),
                        |user| PacketRoute::down(source, user),
                    ),
                    (_, Some(user), Some(to)) => PacketRoute::up(to, destination, user),
                    (_, Some(user), None) => {
                        let past = PacketRoute::up(HostId::SERVER, destination, user);
                        PacketRoute { reach: LinkReach::Past(destination), ..past }
                    }
                    (_, None, Some(to)) => PacketRoute::back(to, LinkReach::Server(source)),
                    (_, None, None) => {
                        let past = PacketRoute::down(source, to_user.unwrap_or(0));
                        PacketRoute { reach: LinkReach::Past(source), ..past }
                    }
                }
            }
            Middle::Halves { near, far } => {
                let is_for = |end: HostId| end.addresses().contains(&destination);
                if end == near {
                    return match to_user {
                        Some(user) => PacketRoute {
                            reach: LinkReach::Near,
                            ..PacketRoute::down(source, user)
                        },
                        None if is_for(far) => PacketRoute::up(far, destination, 0),
                        None => {
                            let past = PacketRoute::up(HostId::SERVER, destination, 0);
                            PacketRoute { reach: LinkReach::Past(destination), ..past }
                        }
                    };
                }
                if end == far {
                    return match is_for(near) {
                        true => PacketRoute::back(near, LinkReach::Server(source)),
                        false => PacketRoute::up(HostId::SERVER, destination, 0),
                    };
                }
                match end.user() {
                    Some(user) => PacketRoute {
                        reach: LinkReach::Near,
                        ..PacketRoute::up(near, destination, user)
                    },
                    None if is_for(near) => PacketRoute::back(near, LinkReach::Past(source)),
                    None => PacketRoute::back(far, LinkReach::Server(source)),
                }
            }
        }
    }
}

impl PacketRoute {
    fn up(to: HostId, server: IpAddr, user: u32) -> PacketRoute {
        PacketRoute { from: AccessSide::Client, to, reach: LinkReach::Server(server), user }
    }

    fn down(server: IpAddr, user: u32) -> PacketRoute {
        PacketRoute {
            to: HostId::client(user),
            user,
            ..PacketRoute::back(HostId::client(user), LinkReach::Server(server))
        }
    }

    /// Route towards the intermediary.
    fn back(to: HostId, reach: LinkReach) -> PacketRoute {
        PacketRoute { from: AccessSide::Server, to, reach, user: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn without_a_proxy_all_is_between_clients_and_servers() {
        let hosts = HostTable::new(2, BetweenHosts::Nobody);
        let host = at("10.1.0.1");
        let up = hosts.leg(HostId::client(1), at("10.0.0.3"), host);
        assert_eq!(
            up,
            PacketRoute {
                from: AccessSide::Client,
                to: HostId::SERVER,
                reach: LinkReach::Server(host),
                user: 1
            }
        );
        let down = hosts.leg(HostId::SERVER, host, at("10.0.0.3"));
        assert_eq!(
            down,
            PacketRoute {
                from: AccessSide::Server,
                to: HostId::client(1),
                reach: LinkReach::Server(host),
                user: 1
            }
        );
        assert_eq!(hosts.leg(HostId::SERVER, host, at("192.0.2.1")).user, 0);
    }

    #[test]
    fn a_proxy_is_a_server_to_clients_and_a_client_to_servers() {
        let proxy = HostId::client(2);
        let hosts = HostTable::new(2, BetweenHosts::Proxy);
        let (own, host, client) = (at("10.0.0.4"), at("10.1.0.1"), at("10.0.0.3"));
        assert!(proxy.addresses().contains(&own));
        let leg = |end, source, destination| hosts.leg(end, source, destination);
        let asked = leg(HostId::client(1), client, own);
        assert_eq!(
            asked,
            PacketRoute {
                from: AccessSide::Client,
                to: proxy,
                reach: LinkReach::Server(own),
                user: 1
            }
        );
        let answered = leg(proxy, own, client);
        assert_eq!(
            answered,
            PacketRoute {
                from: AccessSide::Server,
                to: HostId::client(1),
                reach: LinkReach::Server(own),
                user: 1
            }
        );
        let asks = leg(proxy, own, host);
        assert_eq!(
            asks,
            PacketRoute {
                from: AccessSide::Client,
                to: HostId::SERVER,
                reach: LinkReach::Server(host),
                user: 0
            }
        );
        let is_answered = leg(HostId::SERVER, host, own);
        assert_eq!(
            is_answered,
            PacketRoute {
                from: AccessSide::Server,
                to: proxy,
                reach: LinkReach::Server(host),
                user: 0
            }
        );
        // Direct, bypassing the proxy.
        let past = leg(HostId::client(0), at("10.0.0.1"), host);
        assert_eq!((past.to, past.reach), (HostId::SERVER, LinkReach::Past(host)));
        let back = leg(HostId::SERVER, host, client);
        assert_eq!((back.to, back.reach), (HostId::client(1), LinkReach::Past(host)));
    }

    #[test]
    fn halves_lie_between_clients_and_servers() {
        let (near, far) = (HostId::client(1), HostId::client(2));
        let hosts = HostTable::new(1, BetweenHosts::Halves);
        let (client, host) = (at("10.0.0.1"), at("10.1.0.1"));
        let [at_near, at_far] = [near, far].map(|end| end.addresses()[0]);
        let leg = |end, source, destination| hosts.leg(end, source, destination);
        let up = |to, reach| PacketRoute { from: AccessSide::Client, to, reach, user: 0 };
        let down = |to, reach| PacketRoute { from: AccessSide::Server, to, reach, user: 0 };
        // Connections to the host end at the near half, which replies in its name.
        assert_eq!(leg(HostId::client(0), client, host), up(near, LinkReach::Near));
        assert_eq!(leg(near, host, client), down(HostId::client(0), LinkReach::Near));
        assert_eq!(leg(near, at_near, at_far), up(far, LinkReach::Server(at_far)));
        assert_eq!(leg(far, at_far, at_near), down(near, LinkReach::Server(at_far)));
        assert_eq!(leg(far, at_far, host), up(HostId::SERVER, LinkReach::Server(host)));
        assert_eq!(leg(HostId::SERVER, host, at_far), down(far, LinkReach::Server(host)));
        // Direct, bypassing the far half.
        assert_eq!(leg(near, at_near, host), up(HostId::SERVER, LinkReach::Past(host)));
        assert_eq!(leg(HostId::SERVER, host, at_near), down(near, LinkReach::Past(host)));
    }
}
