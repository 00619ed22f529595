//! The ports of a running proxy, when its configuration changes: an unavailable port is rejected before any worker
//! gets the configuration.

use std::collections::BTreeSet;
use std::io;
use std::net::{SocketAddr, TcpListener, UdpSocket};

use proxy::config::Settings;
use proxy::serve::NoPort;

use crate::failure::Failure;

/// The addresses that a configuration names.
pub struct Ports {
    tcp: BTreeSet<SocketAddr>,
    /// Addresses for HTTP/3.
    udp: BTreeSet<SocketAddr>,
}

impl Ports {
    /// The addresses that `settings` listen on.
    pub fn of(settings: &Settings) -> Ports {
        let listeners = settings.listeners.iter();
        let tcp = listeners.clone().map(|listener| listener.address).collect();
        let quic = listeners.filter(|listener| listener.http3.is_some());
        Ports { tcp, udp: quic.map(|listener| listener.address).collect() }
    }

    /// The addresses that `settings` ask for, if the new ones are available.
    pub fn asked_by(&self, settings: &Settings) -> Result<Ports, Failure> {
        let asked = Ports::of(settings);
        try_new(&self.tcp, &asked.tcp, false, |address| TcpListener::bind(address).map(drop))?;
        try_new(&self.udp, &asked.udp, true, |address| UdpSocket::bind(address).map(drop))?;
        Ok(asked)
    }
}

/// Checks that the addresses in `asked` that are not `held` are available.
fn try_new(
    held: &BTreeSet<SocketAddr>,
    asked: &BTreeSet<SocketAddr>,
    is_udp: bool,
    bind: impl Fn(SocketAddr) -> io::Result<()>,
) -> Result<(), Failure> {
    // An address whose port we already hold on another address is left to the workers: they share ports, this test
    // does not.
    let is_new = |address: &&SocketAddr| {
        address.port() != 0 && !held.iter().any(|held| held.port() == address.port())
    };
    for address in asked.iter().filter(is_new).copied() {
        bind(address).map_err(|source| {
            let hint = "another program listens there, or the port needs more rights: name another address";
            Failure::machine(NoPort { address, is_udp, source }).hint(hint.to_owned())
        })?;
    }
    Ok(())
}
