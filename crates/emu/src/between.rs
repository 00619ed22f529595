//! Who stands between clients and servers: nobody, a proxy, or the two halves of one that splits connections.

use crate::end::End;

/// Who stands between clients and servers. Their addresses are those behind the last client's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Between {
    /// Clients speak with servers.
    #[default]
    Nobody,
    /// Clients speak with it, at the network's far end, and it with servers.
    Proxy,
    /// The near half stands where clients are and takes over the connections that they open to servers; the far half, beyond the network,
    /// speaks with servers.
    Halves,
}

impl Between {
    /// How many hosts that is.
    pub(crate) const fn hosts(self) -> u32 {
        match self {
            Between::Nobody => 0,
            Between::Proxy => 1,
            Between::Halves => 2,
        }
    }

    /// The proxy, behind so many clients.
    pub(crate) fn proxy(self, clients: u32) -> Option<End> {
        (self == Between::Proxy).then(|| End::behind(clients))
    }

    /// The near half and the far one, behind so many clients.
    pub(crate) fn halves(self, clients: u32) -> Option<[End; 2]> {
        (self == Between::Halves).then(|| [End::behind(clients), End::behind(clients + 1)])
    }
}
