//! Intermediary between clients and servers: none, a proxy, or the two halves of a split-connection proxy.

use crate::end::End;

/// Intermediary between clients and servers. Its addresses follow the last client's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Between {
    /// Clients talk to servers directly.
    #[default]
    Nobody,
    /// Clients talk to the proxy, at the network's far end, and the proxy to servers.
    Proxy,
    /// The near half, at the clients' side, takes over the connections that clients open to servers; the far half,
    /// beyond the network, talks to servers.
    Halves,
}

impl Between {
    /// Number of its hosts.
    pub(crate) const fn hosts(self) -> u32 {
        match self {
            Between::Nobody => 0,
            Between::Proxy => 1,
            Between::Halves => 2,
        }
    }

    /// The proxy, numbered after `clients` clients.
    pub(crate) fn proxy(self, clients: u32) -> Option<End> {
        (self == Between::Proxy).then(|| End::behind(clients))
    }

    /// The near half and the far half, numbered after `clients` clients.
    pub(crate) fn halves(self, clients: u32) -> Option<[End; 2]> {
        (self == Between::Halves).then(|| [End::behind(clients), End::behind(clients + 1)])
    }
}
