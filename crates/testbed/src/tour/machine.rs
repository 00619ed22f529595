//! A machine that serves hosts of a page: one of them, or all.

use http_stack::Push;
use http_stack::server::{Answer, Handler, RequestHead};
use proxy::{Origin, VirtualHosts};

/// Handler of its requests.
pub(crate) enum Machine {
    /// One host.
    Host(Origin),
    /// All hosts, told apart by name.
    Hosts(VirtualHosts),
}

impl Handler for Machine {
    fn handle(&self, request: RequestHead<'_>) -> Answer {
        match self {
            Machine::Host(origin) => origin.handle(request),
            Machine::Hosts(hosts) => hosts.handle(request),
        }
    }

    fn pushes(&self, request: RequestHead<'_>) -> Vec<Push> {
        match self {
            Machine::Host(origin) => origin.pushes(request),
            Machine::Hosts(hosts) => hosts.pushes(request),
        }
    }
}
