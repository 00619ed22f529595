//! A sans-IO TCP endpoint that behaves like Linux: Linux 6, or one of the generations before it.
//!
//! A [`Connection`] takes segments and the time and returns segments and a deadline; it reads no clock,
//! opens no socket, draws no random number. It reproduces all that decides how fast a page loads: the
//! handshake and its timeouts, slow start and CUBIC, loss detection by RACK and tail loss probes, proportional
//! rate reduction, F-RTO and undo, delayed and quick acknowledgements, window autotuning on both sides, the decay of
//! an idle window, and an orderly close.
//!
//! Left out, without harm: small queues below the sender (nothing waits in a device); urgent data;
//! path MTU discovery (the path's MTU is given); PAWS and wrapping sequence numbers (64 bits do not wrap); SACK reneging
//! (both ends are ours); simultaneous open.
//!
//! Modules: `config` and `spec` (the differences between generations, and their notation); `sender` and `ack` (the segments that
//! may leave; the effects of an acknowledgement), `recovery`, `rack`, `timeouts`, `samples`, `rtt`, `cwnd`, `idle`, `metrics`, `tso`;
//! `rate` and `pacing` for controllers that model the path; `ecn`; `receiver`, `reassembly`, `ack_policy`, `stretch`, `window`; `connection` joins
//! the halves.

#![forbid(unsafe_code)]

mod ack;
mod ack_policy;
mod config;
mod connection;
mod cwnd;
mod ecn;
mod handshake;
mod metrics;
mod pacing;
mod rack;
mod rate;
mod reassembly;
mod receiver;
mod recovery;
mod retransmits;
mod rtt;
mod scoreboard;
mod segment;
mod send_buffer;
mod sender;
mod spec;
mod state;
mod stats;
mod timers;
mod tso;
mod window;

pub use config::{
    AckPolicy, Clock, Config, Frto, Generation, Growth, HandshakeRtt, IdleRestart, LossDetection,
    LossWindow, MetricsUse, ReceiveBufferPolicy, ReceiveTuning, Reduction, RttSampling,
    SendBufferPolicy, SpuriousResponse, StretchAcks, SynLossWindow, TailLossProbe, TsoSegments,
    UnknownGenerationError,
};
pub use connection::Connection;
pub use ecn::{Ecn, EcnPolicy};
pub use metrics::{CachedMetrics, MetricsCache, SavedMetrics};
pub use pacing::Pacing;
pub use recovery::CongestionState;
pub use retransmits::{Retransmit, RetransmitCause};
pub use segment::{Flags, Payload, SackBlocks, Segment, SynOptions, Timestamps, reset_for};
pub use spec::{Knob, TransportSpecError};
pub use state::{Error, TcpState};
pub use stats::{SenderSample, Stats, Trigger};
