//! Paint metrics of a real browser.

use serde::{Deserialize, Serialize};

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
