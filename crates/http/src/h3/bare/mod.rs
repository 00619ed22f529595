//! QUIC without HTTP/3: connections between two ends that know each other, whose streams carry something else.
//!
//! Every stream has both directions and is opened by the client. What it writes is taken while no more waits unsent than [`UNSENT_BYTES`]: what
//! lies in QUIC can no longer be overtaken.

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

/// As much may wait to be sent behind what is in flight.
const UNSENT_BYTES: u64 = 16 << 10;

/// The largest datagram that is tried on a path: as quinn ships (1,500 less the heads of IPv6 and UDP).
const LARGEST_BYTES: usize = 1_452;

/// As many packets may overtake one before it counts as lost (RFC 9002 section 6.1.1).
const OVERTAKING_PACKETS: u32 = 3;

/// So many round trips after which a packet counts as lost, where parity may restore it: 9/8 (RFC 9002 section 6.1.2) leave a group no time.
const PATIENT_TIME_THRESHOLD: f32 = 1.25;

/// What one end sets.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Windows and congestion control.
    pub transport: Transport,
    /// As many streams may be open that the other end has opened.
    pub streams: u32,
    /// How often something is sent while there is nothing to send.
    pub keep_alive: Duration,
    /// How long nothing may come.
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
            // What parity restores comes behind the rest of its group, and must not have been given up before.
            config
                .mtu_discovery_config(Some(probing))
                .packet_threshold(OVERTAKING_PACKETS + u32::from(fec.every))
                .time_threshold(PATIENT_TIME_THRESHOLD);
        }
        config
    }

    /// What QUIC sends by.
    fn over(&self, socket: Socket) -> Arc<dyn AsyncUdpSocket> {
        match &self.fec {
            None => Arc::new(socket),
            Some(fec) => Arc::new(FecSocket::new(socket, fec)),
        }
    }
}
