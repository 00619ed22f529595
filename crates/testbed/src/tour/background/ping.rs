//! Pings: UDP datagrams that an echo service (RFC 862) sends back.
//!
//! UDP's header is as long as that of ICMP's echo (RFC 792), so packets are as large as those of `ping`, and no privilege is needed that
//! an ICMP socket would. Like `ping`, the sender goes by the clock, whether or not answers come.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;

use world::UdpSocket;

use super::{ECHO_PORT, TRAFFIC_SERVER, Ticks};

/// The headers of IPv4 and of UDP.
const HEADERS: u64 = 20 + 8;

/// More than any ping has.
const DATAGRAM: usize = 2048;

/// Sends pings of `size_bytes`, headers included, from the client at `from`, from then on.
pub(super) fn start(from: IpAddr, ticks: Ticks, size_bytes: u64) -> io::Result<()> {
    let socket = Rc::new(UdpSocket::bind(SocketAddr::new(from, 0))?);
    let payload_bytes = size_bytes.saturating_sub(HEADERS) as usize;
    world::spawn(forget(Rc::clone(&socket)));
    world::spawn(send(socket, ticks, payload_bytes));
    Ok(())
}

/// Takes the answers, which tell nobody anything.
async fn forget(socket: Rc<UdpSocket>) {
    while socket.recv_from(&mut [0; DATAGRAM]).await.is_ok() {}
}

async fn send(socket: Rc<UdpSocket>, mut ticks: Ticks, payload_bytes: usize) {
    let mut payload = vec![0; payload_bytes];
    for number in 0_u64.. {
        ticks.tick().await;
        // Numbered as `ping` does it, as far as there is room.
        for (byte, of_number) in payload.iter_mut().zip(number.to_be_bytes()) {
            *byte = of_number;
        }
        // What the network does not take is lost: the next one will do.
        let _ = socket.send_to(&payload, SocketAddr::new(TRAFFIC_SERVER, ECHO_PORT)).await;
    }
}

/// Sends everything back.
pub(super) async fn echo(socket: UdpSocket) {
    let mut datagram = [0; DATAGRAM];
    while let Ok((bytes, from)) = socket.recv_from(&mut datagram).await {
        let _ = socket.send_to(&datagram[..bytes], from).await;
    }
}
