//! An endpoint's source of random bytes, and the date inside a world.
//!
//! QUIC draws connection IDs, the keys of reset tokens, the packet numbers to skip, the order of transport parameters.
//! In the simulated world all of it comes from one stream per endpoint, named by its address; in the real world it
//! comes from the system.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use chance::RandomStream;
use quinn::crypto::HandshakeTokenKey;
use quinn::{ConnectionId, ConnectionIdGenerator, EndpointConfig, TimeSource};
use ring::hmac;
use tls::PLAN_START;

use crate::steering::{random, token_key};

/// The length that quinn uses by default.
const ID_BYTES: usize = 8;
/// The id that a client gives its server before the server has chosen its own (RFC 9000 section 7.2: at least 8 bytes);
/// quinn's default.
const INITIAL_ID_BYTES: usize = 20;

/// An endpoint's source of randomness.
pub(super) struct EndpointRandomness(Option<RandomStream>);

impl EndpointRandomness {
    /// The source of the endpoint at `address`.
    pub(super) fn at(address: SocketAddr) -> EndpointRandomness {
        EndpointRandomness(world::is_virtual().then(|| world::stream(&format!("quic/{address}"))))
    }

    fn bytes<const N: usize>(&mut self) -> Option<[u8; N]> {
        let mut bytes = [0; N];
        self.0.as_mut()?.fill(&mut bytes);
        Some(bytes)
    }

    /// A stream for one purpose of one connection.
    fn stream(&mut self, purpose: &str) -> RandomStream {
        let salt = self.0.as_mut().map_or(0, RandomStream::next_u64);
        world::stream(&format!("quic/{purpose}/{salt:016x}"))
    }

    pub(super) fn endpoint_config(&mut self) -> EndpointConfig {
        let (Some(reset_key), seed) = (self.bytes::<64>(), self.bytes()) else {
            return EndpointConfig::default();
        };
        let mut config =
            EndpointConfig::new(Arc::new(hmac::Key::new(hmac::HMAC_SHA256, &reset_key)));
        config.rng_seed(seed);
        let ids = RandomIds(self.stream("ids"));
        config.cid_generator(move || Box::new(ids.clone()));
        config
    }

    /// The destination id of a client's first packets; none: quinn's own.
    pub(super) fn initial_id(&mut self) -> Option<ConnectionId> {
        self.bytes::<INITIAL_ID_BYTES>().map(|bytes| ConnectionId::new(&bytes))
    }

    /// The key that seals a server's tokens.
    pub(super) fn token_key(&mut self) -> Arc<dyn HandshakeTokenKey> {
        token_key(&self.bytes::<64>().unwrap_or_else(random))
    }
}

/// Generator of connection ids.
#[derive(Clone)]
struct RandomIds(RandomStream);

impl ConnectionIdGenerator for RandomIds {
    fn generate_cid(&mut self) -> ConnectionId {
        let mut bytes = [0; ID_BYTES];
        self.0.fill(&mut bytes);
        ConnectionId::new(&bytes)
    }

    fn cid_len(&self) -> usize {
        ID_BYTES
    }

    fn cid_lifetime(&self) -> Option<Duration> {
        None
    }
}

/// The date inside a world, for the age of tokens.
pub(super) struct WorldDate;

impl TimeSource for WorldDate {
    fn now(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + PLAN_START + world::now().since(units::Time::ZERO)
    }
}
