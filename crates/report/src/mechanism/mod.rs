//! What lay below a visit: its connections' windows, what they sent again, the radio and what that spent.
//!
//! One time axis, the waterfall's, so that one sees a radio's promotion outlast a timeout and what that does to a window.
//! Radio and retransmissions are in the store. Windows are not: they are those of the visit watched once more, and are shown only if that
//! left the very record which the store holds. A connection is told from the servers' end: they send the page.

mod connections;
mod radio;
mod resent;
mod section;
mod windows;

use record::VisitRecord;
use serde::Serialize;

pub use self::connections::Drawn;
pub use self::radio::{Stay, level};
pub use self::resent::Resent;
pub use self::section::section;
pub use self::windows::{Row, thinned};
use testbed::tour::ObservedVisit;

/// The most connections whose windows are drawn.
const MOST_DRAWN: usize = 4;

/// What lay below a visit. Times are milliseconds since navigation start. The rows reach the script in the document's CSV.
#[derive(Clone, Debug, Serialize)]
pub struct Mechanism {
    /// The connections whose windows are drawn, in order of opening.
    pub drawn: Vec<Drawn>,
    /// Their windows, one connection after the other.
    #[serde(skip)]
    pub windows: Vec<Row>,
    /// What was sent again, in time's order.
    #[serde(skip)]
    pub resent: Vec<Resent>,
    /// The radio's states, one after the other; empty if there is none.
    #[serde(skip)]
    pub stays: Vec<Stay>,
    /// Why there are no windows, if the visit was not watched.
    #[serde(skip)]
    pub unwatched: Option<String>,
    /// When the visit was over.
    pub end: f64,
}

impl Mechanism {
    /// What lay below the visit with this record, as it was `watched`.
    pub fn gather(record: &VisitRecord, watched: Result<ObservedVisit<'_>, String>) -> Mechanism {
        let (drawn, windows, unwatched) = match watched {
            Ok(visit) => {
                let (drawn, windows) = connections::busiest(record, &visit, MOST_DRAWN);
                (drawn, windows, None)
            }
            Err(why) => (Vec::new(), Vec::new(), Some(why)),
        };
        Mechanism {
            drawn,
            windows,
            resent: resent::of(record),
            stays: record.radio.as_ref().map_or(Vec::new(), |radio| radio::stays(record, radio)),
            unwatched,
            end: record.events.last().map_or(0.0, |last| since_start(record, last.at_ns)),
        }
    }
}

/// Milliseconds from navigation start to an instant, to the microsecond.
fn since_start(record: &VisitRecord, at_ns: u64) -> f64 {
    rounded(at_ns.saturating_sub(record.started_at_ns) as f64 / 1e6)
}

/// A number to three decimals.
fn rounded(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}
