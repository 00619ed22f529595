//! Milestones of the page's main frame, and its paints.

use record::Paint;

use super::event::Lifecycle;
use super::request::Clock;

/// The main frame's milestones, in seconds of the browser's clock.
#[derive(Debug, Default)]
pub(super) struct Milestones {
    dom_content_loaded: Option<f64>,
    pub(super) first_paint: Option<f64>,
    first_contentful_paint: Option<f64>,
    /// The load event began.
    pub(super) loaded: Option<f64>,
}

impl Milestones {
    /// Records an event of the main frame's document.
    pub(super) fn note(&mut self, event: &Lifecycle) {
        let milestone = match event.name.as_str() {
            "DOMContentLoaded" => &mut self.dom_content_loaded,
            "firstPaint" => &mut self.first_paint,
            "firstContentfulPaint" => &mut self.first_contentful_paint,
            "load" => &mut self.loaded,
            _ => return,
        };
        milestone.get_or_insert(event.timestamp);
    }

    /// Returns true if something has been painted.
    pub(super) fn is_painted(&self) -> bool {
        self.first_paint.is_some() && self.first_contentful_paint.is_some()
    }

    /// The milestones as spans since `navigation`.
    pub(super) fn paint(&self, clock: Clock, navigation: f64) -> Paint {
        let start = clock.time(navigation);
        let span = |at: Option<f64>| at.map(|at| clock.time(at).since(start).as_nanos() as u64);
        Paint {
            dom_content_loaded_ns: span(self.dom_content_loaded),
            first_paint_ns: span(self.first_paint),
            first_contentful_paint_ns: span(self.first_contentful_paint),
            ..Paint::default()
        }
    }
}
