//! The ports of a running proxy, when its configuration changes: one that cannot be had is refused before any worker hears of it.

use std::collections::BTreeSet;
use std::net::{SocketAddr, TcpListener};

use proxy::config::Settings;

use crate::failure::Failure;

/// The addresses that a configuration names.
pub struct Ports(BTreeSet<SocketAddr>);

impl Ports {
    /// Those that are listened on.
    pub fn of(settings: &Settings) -> Ports {
        Ports(settings.listeners.iter().map(|listener| listener.address).collect())
    }

    /// Those that `settings` ask for, if the new ones can be had.
    pub fn asked_by(&self, settings: &Settings) -> Result<Ports, Failure> {
        let asked = Ports::of(settings);
        // An address with a port that we hold already, on another address, is for the workers to try: they share ports, this test does not.
        let is_new = |address: &&SocketAddr| {
            address.port() != 0 && !self.0.iter().any(|held| held.port() == address.port())
        };
        for address in asked.0.iter().filter(is_new) {
            TcpListener::bind(address).map_err(|error| {
                let hint = "another program listens there, or the port needs more rights: name another address";
                Failure::machine(format!("cannot listen on {address}: {error}")).hint(hint.to_owned())
            })?;
        }
        Ok(asked)
    }
}
