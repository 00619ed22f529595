//! Records of visits.
//!
//! Plain data only: written by the loader and the world, read by the store, HAR export, statistics and reports. All
//! times are nanoseconds: `_at_ns` counts from the beginning of the journey's world, `_ns` is a span.

#![forbid(unsafe_code)]

mod behind;
mod carried;
mod connection;
mod detail;
mod emulated;
mod event;
mod link;
mod object;
mod paint;
mod proxied;
mod radio;
mod series;
mod visit;

pub use behind::waited_behind;
pub use carried::Carried;
pub use connection::ConnectionRecord;
pub use detail::{RadioChange, SentAgain};
pub use emulated::EmulationRecord;
pub use event::{Event, EventKind};
pub use link::LinkRecord;
pub use object::{ObjectRecord, Phases};
pub use paint::Paint;
pub use proxied::Proxied;
pub use radio::{RadioRecord, RadioStateRecord};
pub use series::{Departure, INTERVAL_NS, Interval, PacketSize, RadioStep, Series, WindowSample};
pub use visit::{Outcome, VisitRecord};
