//! A client whose address changes while it is connected (RFC 9000 section 9), as when a NAT forgets it or a network gives it another port.
//!
//! At that time each connection whose handshake is over goes on from a new socket. The server sees packets from elsewhere, follows them and validates the path
//! (PATH_CHALLENGE, section 8.2). It is the port that changes: a host has one IP address in either world. For a server that means a NAT
//! rebinding, after which quinn keeps the congestion window and the round trip (section 9.4 allows it); another IP address would start both anew.

use std::net::SocketAddr;
use std::sync::Arc;

use units::Time;
use world::BatchSocket;

use super::socket::Socket;

/// Moves `connection`, the only one of `endpoint`, at this time, unless it has ended by then. One that is younger stays where it is.
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
    // A client without another address keeps the one that it has.
    if let Ok(socket) = BatchSocket::connect(peer) {
        let _ = endpoint.rebind_abstract(Arc::new(Socket::own(socket)));
    }
}
