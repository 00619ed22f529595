//! What an [observed visit](crate::tour::ObservedVisit) looks like to other tools: its packets as pcapng, its TCP
//! connections as lines of JSON, its pictures as a strip. Formats: `docs/traces.md`.

mod filmstrip;
mod packets;
mod series;

pub use filmstrip::filmstrip;
pub use packets::{Side, pcapng};
pub use series::{FORMAT, VERSION, tcp_lines};
