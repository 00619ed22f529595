//! Packet scripts: inputs to a sans-IO component, its expected outputs, and their times.
//!
//! A script is a text file in the spirit of packetdrill (Cardwell et al., USENIX ATC 2013): one event per line, preceded by its
//! time. It drives one endpoint of TCP or one direction of a link in virtual time, to the nanosecond:
//!
//! ```text
//! tcp "Three duplicates start fast retransmission"
//! handshake server 100ms
//! 0.100 write 10 segs
//! +0    > . segs 0..10
//! 0.200 < . ack 1 <sack segs 1..4>
//! +0    > . seg 0
//! +0    expect ca_state=Recovery, ssthresh=7
//! ```
//!
//! Silence is asserted: every output must be expected by a line, at its time. `docs/packet-scripts.md` has the grammar.
//!
//! Modules: `script` reads a file, `when` its times, `cursor` its characters; `subject` is the interface of a component under
//! test and `stage` drives it through the events; `endpoint` and `link` are the two subjects, each with its own
//! vocabulary; `problem` reports errors, `harness` makes each file a test, `catalogue` lists the words.
//!
//! Left out: packetdrill runs real kernels and checks bytes on the wire; here nothing is encoded, sequence
//! numbers begin with 0 at the SYN, and timestamps are instants of the script's own clock.

#![forbid(unsafe_code)]

mod cursor;
mod endpoint;
mod harness;
mod link;
mod problem;
mod script;
mod stage;
mod when;

pub use harness::{causes_of_drops, quantities, test_directory};
pub use problem::{ScriptError, ScriptReport};
pub use script::{PacketScript, run};
