//! Every window, timer and limit of a connection, with its source.
//!
//! Two arms separate QUIC's effects from one library's choices. [`Transport::QUINN`] is quinn as it ships: CUBIC
//! without HyStart, an initial window of 12,000 bytes, an acknowledgement for every second packet or after 25 ms.
//! [`Transport::matching`] is set like a TCP: the same congestion control - the same code -, the same initial window,
//! the kernel's delay of acknowledgements, HTTP/2's flow control.
//!
//! Some differences remain: quinn always paces, at 5/4 of a window per round trip with bursts of ten packets and more;
//! it detects losses and reduces its window by RFC 9002 (at once, no PRR, no undo) and grows it only while no
//! application limits it; its first timeout is three times 333 ms, which is TCP's second; it finds the path's MTU by
//! probing, from 1,200 bytes up to 1,452.

use std::sync::Arc;
use std::time::Duration;

use quinn::congestion::{ControllerFactory, CubicConfig, NewRenoConfig};
use quinn::{AckFrequencyConfig, IdleTimeout, TransportConfig, VarInt};
use units::Time;

use super::congestion::{Factory, Watch};
use crate::Scheduler;
use crate::h2;

/// quinn's initial window: ten packets of 1,200 bytes (RFC 9002 section 7.2 with that size).
const QUINN_WINDOW_BYTES: u64 = 12_000;

/// Linux's minimum delay of an acknowledgement (`TCP_ATO_MIN`).
const LINUX_ACK_DELAY: Duration = Duration::from_millis(40);

/// One end of a QUIC connection.
#[derive(Clone, Debug, PartialEq)]
pub struct Transport {
    /// Congestion control.
    pub congestion: Congestion,
    /// The initial window.
    pub initial_window_bytes: u64,
    /// Delay that the peer is asked to use for the acknowledgement of a single packet (draft-ietf-quic-ack-frequency);
    /// none: it is not asked and uses 25 ms. Either way it acknowledges every second packet at once.
    pub peer_ack_delay: Option<Duration>,
    /// The receive window of each stream at this end.
    pub stream_window_bytes: u32,
    /// The connection's receive window at this end; none: unlimited.
    pub connection_window_bytes: Option<u32>,
    /// Limit of bytes sent by this end and not acknowledged; none: quinn's default, 10 MB.
    pub send_buffer_bytes: Option<u64>,
    /// Idle timeout; the shorter one of both ends' counts. None: quinn's default, 30 s.
    pub idle_timeout: Option<Duration>,
}

/// The congestion control in use.
#[derive(Clone, Debug, PartialEq)]
pub enum Congestion {
    /// One of quinn's own.
    Quinn(Quinn),
    /// Our TCP's congestion control.
    AsTcp(AsTcp),
}

/// quinn's own congestion controls. Its BBR is experimental and draws from the system's randomness, so it is unsuitable
/// for simulations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quinn {
    /// RFC 8312, without HyStart. The default.
    Cubic,
    /// RFC 9002 section 7.
    NewReno,
}

/// Congestion control of the crate `congestion`.
#[derive(Clone, Debug, PartialEq)]
pub struct AsTcp {
    /// The algorithm.
    pub algorithm: congestion::Algorithm,
    /// Settings of its arithmetic.
    pub settings: congestion::Settings,
    /// Shrink the window after idleness (RFC 2861).
    pub slow_start_after_idle: bool,
    /// The minimum variance term of TCP's timeout: idleness is counted in timeouts, and QUIC reports no variance.
    pub min_rto: Duration,
}

impl Transport {
    /// quinn 0.11 with its default configuration.
    pub const QUINN: Transport = Transport {
        congestion: Congestion::Quinn(Quinn::Cubic),
        initial_window_bytes: QUINN_WINDOW_BYTES,
        peer_ack_delay: None,
        stream_window_bytes: 1_250_000,
        connection_window_bytes: None,
        send_buffer_bytes: None,
        idle_timeout: None,
    };

    /// Set like a TCP.
    pub fn matching(tcp: &tcp::Config) -> Transport {
        let tick =
            tcp.clock.hz().map_or(Duration::from_millis(1), |hz| Duration::from_secs(1) / hz);
        Transport {
            congestion: Congestion::AsTcp(AsTcp {
                algorithm: tcp.congestion,
                // Paced: quinn spreads a window over the round trip regardless of TCP's setting.
                settings: congestion::Settings { era: tcp.congestion_era, tick, paced: true },
                slow_start_after_idle: tcp.slow_start_after_idle,
                min_rto: tcp.min_rto,
            }),
            initial_window_bytes: u64::from(tcp.initial_window) * u64::from(tcp.mss),
            peer_ack_delay: Some(LINUX_ACK_DELAY),
            stream_window_bytes: h2::settings::Client::CHROME.stream_window_bytes,
            connection_window_bytes: Some(h2::settings::Client::CHROME.connection_window_bytes),
            send_buffer_bytes: None,
            idle_timeout: None,
        }
    }

    /// The configuration in quinn's form, for one connection whose congestion control is recorded by `watch`.
    pub(super) fn config(&self, watch: Watch) -> TransportConfig {
        let mut config = TransportConfig::default();
        config
            .stream_receive_window(VarInt::from_u32(self.stream_window_bytes))
            .congestion_controller_factory(Arc::new(Factory::new(self, watch)));
        if let Some(bytes) = self.connection_window_bytes {
            config.receive_window(VarInt::from_u32(bytes));
        }
        if let Some(bytes) = self.send_buffer_bytes {
            config.send_window(bytes);
        }
        if let Some(span) = self.idle_timeout {
            let span = IdleTimeout::try_from(span).unwrap_or(VarInt::MAX.into());
            config.max_idle_timeout(Some(span));
        }
        if let Some(delay) = self.peer_ack_delay {
            let mut frequency = AckFrequencyConfig::default();
            frequency.max_ack_delay(Some(delay));
            config.ack_frequency_config(Some(frequency));
        }
        config
    }
}

impl Quinn {
    pub(super) fn factory(
        self,
        initial_window_bytes: u64,
    ) -> Arc<dyn ControllerFactory + Send + Sync> {
        match self {
            Quinn::Cubic => {
                let mut config = CubicConfig::default();
                config.initial_window(initial_window_bytes);
                Arc::new(config)
            }
            Quinn::NewReno => {
                let mut config = NewRenoConfig::default();
                config.initial_window(initial_window_bytes);
                Arc::new(config)
            }
        }
    }
}

/// A client's settings.
#[derive(Clone, Debug, PartialEq)]
pub struct Client {
    /// QUIC.
    pub transport: Transport,
    /// SETTINGS_MAX_FIELD_SECTION_SIZE: 256 KB, Chrome's.
    pub header_list_bytes: u64,
    /// True if requests go with the first flight of a resumed session (0-RTT).
    pub early_data: bool,
    /// Time at which the client's address changes under its connections; none: never.
    pub migrate_at: Option<Time>,
}

impl Client {
    /// The default limits over this transport.
    pub const fn over(transport: Transport) -> Client {
        Client { transport, header_list_bytes: 256 << 10, early_data: true, migrate_at: None }
    }
}

impl Default for Client {
    fn default() -> Client {
        Client::over(Transport::QUINN)
    }
}

/// A server's settings.
#[derive(Clone, Debug, PartialEq)]
pub struct Server {
    /// QUIC.
    pub transport: Transport,
    /// Limit of open requests: 100, quinn's default and the least that RFC 9114 section 6.1 recommends.
    pub streams: u32,
    /// Limit of unidirectional streams: 100, quinn's default. HTTP/3 uses three (RFC 9114 section 6.2).
    pub one_way_streams: u32,
    /// Limit of a port's handshakes under way with unvalidated clients; further ones are told to come back with a token
    /// (Retry, RFC 9000 section 8.1.2), which costs them a round trip. None: no limit.
    pub unproven: Option<usize>,
    /// SETTINGS_MAX_FIELD_SECTION_SIZE: 32 KB, as over HTTP/2.
    pub header_list_bytes: u64,
    /// The scheduling of responses: any but [`Scheduler::Tree`], for which HTTP/3 has no signals.
    pub scheduler: Scheduler,
}

impl Server {
    /// Limits for unknown clients. A client's buffered data is bounded: unread data that it sent, by windows; unacknowledged
    /// data sent to it, by a buffer, which is the amount that a download gets per round trip (at 100 ms, 80 Mbit/s).
    pub const PUBLIC: Server = Server {
        transport: Transport {
            stream_window_bytes: 256 << 10,
            connection_window_bytes: Some(1 << 20),
            send_buffer_bytes: Some(1 << 20),
            ..Transport::QUINN
        },
        // The control stream, QPACK's two, and some of reserved types, which are ignored (section 6.2.3).
        one_way_streams: 8,
        unproven: Some(100),
        ..Server::over(Transport::QUINN)
    };

    /// The default limits over this transport.
    pub const fn over(transport: Transport) -> Server {
        Server {
            transport,
            streams: 100,
            one_way_streams: 100,
            unproven: None,
            header_list_bytes: 32 << 10,
            scheduler: Scheduler::RoundRobin,
        }
    }
}

impl Default for Server {
    fn default() -> Server {
        Server::over(Transport::QUINN)
    }
}
