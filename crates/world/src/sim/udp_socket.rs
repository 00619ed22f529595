//! UDP sockets of the simulated world.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use tokio::io::ReadBuf;

use super::executor::current_node;
use super::state::{self, State};
use super::topology::{Body, Port, Topology};

/// A handle: a slot, and the address for those who ask.
pub(crate) struct UdpSocket {
    slot: u32,
    local: SocketAddr,
}

struct Socket {
    here: Port,
    inbox: VecDeque<(Port, Bytes)>,
    reader: Option<Waker>,
}

#[derive(Default)]
pub(super) struct UdpSockets {
    slots: Vec<Option<Socket>>,
}

impl UdpSocket {
    pub(crate) fn bind(address: SocketAddr) -> io::Result<UdpSocket> {
        state::with(|state| {
            let here = state.local_port(address)?;
            let slot = state.udp.slots.len() as u32;
            if !state.demux.add_udp(here, slot) {
                return Err(io::ErrorKind::AddrInUse.into());
            }
            let socket = Socket { here, inbox: VecDeque::new(), reader: None };
            state.udp.slots.push(Some(socket));
            Ok(UdpSocket { slot, local: state.topology.address(here) })
        })
    }

    pub(crate) fn local_addr(&self) -> SocketAddr {
        self.local
    }

    pub(crate) fn send_to(&self, data: &[u8], to: SocketAddr) -> io::Result<()> {
        state::with(|state| {
            let here = state.udp.get(self.slot).here;
            let there = state.remote_port(to)?;
            let route = state
                .topology
                .route(here.node, there.node)
                .ok_or(io::ErrorKind::NetworkUnreachable)?;
            let body = Body::Udp(Bytes::copy_from_slice(data));
            state.send(Topology::packet(here, there, route, body));
            Ok(())
        })
    }

    pub(crate) fn poll_recv_from(
        &self,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<SocketAddr> {
        state::with(|state| {
            let socket = state.udp.get(self.slot);
            match socket.inbox.pop_front() {
                Some((from, data)) => {
                    let fits = data.len().min(buf.remaining());
                    buf.put_slice(&data[..fits]);
                    Poll::Ready(state.topology.address(from))
                }
                None => {
                    socket.reader = Some(cx.waker().clone());
                    Poll::Pending
                }
            }
        })
    }
}

impl Drop for UdpSocket {
    fn drop(&mut self) {
        state::with_if_any(|state| {
            if let Some(socket) = state.udp.slots[self.slot as usize].take() {
                state.demux.remove_udp(socket.here);
            }
        });
    }
}

impl UdpSockets {
    fn get(&mut self, slot: u32) -> &mut Socket {
        self.slots[slot as usize].as_mut().expect("a UDP socket lives as long as its handle")
    }
}

impl State {
    /// The port that `address` names here: one of the current node's.
    pub(super) fn local_port(&mut self, address: SocketAddr) -> io::Result<Port> {
        let node = if address.ip().is_unspecified() {
            current_node()
        } else {
            self.topology.node_at(address.ip()).ok_or(io::ErrorKind::AddrNotAvailable)?
        };
        Ok(match address.port() {
            0 => self.demux.ephemeral(node),
            port => Port { node, port },
        })
    }

    /// The port that `address` names, anywhere.
    pub(super) fn remote_port(&self, address: SocketAddr) -> io::Result<Port> {
        let node = self.topology.node_at(address.ip()).ok_or_else(|| {
            io::Error::new(
                io::ErrorKind::HostUnreachable,
                format!("no node has the address {}", address.ip()),
            )
        })?;
        Ok(Port { node, port: address.port() })
    }

    pub(super) fn udp_arrived(&mut self, from: Port, to: Port, data: Bytes) {
        let Some(slot) = self.demux.udp(to) else { return };
        let socket = self.udp.get(slot);
        socket.inbox.push_back((from, data));
        if let Some(reader) = socket.reader.take() {
            self.rouse(to.node, reader);
        }
    }
}
