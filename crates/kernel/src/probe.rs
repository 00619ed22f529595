//! `tcp_probe`: the kernel reports each segment that reaches an established connection, with the sender's state before it is processed.
//!
//! A poll ([`diag`](crate::diag), [`Snapshot`](crate::Snapshot)) sees the state from time to time; a trace misses
//! nothing, to the microsecond. A trace needs root of the machine: tracing is not namespaced. So its events are those of the
//! whole machine, filtered by port, and two testbeds with the same addresses are told apart by their sockets' cookies
//! only ([`Connection`](crate::Connection)).
//!
//! Each trace is a separate instance, with its own buffers and filters; other tracing is not affected. The instance is locked while
//! it is in use (flock(2)) and removed at the end; one left behind by a killed process is no longer locked, and is removed by
//! the next trace. If tracefs is not mounted, it is mounted in a mount namespace of the tracing thread alone.
//!
//! Contents of a sample ([`tcp::Stats`]): `cwnd`, `ssthresh` (outside of a reduction at least three quarters of `cwnd`:
//! `tcp_current_ssthresh`), `srtt`, `peer_window_bytes`, `unacknowledged_bytes` (sent and not acknowledged; unsent data
//! is not reported), `in_flight` (that in full segments, including segments known to be lost or arrived),
//! `congestion_state`, `retransmitted_segments` (since the trace began). All else is zero or none.
//!
//! Source: Linux 6.18 `include/trace/events/tcp.h`, `Documentation/trace/ftrace.rst`.

mod collect;
mod event;
mod instance;
mod tracer;

pub use collect::Traced;
pub use tracer::{Probe, Wanted};
