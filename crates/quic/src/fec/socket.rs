//! The layer between QUIC and its socket.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::future::Future;
use std::io::{self, IoSliceMut};
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use quinn::udp::{EcnCodepoint, RecvMeta, Transmit};
use quinn::{AsyncUdpSocket, UdpPoller};
use units::Time;
use world::Sleep;

use super::{Fec, FecDecoder, FecEncoder};
use crate::runtime::WorldSocket;

/// Number of peers. A new peer beyond it evicts the one that was silent longest: its group goes without parity.
const PEERS: usize = 64;

/// Number of datagrams received at once.
const BATCH: usize = 8;
/// The largest datagram received: the usual MTU, and a little.
const RECEIVED_BYTES: usize = 2_048;

/// A socket that sends and receives parity with its datagrams.
pub(crate) struct FecSocket {
    socket: Arc<WorldSocket>,
    fec: Fec,
    state: Mutex<FecState>,
}

#[derive(Default)]
struct FecState {
    peers: BTreeMap<SocketAddr, FecPeer>,
    /// Received datagrams that were not taken yet.
    received: VecDeque<ReceivedDatagram>,
    /// Deadline for groups to be filled; it is set when the first begins.
    flush: Option<(Time, Sleep)>,
    /// Waker of the receiving task.
    receiver: Option<Waker>,
    /// Buffer for outgoing datagrams,
    scratch: Vec<u8>,
    /// and for incoming ones.
    room: Vec<u8>,
}

#[derive(Default)]
struct FecPeer {
    encoder: FecEncoder,
    decoder: FecDecoder,
    used: Time,
}

struct ReceivedDatagram {
    data: Vec<u8>,
    from: SocketAddr,
    to: Option<IpAddr>,
    ecn: Option<EcnCodepoint>,
}

impl FecSocket {
    pub(crate) fn new(socket: WorldSocket, fec: &Fec) -> FecSocket {
        let (socket, fec) = (Arc::new(socket), fec.clone());
        FecSocket { socket, fec, state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, FecState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends the parity of a group that ends. If the socket does not accept it, it is lost, as it might be on its way.
    fn send_parity(&self, state: &mut FecState, to: SocketAddr) {
        let FecState { peers, scratch, .. } = state;
        let Some(peer) = peers.get_mut(&to) else { return };
        scratch.clear();
        peer.encoder.end(scratch);
        let transmit = plain(to, scratch);
        if !scratch.is_empty() && self.socket.try_send(&transmit).is_ok() {
            self.fec.counts.parity_sent.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Sends the parity of groups whose deadline has passed.
    fn poll_flush(&self, state: &mut FecState, cx: &mut Context<'_>) {
        while let Some((_, sleep)) = &mut state.flush {
            if Pin::new(sleep).poll(cx).is_pending() {
                return;
            }
            state.flush = None;
            let now = world::now();
            let is_due = |peer: &FecPeer| peer.encoder.deadline().is_some_and(|at| at <= now);
            let due: Vec<SocketAddr> =
                state.peers.iter().filter(|(_, peer)| is_due(peer)).map(|(to, _)| *to).collect();
            due.into_iter().for_each(|to| self.send_parity(state, to));
            let next = state.peers.values().filter_map(|peer| peer.encoder.deadline()).min();
            state.flush = next.map(|at| (at, world::sleep_until(at)));
        }
    }

    /// Receives from the socket.
    fn poll_take(&self, state: &mut FecState, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let size = RECEIVED_BYTES * self.socket.max_receive_segments();
        let mut room = std::mem::take(&mut state.room);
        room.resize(BATCH * size, 0);
        let mut slices: Vec<IoSliceMut<'_>> = room.chunks_mut(size).map(IoSliceMut::new).collect();
        let mut metas = [RecvMeta::default(); BATCH];
        let received = self.socket.poll_recv(cx, &mut slices, &mut metas);
        if let Poll::Ready(Ok(received)) = received {
            for (slice, meta) in slices.iter().zip(&metas).take(received) {
                let pieces = slice[..meta.len.min(slice.len())].chunks(meta.stride.max(1));
                pieces.for_each(|piece| self.take(state, piece, meta));
            }
        }
        state.room = room;
        received.map_ok(drop)
    }

    fn take(&self, state: &mut FecState, bytes: &[u8], meta: &RecvMeta) {
        let FecState { peers, received, .. } = state;
        let decoded = peer(peers, meta.addr).decoder.take(bytes);
        let datagram = |data, ecn| ReceivedDatagram { data, from: meta.addr, to: meta.dst_ip, ecn };
        received.extend(decoded.carried.map(|data| datagram(data.to_vec(), meta.ecn)));
        if let Some(data) = decoded.restored {
            self.fec.counts.restored.fetch_add(1, Ordering::Relaxed);
            received.push_back(datagram(data, None));
        }
    }
}

/// The state of the peer at `address`, possibly new.
fn peer(peers: &mut BTreeMap<SocketAddr, FecPeer>, address: SocketAddr) -> &mut FecPeer {
    if peers.len() >= PEERS && !peers.contains_key(&address) {
        let silent = peers.iter().min_by_key(|(_, peer)| peer.used).map(|(address, _)| *address);
        silent.and_then(|address| peers.remove(&address));
    }
    let peer = peers.entry(address).or_default();
    peer.used = world::now();
    peer
}

fn plain(destination: SocketAddr, contents: &[u8]) -> Transmit<'_> {
    Transmit { destination, ecn: None, contents, segment_size: None, src_ip: None }
}

impl AsyncUdpSocket for FecSocket {
    fn create_io_poller(self: Arc<Self>) -> Pin<Box<dyn UdpPoller>> {
        Arc::clone(&self.socket).create_io_poller()
    }

    fn try_send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        let (now, to) = (world::now(), transmit.destination);
        let mut state = self.state();
        let FecState { peers, scratch, .. } = &mut *state;
        let peer = peer(peers, to);
        scratch.clear();
        peer.encoder.frame(transmit.contents, scratch);
        let (ecn, src_ip) = (transmit.ecn, transmit.src_ip);
        self.socket.try_send(&Transmit { ecn, src_ip, ..plain(to, scratch) })?;
        let is_full = peer.encoder.note(now, transmit.contents, self.fec.every);
        let at = peer.encoder.deadline().expect("something was sent");
        if is_full {
            self.send_parity(&mut state, to);
        } else if state.flush.is_none() {
            state.flush = Some((at, world::sleep_until(at)));
            let receiver = state.receiver.take();
            drop(state);
            // The receiving task also waits for the flush deadline.
            receiver.iter().for_each(Waker::wake_by_ref);
        }
        Ok(())
    }

    fn poll_recv(
        &self,
        cx: &mut Context<'_>,
        bufs: &mut [IoSliceMut<'_>],
        metas: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        let mut state = self.state();
        self.poll_flush(&mut state, cx);
        while state.received.is_empty() {
            if self.poll_take(&mut state, cx)?.is_pending() {
                state.receiver = Some(cx.waker().clone());
                return Poll::Pending;
            }
        }
        let mut given = 0;
        for (buf, meta) in bufs.iter_mut().zip(metas) {
            let Some(ReceivedDatagram { data, from, to, ecn }) = state.received.pop_front() else {
                break;
            };
            // QUIC accepts none longer than it announced (max_udp_payload_size).
            let len = data.len().min(buf.len());
            buf[..len].copy_from_slice(&data[..len]);
            *meta = RecvMeta { addr: from, len, stride: len, ecn, dst_ip: to };
            given += 1;
        }
        Poll::Ready(Ok(given))
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    fn may_fragment(&self) -> bool {
        self.socket.may_fragment()
    }
}

impl fmt::Debug for FecSocket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FecSocket").field("fec", &self.fec).finish_non_exhaustive()
    }
}
