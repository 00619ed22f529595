//! Formats for other tools of an [observed visit](testbed::tour::ObservedVisit): its packets as pcapng, its TCP
//! connections as JSON lines, its QUIC connections as qlog, received bodies as a table, its pictures as a
//! filmstrip. Documented in `docs/traces.md`.

mod bodies;
mod filmstrip;
mod packets;
mod qlogs;
mod series;

pub use bodies::body_table;
pub use filmstrip::filmstrip;
pub use packets::{Side, pcapng};
pub use qlogs::{Qlog, qlogs};
pub use series::{FORMAT, VERSION, tcp_lines};
