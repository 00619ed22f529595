//! `tcp_probe`: the kernel tells of each segment that reaches an established connection, with the sender's state before it is dealt with.
//!
//! A look ([`diag`](crate::diag), [`Snapshot`](crate::Snapshot)) sees how things stand now and then; a trace misses nothing, to the microsecond. It needs root of the
//! machine: tracing knows no namespaces. So its events are those of the whole machine, filtered by port, and two testbeds with the same
//! addresses are told apart by their sockets' cookies only ([`Connection`](crate::Connection)).
//!
//! Each trace is an instance of its own, with its own buffers and filters; nobody else's tracing is touched. The instance is locked while
//! it is in use (flock(2)) and removed at the end; one that a killed process left behind is not locked any more, and is removed by
//! the next trace. Where tracefs is not mounted, it is in a mount namespace of the tracing thread alone.
//!
//! What a sample knows ([`tcp::Stats`]): `cwnd`, `ssthresh` (outside of a reduction at least three quarters of `cwnd`: `tcp_current_ssthresh`), `srtt`,
//! `peer_window_bytes`, `unacknowledged_bytes` (sent and not acknowledged; what waits unsent is not told), `in_flight` (that in full segments,
//! what is known to be lost or arrived included), `congestion_state`, `retransmitted_segments` (since the trace began). All else is zero or none.
//!
//! Source: Linux 6.18 `include/trace/events/tcp.h`, `Documentation/trace/ftrace.rst`.

mod collect;
mod event;
mod instance;
mod tracer;

pub use collect::Traced;
pub use tracer::{Probe, Wanted};
