//! Trace of the wire: a digest of every arrival, drops, and both ends of each connection.

use net::DropCause;
use units::Time;

use super::capture::Capture;
use super::movement::Arrivals;
use super::state;
use super::tcp_table::Socket;
use crate::ambient;
use crate::report::{Drop, Endpoint, Report};

/// The report of this thread's world so far; `None` outside the simulated world.
pub fn report() -> Option<Report> {
    let mut report = None;
    state::with_if_any(|state| {
        let tells_series = state.trace.series == Series::Told;
        let mut endpoints: Vec<Endpoint> = match tells_series {
            true => state.trace.closed.clone(),
            false => state.trace.closed.iter().map(Endpoint::without_series).collect(),
        };
        endpoints.extend(state.tcp.endpoints(&state.topology, tells_series));
        report = Some(Report {
            digest: Some(state.trace.digest),
            links: state.topology.link_reports(),
            radios: state.topology.radio_reports(state.now),
            drops: state.trace.drops.clone(),
            endpoints,
        });
    });
    // Called outside the state, since they may ask for the time.
    if let Some(report) = &mut report {
        report.endpoints.extend(ambient::added());
    }
    report
}

#[derive(Default)]
pub(super) struct Trace {
    digest: u64,
    drops: Vec<Drop>,
    pub(super) closed: Vec<Endpoint>,
    /// Copies of packets, if captured.
    pub(super) capture: Option<Capture>,
    /// Recording of connections' series.
    pub(super) series: Series,
    /// Arrived packets, if kept.
    pub(super) arrivals: Option<Arrivals>,
}

/// Use of connections' series.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Series {
    /// None are recorded.
    #[default]
    None,
    /// They are returned by [`movements`](super::movements).
    Kept,
    /// They are part of every report, with the data held above the sockets.
    Told,
}

impl Trace {
    /// Makes a new socket record as the plan asks.
    pub(super) fn watch(&self, socket: &mut Socket) {
        if self.series != Series::None {
            socket.connection.record_series();
        }
        if self.series == Series::Told {
            socket.held = Some(Box::default());
        }
    }

    pub(super) fn arrived(&mut self, at: Time, link: u32, wire_bytes: u32) {
        let words = [at.as_nanos(), (u64::from(link) << 32) | u64::from(wire_bytes)];
        for word in words {
            // FNV-1a's step over 64-bit words, then a rotation so that high bits spread down.
            self.digest = (self.digest ^ word).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(29);
        }
    }

    pub(super) fn dropped(
        &mut self,
        at: Time,
        link: u32,
        user: u32,
        wire_bytes: u32,
        cause: DropCause,
    ) {
        self.drops.push(Drop { at, link: link as usize, user, wire_bytes, cause });
    }
}
