//! Activity of the proxy or PEP between a client and the page's hosts, known to the client's node from the
//! latest report.

use std::cell::{Cell, RefCell};
use std::net::IpAddr;

use page::Page;
use record::{Carried, Event, Proxied};
use units::Time;
use world::report::Endpoint;

use super::messages::ServerReport;
use crate::tour::{self, PepPlace};
use scenario::Scenario;

/// The intermediary between a client and the hosts.
pub(super) enum Between {
    Nobody,
    Proxy(Middleman),
    Pep(Split),
}

/// An HTTP proxy.
pub(super) struct Middleman {
    address: IpAddr,
    proxied: RefCell<Vec<Proxied>>,
    endpoints: RefCell<Vec<Endpoint>>,
}

/// A PEP.
pub(super) struct Split {
    place: PepPlace,
    carried: Cell<Option<Carried>>,
    endpoints: RefCell<Vec<Endpoint>>,
}

impl Between {
    /// The intermediary of a scenario.
    pub(super) fn of(scenario: &Scenario) -> Between {
        let endpoints = RefCell::default();
        if let Some(place) = PepPlace::of(scenario) {
            return Between::Pep(Split { place, carried: Cell::default(), endpoints });
        }
        let Some(address) = tour::proxy_address(scenario) else { return Between::Nobody };
        Between::Proxy(Middleman { address, proxied: RefCell::default(), endpoints })
    }

    /// Takes over a report of the nodes behind the network.
    pub(super) fn hear(&self, servers: &ServerReport) {
        let own = |addresses: &[IpAddr]| {
            let ends = servers.endpoints.iter();
            ends.filter(|end| addresses.contains(&end.local.ip())).cloned().collect()
        };
        match self {
            Between::Nobody => {}
            Between::Proxy(Middleman { address, proxied, endpoints }) => {
                proxied.borrow_mut().clone_from(&servers.proxied);
                *endpoints.borrow_mut() = own(&[*address]);
            }
            Between::Pep(Split { place, carried, endpoints }) => {
                carried.set(servers.carried);
                *endpoints.borrow_mut() = own(&[place.near, place.far]);
            }
        }
    }

    /// Events of the intermediary since `since`, on behalf of the client at `client`, which loads `page`.
    pub(super) fn events(&self, page: &Page, client: IpAddr, since: Time) -> Vec<Event> {
        match self {
            Between::Nobody => Vec::new(),
            Between::Proxy(Middleman { address, proxied, endpoints }) => {
                let (proxied, endpoints) = (proxied.borrow(), endpoints.borrow());
                tour::proxied_events(page, &proxied, &endpoints, client, &[*address], since)
            }
            Between::Pep(Split { place, endpoints, .. }) => {
                tour::pep_events(*place, &endpoints.borrow(), since)
            }
        }
    }

    /// Counters of a PEP so far.
    pub(super) fn carried(&self) -> Option<Carried> {
        match self {
            Between::Pep(Split { carried, .. }) => carried.get(),
            Between::Nobody | Between::Proxy(_) => None,
        }
    }
}
