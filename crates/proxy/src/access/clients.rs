//! Access control by client address.

use std::net::IpAddr;

use ipnet::IpNet;

/// The clients that are served, by their addresses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Clients {
    /// Their networks; empty to serve all addresses.
    pub networks: Vec<IpNet>,
}

impl Clients {
    /// Returns true if a client at `address` is served. An IPv4-mapped IPv6 address counts as the IPv4 address.
    pub fn permit(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.networks.is_empty() || self.networks.iter().any(|network| network.contains(&address))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_outside_the_networks_are_not_served() {
        let clients = Clients { networks: vec!["10.0.0.0/8".parse().unwrap()] };
        assert!(clients.permit("10.9.8.7".parse().unwrap()));
        assert!(clients.permit("::ffff:10.9.8.7".parse().unwrap()));
        assert!(!clients.permit("11.0.0.1".parse().unwrap()));
        assert!(Clients::default().permit("11.0.0.1".parse().unwrap()));
    }
}
