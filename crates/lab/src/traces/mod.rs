//! What an [observed visit](crate::tour::ObservedVisit) looks like to other tools: its packets as pcapng, its TCP
//! connections as lines of JSON. Formats: `docs/traces.md`.

mod packets;
mod series;

pub use packets::{Side, pcapng};
pub use series::{FORMAT, VERSION, tcp_lines};
