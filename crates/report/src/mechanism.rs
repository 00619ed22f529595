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
use testbed::tour::{ObservedVisit, Packets};
pub use windows::DrawnConnection;

use crate::on_the_way::OnTheWay;

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
    /// Bytes in queues and on links towards the client; empty unless simulated.
    #[serde(skip)]
    pub on_the_way: Vec<Held>,
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
        let (drawn, windows, on_the_way, unwatched) = match watched {
            Ok(visit) => {
                let (drawn, windows) = windows::busiest(record, &visit, MOST_DRAWN);
                (drawn, windows, on_the_way(record, &visit), None)
            }
            Err(why) => (Vec::new(), Vec::new(), Vec::new(), Some(why)),
        };
        Mechanism {
            drawn,
            windows,
            on_the_way,
            resent: section::of(record),
            stays: radio_spans(record),
            unwatched,
            end: record.events.last().map_or(0.0, |last| since_start(record, last.at_ns)),
        }
    }
}

/// Bytes in queues and on links towards the client, from an instant on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Held {
    /// Milliseconds since navigation start.
    pub at_ms: f64,
    /// Bytes that have left a server and will reach the client.
    pub bytes: u64,
}

/// Most rows of bytes on the way; of more, the highest of each bin of time is kept.
const MOST_HELD: usize = 600;

fn on_the_way(record: &VisitRecord, visit: &ObservedVisit<'_>) -> Vec<Held> {
    let Packets::Simulated(packets) = visit.packets() else { return Vec::new() };
    let OnTheWay { held, .. } = OnTheWay::of(visit, packets, true);
    let rows = held
        .iter()
        .map(|(at, bytes)| Held { at_ms: since_start(record, at.as_nanos()), bytes: *bytes });
    let rows: Vec<Held> = rows.collect();
    let Some(last) = rows.last().cloned() else { return rows };
    let each = rows.len().div_ceil(MOST_HELD);
    let highest = |bin: &[Held]| bin.iter().max_by_key(|row| row.bytes).cloned();
    rows.chunks(each).filter_map(highest).chain([last]).collect()
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
