//! Rules on addresses.

use std::net::{IpAddr, SocketAddr};

use ipnet::IpNet;

/// Destinations that the far end may connect to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reach {
    /// Only these networks, if any are named.
    pub only: Vec<IpNet>,
    /// Exceptions for addresses that belong to the far end itself and its neighbours: see [`Reach::allows`].
    pub also: Vec<IpNet>,
}

impl Reach {
    /// Returns true if the far end may connect to `target`. Loopback, link-local, unspecified, broadcast and multicast addresses have
    /// another meaning at the far end than at the client: they are refused unless named in `also`.
    pub fn allows(&self, target: SocketAddr) -> bool {
        let address = target.ip().to_canonical();
        let named = self.only.is_empty() || within(&self.only, address);
        within(&self.also, address) || named && !is_local(address)
    }
}

/// Returns true if `address` is in one of `networks`. IPv4-mapped IPv6 (`::ffff:10.0.0.1`) counts as IPv4.
pub(crate) fn within(networks: &[IpNet], address: IpAddr) -> bool {
    let address = address.to_canonical();
    networks.iter().any(|network| network.contains(&address))
}

fn is_local(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => {
            address.is_loopback()
                || address.is_unspecified()
                || address.is_link_local()
                || address.is_broadcast()
                || address.is_multicast()
        }
        IpAddr::V6(address) => {
            address.is_loopback()
                || address.is_unspecified()
                || address.is_unicast_link_local()
                || address.is_multicast()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_far_end_is_no_way_into_itself() {
        let target = |text: &str| text.parse::<SocketAddr>().unwrap();
        let mut reach = Reach::default();
        assert!(reach.allows(target("192.0.2.1:80")));
        let locals =
            ["127.0.0.1:80", "[::1]:80", "169.254.169.254:80", "0.0.0.0:1", "[::ffff:127.0.0.1]:9"];
        for local in locals {
            assert!(!reach.allows(target(local)), "{local}");
        }
        reach.also.push("127.0.0.1/32".parse().unwrap());
        assert!(reach.allows(target("127.0.0.1:80")));
        assert!(reach.allows(target("[::ffff:127.0.0.1]:80")));
        reach.only.push("10.0.0.0/8".parse().unwrap());
        assert!(!reach.allows(target("192.0.2.1:80")));
        assert!(reach.allows(target("10.1.1.1:80")));
    }
}
