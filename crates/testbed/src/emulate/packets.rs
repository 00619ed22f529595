//! Retransmissions of connections, seen in the emulator's packets while the connections last.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use emu::derive::conversations;
use emu::{Drop, Observer, Passages, Sighting};
use serde::{Deserialize, Serialize};
use tcp::Retransmit;
use units::Time;
use world::report::Endpoint;

/// Log of every packet, written by the emulator's thread and read by the supervisor.
#[derive(Clone, Default)]
pub(super) struct SharedPassages(Arc<Mutex<Passages>>);

/// Retransmissions of both ends of a connection, as seen on the wire: the kernel counts them, but does not
/// record times.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct SentAgain {
    client: SocketAddr,
    server: SocketAddr,
    up: Vec<Retransmit>,
    down: Vec<Retransmit>,
}

impl SharedPassages {
    fn lock(&self) -> MutexGuard<'_, Passages> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Retransmissions so far, for connections that have any.
    pub(super) fn sent_again(&self) -> Vec<SentAgain> {
        let passages = self.lock().0.clone();
        let connections = conversations(&passages).into_iter().map(|connection| SentAgain {
            client: connection.client,
            server: connection.server,
            up: connection.up.retransmits,
            down: connection.down.retransmits,
        });
        connections.filter(|sent| !sent.up.is_empty() || !sent.down.is_empty()).collect()
    }
}

impl Observer for SharedPassages {
    fn entered(&mut self, at: Time, packet: &Sighting<'_>) {
        self.lock().entered(at, packet);
    }

    fn delivered(&mut self, due: Time, left: Time, packet: &Sighting<'_>) {
        self.lock().delivered(due, left, packet);
    }

    fn dropped(&mut self, number: u64, drop: &Drop) {
        self.lock().dropped(number, drop);
    }
}

/// The peer of `one`, if only the wire shows it.
pub(super) fn other_end(one: &Endpoint) -> Endpoint {
    Endpoint {
        local: one.peer,
        peer: one.local,
        cookie: None,
        active: !one.active,
        stats: None,
        ..one.without_series()
    }
}

/// Adds their retransmissions to the ends of connections.
pub(super) fn tell(endpoints: &mut [Endpoint], sent: &[SentAgain]) {
    for endpoint in endpoints {
        let (client, server) = match endpoint.active {
            true => (endpoint.local, endpoint.peer),
            false => (endpoint.peer, endpoint.local),
        };
        // If an address is used twice in a journey, the later connection also gets all of them.
        let its = sent.iter().filter(|sent| (sent.client, sent.server) == (client, server));
        let side =
            |sent: &SentAgain| if endpoint.active { sent.up.clone() } else { sent.down.clone() };
        endpoint.retransmits = its.flat_map(side).collect();
    }
}
