//! quinn's endpoints, and where they take their random bytes from.
//!
//! QUIC draws connection ids, the keys of reset tokens, the packet numbers that are skipped, the order of transport parameters. In the
//! simulated world all of it comes from one stream an endpoint, named by its address; the real world's comes from the system.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use chance::Stream;
use quinn::crypto::HandshakeTokenKey;
use quinn::{AsyncUdpSocket, ConnectionId, ConnectionIdGenerator, EndpointConfig, TimeSource};
use ring::hmac;

use super::runtime::WorldRuntime;
use super::socket::Socket;
use super::steering::{random, token_key};
use tls::PLAN_START;

/// As long as those that quinn makes by default.
const ID_BYTES: usize = 8;
/// The id that a client gives its server before that has one of its own (RFC 9000 section 7.2: at least 8 bytes); quinn's default.
const INITIAL_ID_BYTES: usize = 20;

/// What an endpoint draws at random.
pub(super) struct Draws(Option<Stream>);

impl Draws {
    /// Those of the endpoint at `address`.
    pub(super) fn at(address: SocketAddr) -> Draws {
        Draws(world::is_virtual().then(|| world::stream(&format!("quic/{address}"))))
    }

    fn bytes<const N: usize>(&mut self) -> Option<[u8; N]> {
        let mut bytes = [0; N];
        self.0.as_mut()?.fill(&mut bytes);
        Some(bytes)
    }

    /// A stream for one purpose of one connection.
    fn stream(&mut self, purpose: &str) -> Stream {
        let salt = self.0.as_mut().map_or(0, Stream::next_u64);
        world::stream(&format!("quic/{purpose}/{salt:016x}"))
    }

    pub(super) fn endpoint_config(&mut self) -> EndpointConfig {
        let (Some(reset_key), seed) = (self.bytes::<64>(), self.bytes()) else {
            return EndpointConfig::default();
        };
        let mut config =
            EndpointConfig::new(Arc::new(hmac::Key::new(hmac::HMAC_SHA256, &reset_key)));
        config.rng_seed(seed);
        let ids = Ids(self.stream("ids"));
        config.cid_generator(move || Box::new(ids.clone()));
        config
    }

    /// The id that a client's first packets are for; none: quinn's own.
    pub(super) fn initial_id(&mut self) -> Option<ConnectionId> {
        self.bytes::<INITIAL_ID_BYTES>().map(|bytes| ConnectionId::new(&bytes))
    }

    /// What seals a server's tokens.
    pub(super) fn token_key(&mut self) -> Arc<dyn HandshakeTokenKey> {
        token_key(&self.bytes::<64>().unwrap_or_else(random))
    }
}

/// Makes connection ids.
#[derive(Clone)]
struct Ids(Stream);

impl ConnectionIdGenerator for Ids {
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

/// An endpoint on `socket`; with `server`, it takes connections.
pub(super) fn open(
    socket: Socket,
    config: EndpointConfig,
    server: Option<quinn::ServerConfig>,
) -> io::Result<quinn::Endpoint> {
    open_over(Arc::new(socket), config, server)
}

/// The same on anything that carries datagrams.
pub(super) fn open_over(
    socket: Arc<dyn AsyncUdpSocket>,
    config: EndpointConfig,
    server: Option<quinn::ServerConfig>,
) -> io::Result<quinn::Endpoint> {
    quinn::Endpoint::new_with_abstract_socket(config, server, socket, Arc::new(WorldRuntime))
}
