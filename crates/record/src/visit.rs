//! One load of one page, with the paint metrics of a real browser and the punctuality of an emulation.

use serde::{Deserialize, Serialize};

use crate::{
    ConnectionRecord, LinkRecord, NetworkActivity, ObjectRecord, RadioRecord, Series, TcpEvent,
};

/// One load of one page, complete.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VisitRecord {
    /// Position in its journey, from 0.
    pub index: u32,
    /// State of the browser's cache: empty (`cold`) or holding an earlier visit (`warm`).
    pub view: String,
    /// Page of the journey's list; `None` if the journey has a single page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page: Option<String>,
    /// Time of navigation start.
    pub started_at_ns: u64,
    /// Result of the load.
    pub outcome: VisitOutcome,
    /// Time from navigation start to the first byte of the first response that is not a redirect.
    pub ttfb_ns: Option<u64>,
    /// One per request, in the page's order.
    pub objects: Vec<ObjectRecord>,
    /// In the order of opening.
    pub connections: Vec<ConnectionRecord>,
    /// Configuration and measurements of each link of the network; those of the access first.
    pub links: Vec<LinkRecord>,
    /// In chronological order.
    pub events: Vec<TcpEvent>,
    /// IP bytes that the client's access link delivered to it.
    pub wire_bytes_down: u64,
    /// IP bytes that the client's access link took from it and delivered.
    pub wire_bytes_up: u64,
    /// Packets dropped by queues, both directions.
    pub queue_drops: u64,
    /// Packets lost at random, both directions.
    pub losses: u64,
    /// Digest of every packet's arrival time, direction and size (sim only): equal digests mean
    /// equal traces.
    pub trace_digest: Option<u64>,
    /// Punctuality of the emulator (emu only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub emulation: Option<EmulationRecord>,
    /// Paint metrics (a real browser only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paint: Option<Paint>,
    /// Activity of the client's radio (networks with a radio only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub radio: Option<RadioRecord>,
    /// Time series (where the experiment records them).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub series: Option<Series>,
    /// Activity of the network, from which the critical path is derived; empty afterwards.
    #[serde(default)]
    pub activity: NetworkActivity,
}

/// Result of a load.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum VisitOutcome {
    /// The load event fired this long after navigation start.
    Loaded {
        /// Page load time.
        plt_ns: u64,
    },
    /// The load event did not fire.
    Failed {
        /// The reason, in one sentence.
        reason: String,
    },
}

impl VisitRecord {
    /// Drops what only the critical path is derived from: records are kept, and compared, without it.
    pub fn forget_activity(&mut self) {
        self.activity = NetworkActivity::default();
        for object in &mut self.objects {
            (object.revealed_by, object.revealed_at_ns) = (None, None);
        }
    }

    /// Page load time, if the page loaded.
    pub fn plt_ns(&self) -> Option<u64> {
        match self.outcome {
            VisitOutcome::Loaded { plt_ns } => Some(plt_ns),
            VisitOutcome::Failed { .. } => None,
        }
    }

    /// Time from navigation start to the first render: as painted by a browser, else as estimated; `None` if nothing arrived or was
    /// painted.
    pub fn first_render_ns(&self) -> Option<u64> {
        match &self.paint {
            Some(paint) => paint.first_contentful_paint_ns,
            None => self.estimated_render_ns(),
        }
    }

    /// The estimate: the document has begun to arrive, and everything that blocks its first paint has been processed. The load event
    /// waits for all of that, so the estimate never comes after it.
    pub fn estimated_render_ns(&self) -> Option<u64> {
        let arrived = || self.objects.iter().filter(|object| object.error.is_none());
        let document = arrived().find(|object| object.kind == "Document")?;
        let first_byte =
            document.discovered_at_ns + document.phases.total_ns() - document.phases.receive_ns;
        let blocking = arrived().filter(|object| object.blocks_render);
        let processed = blocking.map(|object| object.done_at_ns).max().unwrap_or(0);
        Some(processed.max(first_byte).saturating_sub(self.started_at_ns))
    }

    /// Retransmitted segments, both directions; `None` unless known for every connection.
    pub fn retransmits(&self) -> Option<u64> {
        self.connections.iter().map(ConnectionRecord::retransmits).sum()
    }
}

/// Spans since navigation start; `None` if the event did not happen or was not measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Paint {
    /// The document was parsed (`DOMContentLoaded`).
    pub dom_content_loaded_ns: Option<u64>,
    /// The first pixel that differs from the empty page (W3C Paint Timing).
    pub first_paint_ns: Option<u64>,
    /// The first text or image (W3C Paint Timing).
    pub first_contentful_paint_ns: Option<u64>,
    /// The largest text or image until the visit's end (W3C Largest Contentful Paint).
    pub largest_contentful_paint_ns: Option<u64>,
    /// The mean time at which the viewport's parts reached their final look, from a filmstrip (Speed Index).
    pub speed_index_ns: Option<u64>,
}

/// Punctuality of the emulator, from the beginning of the journey to the end of the visit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EmulationRecord {
    /// Packets delivered.
    pub delivered_packets: u64,
    /// Median lateness of deliveries, past their due times.
    pub late_p50_ns: u64,
    /// 99th percentile of lateness.
    pub late_p99_ns: u64,
    /// Maximum lateness.
    pub late_max_ns: u64,
    /// True if the emulator's thread had real-time priority.
    pub realtime: bool,
    /// Attempts at emulating the journey until the emulator was on time; 1 if the first succeeded.
    pub attempts: u32,
    /// Kernel that provided TCP: `uname -r`.
    pub kernel: String,
}
