//! Connection migration: a client whose address changes while it is connected (RFC 9000 section 9), as when a NAT
//! rebinds it or a network gives it another port.
//!
//! At that time each connection whose handshake is complete continues from a new socket. The server sees packets from
//! elsewhere, follows them and validates the path (PATH_CHALLENGE, section 8.2). Only the port changes: a host has one
//! IP address in either world. For a server that means a NAT rebinding, after which quinn keeps the congestion window
//! and the round-trip time (section 9.4 allows it); another IP address would reset both.

use std::net::SocketAddr;
use std::sync::Arc;

use units::Time;
use world::BatchSocket;

use super::socket::Socket;

/// Moves `connection`, the only one of `endpoint`, at this time, unless it has ended by then. A connection whose
/// handshake is incomplete stays.
pub(super) async fn migrate(
    endpoint: quinn::Endpoint,
    connection: quinn::Connection,
    peer: SocketAddr,
    at: Time,
) {
    if at <= world::now() {
        return;
    }
    let span = at.since(world::now());
    if world::timeout(span, connection.closed()).await.is_ok() {
        return;
    }
    // A client that gets no other address keeps its own.
    if let Ok(socket) = BatchSocket::connect(peer) {
        let _ = endpoint.rebind_abstract(Arc::new(Socket::own(socket)));
    }
}
