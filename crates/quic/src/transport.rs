//! A connection's windows, timers and congestion control, with their sources.
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

use crate::account::Recorder;
use crate::controller::Factory;

/// quinn's initial window: ten packets of 1,200 bytes (RFC 9002 section 7.2 with that size).
const QUINN_WINDOW_BYTES: u64 = 12_000;

/// Chrome's windows over HTTP/2, whose flow control [`Transport::matching`] takes over.
const HTTP2_STREAM_WINDOW_BYTES: u32 = 6 << 20;
const HTTP2_CONNECTION_WINDOW_BYTES: u32 = 15 << 20;

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
    Quinn(QuinnController),
    /// Our TCP's congestion control.
    AsTcp(TcpController),
}

/// quinn's own congestion controls. Its BBR is experimental and draws from the system's randomness, so it is unsuitable
/// for simulations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuinnController {
    /// RFC 8312, without HyStart. The default.
    Cubic,
    /// RFC 9002 section 7.
    NewReno,
}

/// Congestion control of the crate `congestion`.
#[derive(Clone, Debug, PartialEq)]
pub struct TcpController {
    /// The algorithm.
    pub algorithm: congestion::Algorithm,
    /// Settings of its arithmetic.
    pub settings: congestion::ControllerSettings,
    /// Shrink the window after idleness (RFC 2861).
    pub slow_start_after_idle: bool,
    /// The minimum variance term of TCP's timeout: idleness is counted in timeouts, and QUIC reports no variance.
    pub min_rto: Duration,
}

impl TcpController {
    /// CUBIC with the HyStart of Linux 6, for a paced sender.
    pub fn cubic_hystart() -> TcpController {
        TcpController::matching(&tcp::Config::default())
    }

    /// The congestion control of `tcp`. It is always paced: quinn spreads a window over the round trip regardless of TCP's setting.
    fn matching(tcp: &tcp::Config) -> TcpController {
        let tick =
            tcp.clock.hz().map_or(Duration::from_millis(1), |hz| Duration::from_secs(1) / hz);
        TcpController {
            algorithm: tcp.congestion,
            settings: congestion::ControllerSettings { era: tcp.congestion_era, tick, paced: true },
            slow_start_after_idle: tcp.slow_start_after_idle,
            min_rto: tcp.min_rto,
        }
    }
}

impl Transport {
    /// quinn 0.11 with its default configuration.
    pub const QUINN: Transport = Transport {
        congestion: Congestion::Quinn(QuinnController::Cubic),
        initial_window_bytes: QUINN_WINDOW_BYTES,
        peer_ack_delay: None,
        stream_window_bytes: 1_250_000,
        connection_window_bytes: None,
        send_buffer_bytes: None,
        idle_timeout: None,
    };

    /// Set like a TCP.
    pub fn matching(tcp: &tcp::Config) -> Transport {
        Transport {
            congestion: Congestion::AsTcp(TcpController::matching(tcp)),
            initial_window_bytes: u64::from(tcp.initial_window) * u64::from(tcp.mss),
            peer_ack_delay: Some(LINUX_ACK_DELAY),
            stream_window_bytes: HTTP2_STREAM_WINDOW_BYTES,
            connection_window_bytes: Some(HTTP2_CONNECTION_WINDOW_BYTES),
            send_buffer_bytes: None,
            idle_timeout: None,
        }
    }

    /// The configuration in quinn's form, for one connection, and the recorder of that connection.
    pub fn recorded(&self) -> (TransportConfig, Recorder) {
        let recorder = Recorder::new();
        let mut config = TransportConfig::default();
        config
            .stream_receive_window(VarInt::from_u32(self.stream_window_bytes))
            .congestion_controller_factory(Arc::new(Factory::new(
                self,
                recorder.windows.clone(),
                recorder.losses.clone(),
            )));
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
        config.qlog_stream(recorder.qlog.stream());
        (config, recorder)
    }
}

impl QuinnController {
    pub(crate) fn factory(
        self,
        initial_window_bytes: u64,
    ) -> Arc<dyn ControllerFactory + Send + Sync> {
        match self {
            QuinnController::Cubic => {
                let mut config = CubicConfig::default();
                config.initial_window(initial_window_bytes);
                Arc::new(config)
            }
            QuinnController::NewReno => {
                let mut config = NewRenoConfig::default();
                config.initial_window(initial_window_bytes);
                Arc::new(config)
            }
        }
    }
}
