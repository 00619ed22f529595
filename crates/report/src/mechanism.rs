//! Mechanism below a visit: its connections' windows, their retransmissions, the radio and its energy.
//!
//! All share the waterfall's time axis, so that a radio's promotion that outlasts a timeout is visible together
//! with its effect on a window. Radio and retransmissions are in the store. Windows are not: they come from
//! observing the visit once more, and are shown only if that left the very record in the store. Connections are
//! shown from the servers' end, which sends the page.

mod radio;
mod section;
mod windows;

use record::VisitRecord;
use serde::Serialize;

pub use self::radio::{StateSpan, level};
pub use self::section::section;
pub use self::windows::{WindowState, thinned};
pub use section::Resent;
use testbed::tour::ObservedVisit;
pub use windows::DrawnConnection;

/// Maximum number of connections whose windows are drawn.
const MOST_DRAWN: usize = 4;

/// The mechanism below a visit. Times are milliseconds since navigation start. The rows reach the script in the
/// document's CSV.
#[derive(Clone, Debug, Serialize)]
pub struct Mechanism {
    /// The connections whose windows are drawn, in order of opening.
    pub drawn: Vec<DrawnConnection>,
    /// Their windows, one connection after the other.
    #[serde(skip)]
    pub windows: Vec<WindowState>,
    /// The retransmissions, in order of time.
    #[serde(skip)]
    pub resent: Vec<Resent>,
    /// The radio's states, one after the other; empty if there is none.
    #[serde(skip)]
    pub stays: Vec<StateSpan>,
    /// The reason why there are no windows, if the visit was not observed.
    #[serde(skip)]
    pub unwatched: Option<String>,
    /// Time at which the visit was over.
    pub end: f64,
}

impl Mechanism {
    /// The mechanism below the visit with this record, as `watched`.
    pub fn gather(record: &VisitRecord, watched: Result<ObservedVisit<'_>, String>) -> Mechanism {
        let (drawn, windows, unwatched) = match watched {
            Ok(visit) => {
                let (drawn, windows) = windows::busiest(record, &visit, MOST_DRAWN);
                (drawn, windows, None)
            }
            Err(why) => (Vec::new(), Vec::new(), Some(why)),
        };
        Mechanism {
            drawn,
            windows,
            resent: section::of(record),
            stays: radio_spans(record),
            unwatched,
            end: record.events.last().map_or(0.0, |last| since_start(record, last.at_ns)),
        }
    }
}

/// The states of the visit's radio, one after the other; empty if there is none.
pub fn radio_spans(record: &VisitRecord) -> Vec<StateSpan> {
    record.radio.as_ref().map_or(Vec::new(), |radio| radio::stays(record, radio))
}

/// Milliseconds from navigation start to an instant, to the microsecond.
fn since_start(record: &VisitRecord, at_ns: u64) -> f64 {
    rounded(at_ns.saturating_sub(record.started_at_ns) as f64 / 1e6)
}

/// A number to three decimals.
fn rounded(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}
