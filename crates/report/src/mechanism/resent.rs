//! Retransmissions of a visit's connections.

use record::{EventKind, SentAgain, VisitRecord};
use serde::Serialize;
use tcp::Cause;

use super::since_start;

/// A retransmitted segment.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Resent {
    /// Time, in milliseconds since navigation start.
    pub at_ms: f64,
    /// The connection.
    pub connection: Option<u32>,
    /// `client` or `server`.
    pub sender: String,
    /// The cause, as named in traces.
    pub cause: &'static str,
    /// True if it turned out to be needless; `None` if unknown, as for the kernel's retransmissions.
    pub needless: Option<bool>,
}

/// All retransmissions in the record, in order of time.
pub fn of(record: &VisitRecord) -> Vec<Resent> {
    let events = record.events.iter().filter(|event| event.kind == EventKind::Retransmit);
    let resent = events.map(|event| {
        // Events that an older version may have written differently are retransmissions all the same.
        let told = SentAgain::read(&event.detail);
        Resent {
            at_ms: since_start(record, event.at_ns),
            connection: event.connection,
            sender: told.map_or("unknown", |told| told.sender).to_owned(),
            cause: told.and_then(|told| named(told.cause)).unwrap_or(Cause::Unknown).name(),
            needless: told.map(|told| told.needless).filter(|_| record.emulation.is_none()),
        }
    });
    resent.collect()
}

/// The cause with this description.
fn named(words: &str) -> Option<Cause> {
    use Cause::{FastRetransmit, Handshake, TailLossProbe, Timeout};
    [FastRetransmit, Timeout, TailLossProbe, Handshake]
        .into_iter()
        .find(|cause| cause.to_string() == words)
}
