//! Records of visits.
//!
//! Plain data only: written by the loader and the world, read by the store, HAR export, statistics and reports. All
//! times are nanoseconds: `_at_ns` counts from the beginning of the journey's world, `_ns` is a span.

#![forbid(unsafe_code)]

mod connection;
mod event;
mod link;
mod object;
mod proxied;
mod series;
mod visit;

pub use connection::Carried;
pub use connection::ConnectionRecord;
pub use event::{Event, EventKind};
pub use event::{RadioChange, SentAgain};
pub use link::LinkRecord;
pub use link::{RadioRecord, RadioStateRecord};
pub use object::waited_behind;
pub use object::{ObjectRecord, Phases};
pub use proxied::Proxied;
pub use series::{Departure, INTERVAL_NS, Interval, PacketSize, RadioStep, Series, WindowSample};
pub use visit::EmulationRecord;
pub use visit::Paint;
pub use visit::{Outcome, VisitRecord};
