//! TCP sockets of the simulated world: our sans-IO endpoint between a handle and the links.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::task::{Context, Poll};

use bytes::{Buf, Bytes};
use chance::RandomStream;
use tokio::io::ReadBuf;
use units::Time;

use super::clock::SimEvent;
use super::executor::current_node;
use super::movement::HeldNotes;
use super::plan::NodeId;
use super::state::{self, SimState};
use super::tcp_table::{PortListener, SocketId, TcpEnd};
use super::topology::{NodePort, PacketBody, SimPacket, Topology};
use crate::report::Endpoint;

/// A handle: a slot and its generation, and the addresses for queries. These are boxed separately: connections of the real world, which have
/// no such part, would be as large otherwise.
pub(crate) struct TcpStream {
    id: SocketId,
    addresses: Box<SocketPair>,
}

struct SocketPair {
    local: SocketAddr,
    peer: SocketAddr,
}

/// A handle to a listening port.
pub(crate) struct TcpListener {
    slot: u32,
    local: SocketAddr,
}

impl TcpStream {
    pub(crate) async fn connect(address: SocketAddr) -> io::Result<TcpStream> {
        let stream = state::with(|state| state.tcp_connect(address))?;
        poll_fn(|cx| {
            state::with(|state| {
                let socket = state.tcp.get(stream.id);
                if let Some(error) = socket.connection.error() {
                    return Poll::Ready(Err(to_io(error)));
                }
                if socket.connection.is_established() {
                    return Poll::Ready(Ok(()));
                }
                socket.writer = Some(cx.waker().clone());
                Poll::Pending
            })
        })
        .await?;
        Ok(stream)
    }

    pub(crate) fn local_addr(&self) -> SocketAddr {
        self.addresses.local
    }

    pub(crate) fn peer_addr(&self) -> SocketAddr {
        self.addresses.peer
    }

    pub(crate) fn set_notsent_lowat(&self, bytes: u32) {
        state::with(|state| state.tcp.get(self.id).connection.set_notsent_lowat(bytes.into()));
    }

    /// Recorder of the data held above this end, if the plan asked for series.
    pub(crate) fn held(&self) -> Option<HeldNotes> {
        state::with(|state| state.tcp.get(self.id).held.is_some().then_some(HeldNotes(self.id)))
    }

    pub(crate) fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        state::with(|state| {
            let now = state.now;
            let socket = state.tcp.get(self.id);
            if !socket.connection.is_readable() {
                socket.reader = Some(cx.waker().clone());
                return Poll::Pending;
            }
            // A buffer is often much larger than the available data: no more of it is cleared than is filled.
            let waiting = usize::try_from(socket.connection.readable_bytes()).unwrap_or(usize::MAX);
            let room = buf.initialize_unfilled_to(waiting.min(buf.remaining()));
            let read = socket.connection.read(now, room);
            buf.advance(read);
            if read == 0
                && !socket.connection.at_eof()
                && let Some(error) = socket.connection.error()
            {
                return Poll::Ready(Err(to_io(error)));
            }
            state.tcp_flush(self.id.slot);
            Poll::Ready(Ok(()))
        })
    }

    pub(crate) fn poll_read_bytes(
        &mut self,
        cx: &mut Context<'_>,
        max: usize,
    ) -> Poll<io::Result<Bytes>> {
        state::with(|state| {
            let now = state.now;
            let socket = state.tcp.get(self.id);
            if !socket.connection.is_readable() {
                socket.reader = Some(cx.waker().clone());
                return Poll::Pending;
            }
            let read = socket.connection.read_bytes(now, max).unwrap_or_default();
            if read.is_empty()
                && !socket.connection.at_eof()
                && let Some(error) = socket.connection.error()
            {
                return Poll::Ready(Err(to_io(error)));
            }
            state.tcp_flush(self.id.slot);
            Poll::Ready(Ok(read))
        })
    }

    pub(crate) fn poll_write_vectored(
        &mut self,
        cx: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_by(cx, |connection, now| write(connection, now, parts))
    }

    /// Writes without copying; removes the written part from `data`.
    pub(crate) fn poll_write_bytes(
        &mut self,
        cx: &mut Context<'_>,
        data: &mut Bytes,
    ) -> Poll<io::Result<usize>> {
        self.poll_write_by(cx, |connection, now| {
            let wanted = data.len();
            let written = connection.write_bytes(now, data.clone());
            data.advance(written);
            (wanted, written)
        })
    }

    /// Waits until `write`, which returns the sizes wanted and written, can write something. After a write that was cut short the next one
    /// waits for the socket to be writable (epoll's edge), though its last buffer might take some bytes: as in tokio, which forgets its
    /// readiness then (`PollEvented::poll_write`).
    fn poll_write_by(
        &mut self,
        cx: &mut Context<'_>,
        write: impl FnOnce(&mut tcp::Connection, Time) -> (usize, usize),
    ) -> Poll<io::Result<usize>> {
        state::with(|state| {
            let now = state.now;
            let socket = state.tcp.get(self.id);
            if let Some(error) = socket.connection.error() {
                return Poll::Ready(Err(to_io(error)));
            }
            let waits = socket.is_full && !socket.connection.is_writable();
            let (wanted, written) = if waits { (1, 0) } else { write(&mut socket.connection, now) };
            socket.is_full = written < wanted;
            if written == 0 && wanted > 0 {
                socket.writer = Some(cx.waker().clone());
                return Poll::Pending;
            }
            state.tcp_flush(self.id.slot);
            Poll::Ready(Ok(written))
        })
    }

    /// Sends a reset.
    pub(crate) fn abort(&self) {
        state::with(|state| {
            let now = state.now;
            state.tcp.get(self.id).connection.abort(now);
            state.tcp_flush(self.id.slot);
        });
    }

    /// Sends FIN after the queued data.
    pub(crate) fn shutdown(&mut self) {
        state::with(|state| {
            let now = state.now;
            state.tcp.get(self.id).connection.close(now);
            state.tcp_flush(self.id.slot);
        });
    }
}

impl Drop for TcpStream {
    /// Like Linux's `close`: a reset if there is unread data, otherwise a FIN after the queued data.
    fn drop(&mut self) {
        state::with_if_any(|state| {
            let now = state.now;
            let socket = state.tcp.get(self.id);
            socket.owned = false;
            let unread = socket.connection.is_readable() && !socket.connection.at_eof();
            if unread || !socket.connection.is_established() {
                socket.connection.abort(now);
            } else {
                socket.connection.close(now);
            }
            state.tcp_flush(self.id.slot);
            state.tcp_reap(self.id.slot);
        });
    }
}

impl TcpListener {
    pub(crate) fn bind(address: SocketAddr) -> io::Result<TcpListener> {
        state::with(|state| {
            let here = state.local_port(address)?;
            state.listen(here.node, here)
        })
    }

    /// Listens for connections to another node's address that the plan redirects to this one.
    pub(crate) fn bind_transparent(address: SocketAddr) -> io::Result<TcpListener> {
        state::with(|state| {
            let here = state.local_port(address)?;
            state.listen(current_node(), here)
        })
    }

    pub(crate) async fn accept(&self) -> (TcpStream, SocketAddr) {
        poll_fn(|cx| match self.accept_waiting() {
            Some(accepted) => Poll::Ready(accepted),
            None => state::with(|state| {
                state.tcp.listener(self.slot).acceptor = Some(cx.waker().clone());
                Poll::Pending
            }),
        })
        .await
    }

    pub(crate) fn accept_waiting(&self) -> Option<(TcpStream, SocketAddr)> {
        state::with(|state| {
            let id = state.tcp.listener(self.slot).backlog.pop_front()?;
            let stream = state.tcp_handle(id);
            let peer = stream.peer_addr();
            Some((stream, peer))
        })
    }

    /// New handshakes no longer find the port; those under way may finish.
    pub(crate) fn refuse_handshakes(&self) {
        state::with(|state| {
            let PortListener { host, here, .. } = *state.tcp.listener(self.slot);
            state.demux.remove_listener(host, here, self.slot);
        });
    }

    pub(crate) fn local_addr(&self) -> SocketAddr {
        self.local
    }
}

impl Drop for TcpListener {
    fn drop(&mut self) {
        state::with_if_any(|state| {
            if let Some(listener) = state.tcp.listeners[self.slot as usize].take() {
                state.demux.remove_listener(listener.host, listener.here, self.slot);
            }
        });
    }
}

/// Writes as much of `parts` as the connection takes; returns the sizes wanted and written.
fn write(connection: &mut tcp::Connection, now: Time, parts: &[IoSlice<'_>]) -> (usize, usize) {
    let wanted = parts.iter().map(|part| part.len()).sum();
    let mut written = 0;
    for part in parts {
        let taken = connection.write(now, part);
        written += taken;
        if taken < part.len() {
            break;
        }
    }
    (wanted, written)
}

fn to_io(error: &tcp::Error) -> io::Error {
    let kind = match error {
        tcp::Error::Refused => io::ErrorKind::ConnectionRefused,
        tcp::Error::Reset => io::ErrorKind::ConnectionReset,
        tcp::Error::TimedOut => io::ErrorKind::TimedOut,
        tcp::Error::Aborted => io::ErrorKind::ConnectionAborted,
    };
    io::Error::new(kind, *error)
}

/// Random stream of one end of a connection.
fn chances(here: NodePort, there: NodePort) -> RandomStream {
    let (near, far) = (here.node.0, there.node.0);
    crate::ambient::of_world(&format!("tcp/{near}:{}-{far}:{}", here.port, there.port))
}

impl SimState {
    fn listen(&mut self, host: NodeId, here: NodePort) -> io::Result<TcpListener> {
        let slot = self.tcp.listeners.len() as u32;
        if !self.demux.add_listener(host, here, slot) {
            return Err(io::ErrorKind::AddrInUse.into());
        }
        let listener = PortListener { host, here, backlog: VecDeque::new(), acceptor: None };
        self.tcp.listeners.push(Some(listener));
        Ok(TcpListener { slot, local: self.topology.address(here) })
    }

    fn tcp_connect(&mut self, address: SocketAddr) -> io::Result<TcpStream> {
        let there = self.remote_port(address)?;
        let node = current_node();
        let route =
            self.topology.route(node, there.node).ok_or(io::ErrorKind::NetworkUnreachable)?;
        let here = self.demux.ephemeral(node);
        let config = self.topology.tcp_config(node, route);
        let mut connection = tcp::Connection::connect(config, self.now);
        connection.draw_from(self.now, chances(here, there));
        self.topology.seed_metrics(node, there, self.now, &mut connection);
        let mut socket = TcpEnd::new(node, [here, there], route, connection, self.now);
        self.trace.watch(&mut socket);
        socket.active = true;
        let id = self.tcp.insert(socket);
        self.demux.add_tcp(here, there, id.slot);
        self.tcp_flush(id.slot);
        Ok(self.tcp_handle(id))
    }

    fn tcp_handle(&mut self, id: SocketId) -> TcpStream {
        let socket = self.tcp.get(id);
        let (here, there) = (socket.here, socket.there);
        let (local, peer) = (self.topology.address(here), self.topology.address(there));
        TcpStream { id, addresses: Box::new(SocketPair { local, peer }) }
    }

    pub(super) fn tcp_arrived(&mut self, from: NodePort, to: NodePort, segment: Box<tcp::Segment>) {
        match self.demux.tcp(to, from) {
            Some(slot) => {
                let now = self.now;
                let Some(socket) = &mut self.tcp.slots[slot as usize].1 else { return };
                socket.connection.handle(now, *segment);
                self.tcp_settle(slot);
            }
            None => self.tcp_unknown(from, to, &segment),
        }
    }

    /// A segment for no connection: a SYN for a listener, or a segment to be answered by a reset.
    fn tcp_unknown(&mut self, from: NodePort, to: NodePort, segment: &tcp::Segment) {
        let Some(route) = self.topology.route(to.node, from.node) else { return };
        let host = self.topology.host_of(from.node, to.node);
        match self.demux.listener(host, to) {
            Some(listener) if segment.is(tcp::Flags::SYN) && !segment.is(tcp::Flags::ACK) => {
                let config = self.topology.tcp_config(host, route);
                let mut connection = tcp::Connection::accept(config, self.now, segment);
                connection.draw_from(self.now, chances(to, from));
                self.topology.seed_metrics(host, from, self.now, &mut connection);
                let mut socket = TcpEnd::new(host, [to, from], route, connection, self.now);
                self.trace.watch(&mut socket);
                socket.listener = Some(listener);
                let id = self.tcp.insert(socket);
                self.demux.add_tcp(to, from, id.slot);
                self.tcp_settle(id.slot);
            }
            _ => {
                if let Some(reset) = tcp::reset_for(segment) {
                    self.send(Topology::packet(to, from, route, PacketBody::Tcp(Box::new(reset))));
                }
            }
        }
    }

    pub(super) fn tcp_timeout(&mut self, slot: u32, generation: u32) {
        let now = self.now;
        let (current, socket) = &mut self.tcp.slots[slot as usize];
        let Some(socket) = socket else { return };
        if *current != generation || socket.armed != now {
            return;
        }
        socket.armed = Time::NEVER;
        if socket.connection.deadline().is_some_and(|deadline| deadline <= now) {
            socket.connection.handle_timeout(now);
        }
        self.tcp_settle(slot);
    }

    /// After any event of a connection: sends, notifies, and drops it if it is over.
    fn tcp_settle(&mut self, slot: u32) {
        self.tcp_flush(slot);
        let (generation, socket) = &mut self.tcp.slots[slot as usize];
        let Some(socket) = socket else { return };
        if let Some(saved) = socket.connection.take_saved_metrics() {
            let config = socket.connection.config();
            self.topology.save_metrics(socket.host, socket.there, self.now, config, &saved);
        }
        let host = socket.host;
        let able = socket.able();
        let mut acceptor = None;
        if let Some(listener) = socket.listener
            && socket.connection.is_established()
        {
            socket.listener = None;
            let id = SocketId { slot, generation: *generation };
            if let Some(listener) = &mut self.tcp.listeners[listener as usize] {
                listener.backlog.push_back(id);
                acceptor = listener.acceptor.take();
            }
        }
        for task in able.into_iter().chain([acceptor]).flatten() {
            self.schedule_wake(host, task);
        }
        self.tcp_reap(slot);
    }

    /// Sends the connection's segments, and schedules its next deadline.
    fn tcp_flush(&mut self, slot: u32) {
        let SimState { now, agenda, topology, tcp, trace, .. } = self;
        let (generation, socket) = &mut tcp.slots[slot as usize];
        let Some(socket) = socket else { return };
        while let Some(segment) = socket.connection.poll(*now) {
            let packet: SimPacket = Topology::packet(
                socket.here,
                socket.there,
                socket.route,
                PacketBody::Tcp(Box::new(segment)),
            );
            topology.forward(*now, agenda, trace, packet);
        }
        if let Some(deadline) = socket.connection.deadline()
            && deadline < socket.armed
        {
            socket.armed = deadline.max(*now);
            agenda.plan(socket.armed, SimEvent::Tcp { slot, generation: *generation });
        }
    }

    /// Frees a socket that is closed and has no handle.
    fn tcp_reap(&mut self, slot: u32) {
        let (generation, entry) = &mut self.tcp.slots[slot as usize];
        let Some(socket) = entry else { return };
        let abandoned =
            !socket.owned || (socket.listener.is_some() && socket.connection.error().is_some());
        if !abandoned || !socket.connection.is_closed() {
            return;
        }
        let (closed_at, series) = (Some(self.now), socket.series().to_vec());
        let account = Endpoint { closed_at, series, ..socket.account(&self.topology) };
        self.trace.closed.push(account);
        self.demux.remove_tcp(socket.here, socket.there);
        *generation = generation.wrapping_add(1);
        *entry = None;
        self.tcp.free.push(slot);
    }
}
