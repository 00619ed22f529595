//! UDP sockets of the simulated world.

use std::collections::VecDeque;
use std::io::{self, IoSliceMut};
use std::net::SocketAddr;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use quinn_udp::{EcnCodepoint, RecvMeta, Transmit};
use tcp::Ecn;
use tokio::io::ReadBuf;

use super::executor::current_node;
use super::state::{self, SimState};
use super::topology::{NodePort, PacketBody, SimDatagram, Topology};

/// A handle: a slot, and the address for queries.
#[derive(Debug)]
pub(crate) struct UdpSocket {
    slot: u32,
    local: SocketAddr,
}

struct BoundUdp {
    here: NodePort,
    inbox: VecDeque<(NodePort, SimDatagram)>,
    reader: Option<Waker>,
}

#[derive(Default)]
pub(super) struct UdpSockets {
    slots: Vec<Option<BoundUdp>>,
}

impl UdpSocket {
    pub(crate) fn bind(address: SocketAddr) -> io::Result<UdpSocket> {
        state::with(|state| {
            let here = state.local_port(address)?;
            let slot = state.udp.slots.len() as u32;
            if !state.demux.add_udp(here, slot) {
                return Err(io::ErrorKind::AddrInUse.into());
            }
            let socket = BoundUdp { here, inbox: VecDeque::new(), reader: None };
            state.udp.slots.push(Some(socket));
            Ok(UdpSocket { slot, local: state.topology.address(here) })
        })
    }

    pub(crate) fn local_addr(&self) -> SocketAddr {
        self.local
    }

    pub(crate) fn send_to(&self, data: &[u8], to: SocketAddr) -> io::Result<()> {
        let data = Bytes::copy_from_slice(data);
        self.send(to, [SimDatagram { data, ecn: Ecn::NotEct }])
    }

    /// Sends the datagrams into which `transmit` is cut, one after the other.
    pub(crate) fn transmit(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        let whole = Bytes::copy_from_slice(transmit.contents);
        let step = transmit.segment_size.unwrap_or(whole.len()).max(1);
        let ecn = if transmit.ecn.is_some() { Ecn::Ect0 } else { Ecn::NotEct };
        let cuts = (0..whole.len()).step_by(step);
        let pieces = cuts.map(|from| whole.slice(from..whole.len().min(from + step)));
        self.send(transmit.destination, pieces.map(|data| SimDatagram { data, ecn }))
    }

    fn send(&self, to: SocketAddr, data: impl IntoIterator<Item = SimDatagram>) -> io::Result<()> {
        state::with(|state| {
            let here = state.udp.get(self.slot).here;
            let there = state.remote_port(to)?;
            let route = state
                .topology
                .route(here.node, there.node)
                .ok_or(io::ErrorKind::NetworkUnreachable)?;
            for datagram in data {
                state.send(Topology::packet(here, there, route, PacketBody::Udp(datagram)));
            }
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
                Some((from, SimDatagram { data, .. })) => {
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

    /// Receives a datagram into each of `bufs`, as long as there are any; truncates those that do not fit.
    pub(crate) fn poll_receive(
        &self,
        cx: &mut Context<'_>,
        bufs: &mut [IoSliceMut<'_>],
        metas: &mut [RecvMeta],
    ) -> Poll<usize> {
        state::with(|state| {
            let SimState { udp, topology, .. } = state;
            let socket = udp.get(self.slot);
            let mut received = 0;
            for (buf, meta) in bufs.iter_mut().zip(metas) {
                let Some((from, SimDatagram { data, ecn })) = socket.inbox.pop_front() else {
                    break;
                };
                let len = data.len().min(buf.len());
                buf[..len].copy_from_slice(&data[..len]);
                let (addr, ecn) = (topology.address(from), codepoint(ecn));
                *meta = RecvMeta { addr, len, stride: len, ecn, dst_ip: Some(self.local.ip()) };
                received += 1;
            }
            if received == 0 {
                socket.reader = Some(cx.waker().clone());
                return Poll::Pending;
            }
            Poll::Ready(received)
        })
    }
}

fn codepoint(ecn: Ecn) -> Option<EcnCodepoint> {
    match ecn {
        Ecn::NotEct => None,
        Ecn::Ect0 => Some(EcnCodepoint::Ect0),
        Ecn::Ce => Some(EcnCodepoint::Ce),
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
    fn get(&mut self, slot: u32) -> &mut BoundUdp {
        self.slots[slot as usize].as_mut().expect("a UDP socket lives as long as its handle")
    }
}

impl SimState {
    /// The port that `address` names on the current node.
    pub(super) fn local_port(&mut self, address: SocketAddr) -> io::Result<NodePort> {
        let node = if address.ip().is_unspecified() {
            current_node()
        } else {
            self.topology.node_at(address.ip()).ok_or(io::ErrorKind::AddrNotAvailable)?
        };
        Ok(match address.port() {
            0 => self.demux.ephemeral(node),
            port => NodePort { node, port },
        })
    }

    /// The port that `address` names, anywhere.
    pub(super) fn remote_port(&self, address: SocketAddr) -> io::Result<NodePort> {
        let node = self.topology.node_at(address.ip()).ok_or_else(|| {
            io::Error::new(
                io::ErrorKind::HostUnreachable,
                format!("unknown node address {}", address.ip()),
            )
        })?;
        Ok(NodePort { node, port: address.port() })
    }

    pub(super) fn udp_arrived(&mut self, from: NodePort, to: NodePort, datagram: SimDatagram) {
        let Some(slot) = self.demux.udp(to) else { return };
        let socket = self.udp.get(slot);
        socket.inbox.push_back((from, datagram));
        if let Some(reader) = socket.reader.take() {
            self.schedule_wake(to.node, reader);
        }
    }
}
