//! Packet steering: several workers behind one UDP port, and the choice of the worker for a packet.
//!
//! The kernel distributes packets by addresses and ports (`SO_REUSEPORT`). That is right as long as a client's address
//! stays and no socket joins or leaves the group. A connection outlives both (RFC 9000 section 9), so each connection
//! ID encodes the worker that chose it, readable with the key, as in QUIC-LB: a worker that gets another's packet hands
//! it over. Clients' first packets have IDs of their own choice: they stay with the worker that they reached.
//!
//! For the real world alone: simulated servers have one worker.

use std::collections::BTreeMap;
use std::fmt;
use std::io::IoSliceMut;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use quinn::crypto::HandshakeTokenKey;
use quinn::{ConnectionId, ConnectionIdGenerator, EndpointConfig};
use quinn_proto::InvalidCid;
use ring::aead::quic::{AES_128, HeaderProtectionKey};
use ring::rand::{SecureRandom, SystemRandom};
use ring::{hkdf, hmac};
use tokio::sync::mpsc::{Receiver, Sender, channel};
use world::{EcnCodepoint, RecvMeta};

/// A connection ID: random bytes, and the worker's number, masked by encrypting them.
const ID_BYTES: usize = NONCE_BYTES + 2;
const NONCE_BYTES: usize = 6;

/// Number of datagrams that may wait to be taken over by a worker; further ones are dropped, as by a full socket.
const WAITING: usize = 256;

/// Shared state of the workers behind a server's UDP ports. Clones share it.
#[derive(Clone)]
pub struct Steering(Arc<SteeringState>);

struct SteeringState {
    workers: u16,
    mask: HeaderProtectionKey,
    reset_key: Arc<hmac::Key>,
    token_key: Arc<dyn HandshakeTokenKey>,
    lanes: Mutex<BTreeMap<(SocketAddr, u16), Sender<Misrouted>>>,
    handed_over: AtomicU64,
}

/// A datagram that reached the wrong worker.
struct Misrouted {
    data: Bytes,
    from: SocketAddr,
    to: Option<IpAddr>,
    ecn: Option<EcnCodepoint>,
}

impl Steering {
    /// Steering among `workers`, with keys from the machine's randomness.
    ///
    /// # Panics
    /// If the machine has none.
    pub fn new(workers: u16) -> Steering {
        let mask = HeaderProtectionKey::new(&AES_128, &random::<16>());
        let reset_key = hmac::Key::new(hmac::HMAC_SHA256, &random::<64>());
        Steering(Arc::new(SteeringState {
            workers,
            mask: mask.expect("a key of this cipher has 16 bytes"),
            reset_key: Arc::new(reset_key),
            token_key: token_key(&random::<64>()),
            lanes: Mutex::default(),
            handed_over: AtomicU64::new(0),
        }))
    }

    /// Number of datagrams handed over so far.
    pub fn handed_over(&self) -> u64 {
        self.0.handed_over.load(Ordering::Relaxed)
    }

    /// The place of `worker` at the port `address`.
    pub(crate) fn seat(&self, address: SocketAddr, worker: u16) -> WorkerSeat {
        let (sender, inbox) = channel(WAITING);
        self.0.lanes().insert((address, worker), sender);
        WorkerSeat { steering: self.clone(), address, worker, inbox: Mutex::new(inbox) }
    }

    pub(crate) fn token_key(&self) -> Arc<dyn HandshakeTokenKey> {
        Arc::clone(&self.0.token_key)
    }

    /// Masks a worker's number by `nonce`, or unmasks it.
    fn masked(&self, nonce: &[u8], worker: u16) -> u16 {
        let mut sample = [0; 16];
        sample[..NONCE_BYTES].copy_from_slice(nonce);
        let mask = self.0.mask.new_mask(&sample).expect("a sample has 16 bytes");
        worker ^ u16::from_be_bytes([mask[0], mask[1]])
    }

    /// The worker that created the connection ID `id`, if one did.
    fn maker(&self, id: &[u8]) -> Option<u16> {
        let (nonce, worker) = id.split_at_checked(NONCE_BYTES)?;
        let worker = self.masked(nonce, u16::from_be_bytes(worker.try_into().ok()?));
        (worker < self.0.workers).then_some(worker)
    }
}

impl SteeringState {
    fn lanes(&self) -> std::sync::MutexGuard<'_, BTreeMap<(SocketAddr, u16), Sender<Misrouted>>> {
        self.lanes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Steering {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Steering").field("workers", &self.0.workers).finish_non_exhaustive()
    }
}

/// The key that seals address tokens, from a secret.
pub(crate) fn token_key(secret: &[u8]) -> Arc<dyn HandshakeTokenKey> {
    Arc::new(hkdf::Salt::new(hkdf::HKDF_SHA256, &[]).extract(secret))
}

pub(crate) fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    SystemRandom::new().fill(&mut bytes).expect("the system gives random bytes");
    bytes
}

/// One worker's place at one port.
pub(crate) struct WorkerSeat {
    steering: Steering,
    address: SocketAddr,
    worker: u16,
    /// Never contended: one task reads it.
    inbox: Mutex<Receiver<Misrouted>>,
}

impl WorkerSeat {
    /// The configuration of an endpoint whose connection IDs lead here.
    pub(crate) fn endpoint_config(&self) -> EndpointConfig {
        let ids = SteeredIds { steering: self.steering.clone(), worker: self.worker };
        let mut config = EndpointConfig::new(Arc::clone(&self.steering.0.reset_key) as _);
        config.cid_generator(move || Box::new(ids.clone()));
        config
    }

    /// The datagrams that others have handed over.
    pub(crate) fn poll_handed_over(
        &self,
        cx: &mut Context<'_>,
        bufs: &mut [IoSliceMut<'_>],
        metas: &mut [RecvMeta],
    ) -> Poll<usize> {
        let mut inbox = self.inbox.lock().unwrap_or_else(PoisonError::into_inner);
        let mut taken = 0;
        for (buf, meta) in bufs.iter_mut().zip(metas) {
            let Poll::Ready(Some(misrouted)) = inbox.poll_recv(cx) else { break };
            let Misrouted { data, from, to, ecn } = misrouted;
            let len = data.len().min(buf.len());
            buf[..len].copy_from_slice(&data[..len]);
            *meta = RecvMeta { addr: from, len, stride: len, ecn, dst_ip: to };
            taken += 1;
        }
        if taken == 0 { Poll::Pending } else { Poll::Ready(taken) }
    }

    /// Hands over datagrams received for others; the rest in `bufs` is for this worker.
    pub(crate) fn sort(&self, bufs: &mut [IoSliceMut<'_>], metas: &mut [RecvMeta]) {
        if self.steering.0.workers == 1 {
            return;
        }
        for (buf, meta) in bufs.iter_mut().zip(metas) {
            let stride = meta.stride.max(1);
            let mut kept = 0;
            for from in (0..meta.len).step_by(stride) {
                let to = meta.len.min(from + stride);
                match self.owner(&buf[from..to]).filter(|worker| *worker != self.worker) {
                    Some(worker) => self.hand_over(worker, &buf[from..to], meta),
                    None => {
                        buf.copy_within(from..to, kept);
                        kept += to - from;
                    }
                }
            }
            meta.len = kept;
        }
    }

    /// The worker that a packet is for, if the packet tells.
    fn owner(&self, packet: &[u8]) -> Option<u16> {
        self.steering.maker(chosen_id(packet)?)
    }

    fn hand_over(&self, worker: u16, data: &[u8], meta: &RecvMeta) {
        let RecvMeta { addr: from, ecn, dst_ip: to, .. } = *meta;
        let misrouted = Misrouted { data: Bytes::copy_from_slice(data), from, to, ecn };
        // A worker that is too busy, or has left the port, misses a packet as it would from its own socket.
        if let Some(lane) = self.steering.0.lanes().get(&(self.address, worker))
            && lane.try_send(misrouted).is_ok()
        {
            self.steering.0.handed_over.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Drop for WorkerSeat {
    fn drop(&mut self) {
        self.steering.0.lanes().remove(&(self.address, self.worker));
    }
}

impl fmt::Debug for WorkerSeat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let WorkerSeat { address, worker, .. } = self;
        f.debug_struct("Seat").field("address", address).field("worker", worker).finish()
    }
}

/// The connection ID of a packet if its receiver chose it (RFC 8999 section 5, RFC 9000 section 17): of a short header,
/// or a Handshake. In the others it may be the client's own choice.
fn chosen_id(packet: &[u8]) -> Option<&[u8]> {
    const LONG: u8 = 0x80;
    const TYPE: u8 = 0x30;
    const HANDSHAKE: u8 = 0x20;
    const VERSION_1: [u8; 4] = [0, 0, 0, 1];
    match packet {
        [first, id @ ..] if first & LONG == 0 => id.get(..ID_BYTES),
        [first, a, b, c, d, length, id @ ..]
            if first & TYPE == HANDSHAKE
                && [*a, *b, *c, *d] == VERSION_1
                && usize::from(*length) == ID_BYTES =>
        {
            id.get(..ID_BYTES)
        }
        _ => None,
    }
}

/// Generator of connection IDs that encode their worker.
#[derive(Clone)]
struct SteeredIds {
    steering: Steering,
    worker: u16,
}

impl ConnectionIdGenerator for SteeredIds {
    fn generate_cid(&mut self) -> ConnectionId {
        let nonce = random::<NONCE_BYTES>();
        let worker = self.steering.masked(&nonce, self.worker).to_be_bytes();
        let mut id = [0; ID_BYTES];
        id[..NONCE_BYTES].copy_from_slice(&nonce);
        id[NONCE_BYTES..].copy_from_slice(&worker);
        ConnectionId::new(&id)
    }

    fn validate(&self, id: &ConnectionId) -> Result<(), InvalidCid> {
        self.steering.maker(id).map(drop).ok_or(InvalidCid)
    }

    fn cid_len(&self) -> usize {
        ID_BYTES
    }

    fn cid_lifetime(&self) -> Option<Duration> {
        None
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use super::*;

    fn ids(steering: &Steering, worker: u16) -> SteeredIds {
        SteeredIds { steering: steering.clone(), worker }
    }

    /// A packet with a short header.
    fn short(id: &ConnectionId, payload: &[u8]) -> Vec<u8> {
        [&[0x40], &**id, payload].concat()
    }

    #[test]
    fn an_id_names_its_maker_to_who_has_the_key() {
        let steering = Steering::new(3);
        for worker in 0..3 {
            let (mut ids, mut seen) = (ids(&steering, worker), std::collections::BTreeSet::new());
            for _ in 0..1_000 {
                let id = ids.generate_cid();
                assert_eq!(steering.maker(&id), Some(worker));
                seen.insert(id[NONCE_BYTES..].to_vec());
            }
            assert!(seen.len() > 900, "what is seen of the worker differs from id to id");
        }
        let others = Steering::new(3);
        let known =
            (0..1_000).filter(|_| others.maker(&ids(&steering, 1).generate_cid()).is_some());
        assert!(known.count() < 10, "3 of 65,536 are");
    }

    #[test]
    fn packets_whose_id_the_client_chose_stay_where_they_are() {
        let steering = Steering::new(2);
        let id = ids(&steering, 1).generate_cid();
        let long = |kind: u8| [&[0xc0 | kind << 4, 0, 0, 0, 1, 8], &*id, &[0; 40]].concat();
        assert_eq!(chosen_id(&short(&id, &[0; 40])), Some(&*id));
        // Initial, 0-RTT, Handshake, Retry.
        assert_eq!(
            [0, 1, 2, 3].map(|kind| chosen_id(&long(kind)).is_some()),
            [false, false, true, false]
        );
        for cut in [&[][..], &[0x40], &[0x40, 1, 2], &[0xe0, 0, 0, 0, 1, 8, 1]] {
            assert_eq!(chosen_id(cut), None, "{cut:?}");
        }
    }

    #[test]
    fn a_packet_of_anothers_reaches_him_and_the_rest_stays() {
        let (steering, address) = (Steering::new(2), "127.0.0.1:443".parse().unwrap());
        let (first, second) = (steering.seat(address, 0), steering.seat(address, 1));
        let packets = [0, 1, 0]
            .map(|worker| short(&ids(&steering, worker).generate_cid(), &[worker as u8; 21]));
        let mut buffer = packets.concat();
        let client: SocketAddr = "127.0.0.1:9".parse().unwrap();
        let (len, stride) = (buffer.len(), packets[0].len());
        let mut metas = [RecvMeta { addr: client, len, stride, ecn: None, dst_ip: None }];
        first.sort(&mut [IoSliceMut::new(&mut buffer)], &mut metas);
        assert_eq!(buffer[..metas[0].len], [&packets[0][..], &packets[2]].concat());
        let (mut taken, mut cx) = ([0; 100], Context::from_waker(Waker::noop()));
        let mut bufs = [IoSliceMut::new(&mut taken)];
        assert_eq!(second.poll_handed_over(&mut cx, &mut bufs, &mut metas), Poll::Ready(1));
        assert_eq!((metas[0].addr, metas[0].len), (client, stride));
        assert_eq!(taken[..stride], packets[1]);
        assert_eq!(steering.handed_over(), 1);
        // A worker that has left gets nothing.
        drop(second);
        let mut buffer = packets[1].clone();
        let mut metas = [RecvMeta { addr: client, len: stride, stride, ecn: None, dst_ip: None }];
        first.sort(&mut [IoSliceMut::new(&mut buffer)], &mut metas);
        assert_eq!((metas[0].len, steering.handed_over()), (0, 1));
    }
}
