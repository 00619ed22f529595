//! The journal of requests: one [`Entry`] each, for any implementation of [`Journal`].

mod entry;
mod lines;
mod metrics;
mod note;
mod sink;

pub use entry::{Entry, Outcome, Times};
pub use lines::{common, json};
pub use metrics::{Gauges, Metrics, exposition};
pub use note::{Brief, Journal, Note};
pub use sink::{LogLines, LogMessage, LogSender, log_channel};
