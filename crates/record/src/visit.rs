//! One load of one page.

use serde::{Deserialize, Serialize};

use crate::{
    ConnectionRecord, EmulationRecord, Event, LinkRecord, ObjectRecord, Paint, RadioRecord, Series,
};

/// One load of one page, complete.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VisitRecord {
    /// Position in its journey, from 0.
    pub index: u32,
    /// Whether the browser's cache was empty (`cold`) or held an earlier visit (`warm`).
    pub view: String,
    /// Which page of the journey's list; `None` where it has but one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page: Option<String>,
    /// When navigation started.
    pub started_at_ns: u64,
    /// How it ended.
    pub outcome: Outcome,
    /// From navigation start to the first byte of the first response that is not a redirect.
    pub ttfb_ns: Option<u64>,
    /// One a request, in the page's order.
    pub objects: Vec<ObjectRecord>,
    /// In the order in which they were opened.
    pub connections: Vec<ConnectionRecord>,
    /// What each link of the network was to be and what it did; those of the access first.
    pub links: Vec<LinkRecord>,
    /// In time's order.
    pub events: Vec<Event>,
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
    /// How punctual the emulator was (emu only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub emulation: Option<EmulationRecord>,
    /// What the browser showed, and when (a real browser only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paint: Option<Paint>,
    /// What the client's radio did (networks with a radio only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub radio: Option<RadioRecord>,
    /// How it went over time (where the experiment wants that recorded).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub series: Option<Series>,
}

/// How a visit ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    /// The load event fired this long after navigation start.
    Loaded {
        /// Page load time.
        plt_ns: u64,
    },
    /// It did not, and why.
    Failed {
        /// One sentence.
        reason: String,
    },
}

impl VisitRecord {
    /// Page load time, if the page loaded.
    pub fn plt_ns(&self) -> Option<u64> {
        match self.outcome {
            Outcome::Loaded { plt_ns } => Some(plt_ns),
            Outcome::Failed { .. } => None,
        }
    }

    /// Retransmitted segments, both directions; `None` where that is not known of every connection.
    pub fn retransmits(&self) -> Option<u64> {
        self.connections.iter().map(ConnectionRecord::retransmits).sum()
    }
}
