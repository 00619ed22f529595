//! QUIC without HTTP/3: connections between two cooperating ends, whose streams carry other data.
//!
//! Every stream is bidirectional and opened by the client. Writes are accepted while at most [`UNSENT_BYTES`] wait
//! unsent: data in QUIC can no longer be overtaken.

mod client;
mod connection;
mod fec;
mod server;
mod stream;

use std::sync::Arc;
use std::time::Duration;

use quinn::{AsyncUdpSocket, IdleTimeout, MtuDiscoveryConfig, TransportConfig, VarInt};

pub use self::client::connect;
pub use self::connection::Connection;
pub use self::fec::{Counts, Fec, MOST as MOST_IN_GROUP};
use self::fec::{FecSocket, OVERHEAD_BYTES};
pub use self::server::{Incoming, Listener};
pub use self::stream::Stream;
use super::congestion::Watch;
use super::settings::Transport;
use super::socket::Socket;

/// Limit of unsent bytes behind those in flight.
const UNSENT_BYTES: u64 = 16 << 10;

/// The largest datagram probed on a path: quinn's default (1,500 less the headers of IPv6 and UDP).
const LARGEST_BYTES: usize = 1_452;

/// The packet reordering threshold (RFC 9002 section 6.1.1).
const OVERTAKING_PACKETS: u32 = 3;

/// The time threshold of loss detection in round trips where parity may restore a packet: 9/8 (RFC 9002 section 6.1.2)
/// leave a group no time.
const PATIENT_TIME_THRESHOLD: f32 = 1.25;

/// The settings of one end.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Windows and congestion control.
    pub transport: Transport,
    /// Limit of open streams that the peer has opened.
    pub streams: u32,
    /// Interval of keep-alives.
    pub keep_alive: Duration,
    /// Idle timeout.
    pub idle: Duration,
    /// Forward error correction; both ends must have it, or neither.
    pub fec: Option<Fec>,
}

impl Settings {
    fn config(&self, watch: Watch) -> TransportConfig {
        let mut config = self.transport.config(watch);
        let idle = IdleTimeout::try_from(self.idle).unwrap_or(VarInt::MAX.into());
        config
            .max_concurrent_bidi_streams(self.streams.into())
            .max_concurrent_uni_streams(VarInt::from_u32(0))
            .keep_alive_interval(Some(self.keep_alive))
            .max_idle_timeout(Some(idle));
        if let Some(fec) = &self.fec {
            let mut probing = MtuDiscoveryConfig::default();
            probing.upper_bound((LARGEST_BYTES - OVERHEAD_BYTES) as u16);
            // A datagram restored by parity comes after the rest of its group, and must not have been declared lost before.
            config
                .mtu_discovery_config(Some(probing))
                .packet_threshold(OVERTAKING_PACKETS + u32::from(fec.every))
                .time_threshold(PATIENT_TIME_THRESHOLD);
        }
        config
    }

    /// The socket below QUIC.
    fn over(&self, socket: Socket) -> Arc<dyn AsyncUdpSocket> {
        match &self.fec {
            None => Arc::new(socket),
            Some(fec) => Arc::new(FecSocket::new(socket, fec)),
        }
    }
}
