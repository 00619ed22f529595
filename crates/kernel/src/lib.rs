//! What the running kernel lets one see and set of its TCP.
//!
//! - [`Snapshot`] is one connection at an instant, in the words of the simulated TCP ([`tcp::Stats`]); [`note_change`] makes a series of them.
//! - [`sender_state`], [`pin_congestion_control`]: the little that a flow sent for comparison needs.
//! - [`diag`] follows connections that are not ours: a browser's, curl's.
//! - [`probe`] traces connections segment by segment, for root.
//! - [`Alarm`] rings to the microsecond; [`give_way`] lets others go first.
//! - [`Settings`] is what makes a namespace's TCP behave as a [`tcp::Config`] says, or the refusal to.
//!
//! Linux only. Nothing here needs privilege unless it says so. `unsafe` is allowed: system calls that have no safe wrapper.

mod alarm;
mod clock;
mod connection;
pub mod diag;
mod error;
mod give_way;
pub mod probe;
mod sender_state;
mod series;
mod settings;
mod snapshot;
pub mod sockopt;
mod tcp_info;

pub use alarm::Alarm;
pub use clock::monotonic;
pub use connection::{Connection, Motion, Motions, cookie};
pub use error::Error;
pub use give_way::give_way;
pub use sender_state::{SenderState, pin_congestion_control, sender_state};
pub use series::note_change;
pub use settings::{Refusal, Refused, Setting, Settings, Sysctl};
pub use snapshot::Snapshot;
pub use tcp_info::TcpInfo;
