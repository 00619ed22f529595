//! What a visit's connections sent again.

use record::{EventKind, SentAgain, VisitRecord};
use serde::Serialize;
use tcp::Cause;

use super::since_start;

/// A segment that was sent again.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Resent {
    /// When, in milliseconds since navigation start.
    pub at_ms: f64,
    /// On which connection.
    pub connection: Option<u32>,
    /// `client` or `server`.
    pub sender: String,
    /// Why, as traces name it.
    pub cause: &'static str,
    /// Whether it turned out to be needless; none where nobody can tell, as of what the kernel sent.
    pub needless: Option<bool>,
}

/// Every retransmission that the record tells of, in time's order.
pub fn of(record: &VisitRecord) -> Vec<Resent> {
    let events = record.events.iter().filter(|event| event.kind == EventKind::Retransmit);
    let resent = events.map(|event| {
        // What an older version may have written is a retransmission for all that.
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

/// The cause that is described so.
fn named(words: &str) -> Option<Cause> {
    use Cause::{FastRetransmit, Handshake, TailLossProbe, Timeout};
    [FastRetransmit, Timeout, TailLossProbe, Handshake]
        .into_iter()
        .find(|cause| cause.to_string() == words)
}
