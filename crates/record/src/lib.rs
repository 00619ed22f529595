//! Records of visits.
//!
//! Plain data, and figures that follow from it alone: written by the loader and the world, read by the store, HAR export,
//! statistics and reports. All times are nanoseconds: `_at_ns` counts from the beginning of the journey's world, `_ns` is a span.

#![forbid(unsafe_code)]

mod connection;
mod critical_path;
mod early;
mod event;
mod figures;
mod link;
mod object;
mod proxied;
mod series;
mod visit;

pub use connection::{ConnectionRecord, PepCounters};
pub use critical_path::{CriticalPath, NetworkActivity, PathCause, PathStep, Period};
pub use early::EarlyMetrics;
pub use event::{EventKind, RadioChange, RetransmitDetail, TcpEvent};
pub use figures::VisitFigures;
pub use link::{LinkRecord, RadioRecord, RadioStateRecord};
pub use object::{ObjectRecord, Phases, waited_behind};
pub use proxied::Proxied;
pub use series::{Departure, INTERVAL_NS, Interval, PacketSize, RadioStep, Series, WindowSample};
pub use visit::{EmulationRecord, Paint, VisitOutcome, VisitRecord};
