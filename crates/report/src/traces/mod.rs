//! What an [observed visit](testbed::tour::ObservedVisit) looks like to other tools: its packets as pcapng, its TCP
//! connections as lines of JSON, its QUIC connections as qlog, what arrived as a table, its pictures as a strip. Formats: `docs/traces.md`.

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
