//! Pings: UDP datagrams that an echo service (RFC 862) returns.
//!
//! UDP's header is as long as that of ICMP's echo (RFC 792), so packets are as large as those of `ping`,
//! without the privilege that an ICMP socket needs. Like `ping`, the sender goes by the clock, independently of
//! answers.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;

use world::UdpSocket;

use super::{ECHO_PORT, TRAFFIC_SERVER, Ticks};

/// The headers of IPv4 and of UDP.
const HEADERS: u64 = 20 + 8;

/// Larger than any ping.
const DATAGRAM: usize = 2048;

/// Starts to send pings of `size_bytes`, headers included, from the client at `from`.
pub(super) fn start_pings(from: IpAddr, ticks: Ticks, size_bytes: u64) -> io::Result<()> {
    let socket = Rc::new(UdpSocket::bind(SocketAddr::new(from, 0))?);
    let payload_bytes = size_bytes.saturating_sub(HEADERS) as usize;
    world::spawn(discard_echoes(Rc::clone(&socket)));
    world::spawn(send_pings(socket, ticks, payload_bytes));
    Ok(())
}

/// Receives the answers and discards them.
async fn discard_echoes(socket: Rc<UdpSocket>) {
    while socket.recv_from(&mut [0; DATAGRAM]).await.is_ok() {}
}

async fn send_pings(socket: Rc<UdpSocket>, mut ticks: Ticks, payload_bytes: usize) {
    let mut payload = vec![0; payload_bytes];
    for number in 0_u64.. {
        ticks.tick().await;
        // Numbered as in `ping`, as far as there is room.
        for (byte, of_number) in payload.iter_mut().zip(number.to_be_bytes()) {
            *byte = of_number;
        }
        // A ping that the network rejects is lost: the next one follows.
        let _ = socket.send_to(&payload, SocketAddr::new(TRAFFIC_SERVER, ECHO_PORT)).await;
    }
}

/// Echoes every datagram.
pub(super) async fn echo(socket: UdpSocket) {
    let mut datagram = [0; DATAGRAM];
    while let Ok((bytes, from)) = socket.recv_from(&mut datagram).await {
        let _ = socket.send_to(&datagram[..bytes], from).await;
    }
}
