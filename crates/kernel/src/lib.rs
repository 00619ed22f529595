//! Inspection and configuration of the running kernel's TCP.
//!
//! - [`ConnectionSnapshot`] is one connection at one time, in the terms of the simulated TCP ([`tcp::Stats`]); [`note_change`] makes a series of them.
//! - [`sender_state`], [`pin_congestion_control`]: the little that a comparison flow needs.
//! - [`diag`] follows connections of other programs: a browser's, curl's.
//! - [`probe`] traces connections segment by segment, for root.
//! - [`Alarm`] rings to the microsecond; [`give_way`] lowers the priority of the calling process, [`processor_wait`] is the
//!   time for which a process waited for a processor.
//! - [`KernelKnobs`] make a namespace's TCP behave as a [`tcp::Config`] specifies, or are refused.
//!
//! Linux only. Nothing here needs privilege unless stated. `unsafe` is allowed: system calls that have no safe wrapper.

mod connection;
pub mod diag;
mod error;
pub mod probe;
mod settings;
pub mod sockopt;
mod tcp_info;
mod timing;

pub use connection::{Connection, ConnectionSeries, Motions, cookie, note_change};
pub use connection::{ConnectionSnapshot, SenderState, pin_congestion_control, sender_state};
pub use error::Error;
pub use settings::{IpOption, KernelKnobs, Sysctl, UnsupportedKnob, UnsupportedKnobsError};
pub use tcp_info::TcpInfo;
pub use timing::{Alarm, give_way, monotonic, processor_wait};
