//! The connections of a visit, collected from its requests.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use browser::{Arm, ConnectionUse};

use super::request::{Clock, Request};

/// Connections in order of first use, and the positions of their ids.
pub(super) struct Connections {
    pub(super) used: Vec<ConnectionUse>,
    positions: BTreeMap<u64, u32>,
    /// Their local addresses, if known.
    locals: BTreeMap<u64, SocketAddr>,
}

impl Connections {
    pub(super) fn new(locals: BTreeMap<u64, SocketAddr>) -> Connections {
        Connections { used: Vec::new(), positions: BTreeMap::new(), locals }
    }

    /// Adds `request`, of `host`, to its connection; returns the connection's position.
    pub(super) fn count(
        &mut self,
        request: &Request,
        host: &str,
        arm: Arm,
        clock: Clock,
    ) -> Option<u32> {
        let id = request.connection()?;
        let position = *self.positions.entry(id).or_insert_with(|| {
            let local = self.locals.get(&id).copied();
            self.used.push(ConnectionUse { local, ..begun(request, host, arm, clock) });
            self.used.len() as u32 - 1
        });
        let connection = &mut self.used[position as usize];
        connection.requests += 1;
        // The request that opened it may have been given another one that was free sooner.
        if connection.connected.is_none() {
            let opened = begun(request, host, arm, clock);
            if opened.connected.is_some() {
                let ConnectionUse { requests, local, .. } = *connection;
                *connection = ConnectionUse { requests, local, ..opened };
            }
        }
        Some(position)
    }
}

/// A connection with the timing of the request that opened it; a later request only knows when it was used.
fn begun(request: &Request, host: &str, arm: Arm, clock: Clock) -> ConnectionUse {
    let timing = request.response.as_ref().and_then(|response| response.timing.as_ref());
    let at = |ms: f64| timing.and_then(|timing| timing.at(ms)).map(|seconds| clock.time(seconds));
    let secured = timing.and_then(|timing| at(timing.ssl_end));
    let connected = timing.and_then(|timing| at(timing.ssl_start).or(at(timing.connect_end)));
    let started = timing.and_then(|timing| at(timing.connect_start));
    ConnectionUse {
        host: arm.peer(host).to_owned(),
        arm,
        local: None,
        started: started.unwrap_or(clock.time(request.discovered)),
        connected,
        secured,
        closed: None,
        requests: 0,
    }
}
