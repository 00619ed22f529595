//! Packet scripts: what is done to a sans-IO part, what must come out of it, and when.
//!
//! A script is a text file in the spirit of packetdrill (Cardwell et al., USENIX ATC 2013): one line an event, a time
//! in front. It drives one endpoint of TCP or one direction of a link in virtual time, to the nanosecond:
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
//! Silence is asserted: whatever leaves must be expected by a line, at its time. `docs/packet-scripts.md` has the grammar.
//!
//! Where to look: `script` reads a file, `when` its times, `cursor` its characters; `subject` says what a part under
//! test can do and `stage` drives it through the events; `endpoint` and `link` are the two subjects, each with its own
//! vocabulary; `problem` shows what is wrong, `harness` makes each file a test, `catalogue` lists the words.
//!
//! What it leaves out: packetdrill runs real kernels and checks bytes on the wire; here nothing is encoded, sequence
//! numbers begin with 0 at the SYN, and timestamps are instants of the script's own clock.

#![forbid(unsafe_code)]

mod catalogue;
mod cursor;
mod endpoint;
mod harness;
mod link;
mod problem;
mod script;
mod stage;
mod subject;
mod when;

pub use catalogue::{causes_of_drops, quantities};
pub use harness::test_directory;
pub use problem::{Failure, Report};
pub use script::{Script, run};
