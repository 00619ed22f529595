//! Units that a page requests: objects, or chains of redirects with their target; and the carrier of each.

use std::collections::BTreeSet;

use super::{Difference, Differences};
use crate::{After, Kind, Object, ObjectPriority, Page};

/// The units of a page. A unit is identified by its first object's index.
#[derive(Debug)]
pub(super) struct Units {
    /// Target of each redirect.
    pub(super) target: Vec<Option<usize>>,
    /// First object of the chain that each object is in.
    pub(super) first: Vec<usize>,
    /// Last object of the chain that each object is in.
    pub(super) last: Vec<usize>,
    /// Carrier of each unit, by first object.
    pub(super) carrier: Vec<Carrier>,
    /// The document, as a unit, in whose window each unit is requested. The page's own document is in its own window.
    pub(super) window: Vec<usize>,
}

impl Units {
    pub(super) fn new(page: &Page, notes: &mut Differences) -> Units {
        let target = targets(page, notes);
        let count = page.objects.len();
        let mut first: Vec<usize> = (0..count).collect();
        for index in 0..count {
            if let Some(next) = target[index] {
                first[next] = first[index];
            }
        }
        let mut last: Vec<usize> = (0..count).collect();
        for index in (0..count).rev() {
            if let Some(next) = target[index] {
                last[index] = last[next];
            }
        }
        let mut units = Units { target, first, last, carrier: Vec::new(), window: vec![0; count] };
        units.carrier = units.carriers(page, notes);
        for unit in 1..count {
            units.window[unit] = units.window_of(page, unit);
        }
        units
    }

    /// Returns true if an object is the first of its chain, hence requested by the page.
    pub(super) fn is_first(&self, object: usize) -> bool {
        self.first[object] == object
    }

    /// Window in which the dependents of `unit` run.
    pub(super) fn inner_window(&self, unit: usize) -> usize {
        if self.carrier[unit].is_document() { unit } else { self.window[unit] }
    }

    fn carriers(&self, page: &Page, notes: &mut Differences) -> Vec<Carrier> {
        let mut seen = BTreeSet::new();
        let mut carriers = Vec::with_capacity(page.objects.len());
        for (index, object) in page.objects.iter().enumerate() {
            let repeated = !seen.insert((&object.method, object.host, &object.path));
            let last = &page.objects[self.last[index]];
            let carrier = match index {
                0 => Carrier::Navigation,
                _ => Carrier::of(object, last, repeated),
            };
            if self.is_first(index) && index > 0 {
                notes.is_loaded_early |= carrier == Carrier::Fetch && last.blocks_load;
                if repeated {
                    notes.add(Difference::Repeated, &object.url);
                } else if carrier == Carrier::Fetch && last.blocks_load {
                    notes.add(Difference::LateFetch, &object.url);
                }
            }
            carriers.push(carrier);
        }
        carriers
    }

    /// Window in which the last object that it waits for is known.
    fn window_of(&self, page: &Page, unit: usize) -> usize {
        let edges = page.objects[unit].waits_for.iter();
        let last = edges.map(|edge| edge.object.0 as usize).max().unwrap_or(0);
        self.inner_window(self.first[last])
    }
}

/// Targets of redirects: the first object that waits for nothing but the redirect's head.
fn targets(page: &Page, notes: &mut Differences) -> Vec<Option<usize>> {
    let mut targets = vec![None; page.objects.len()];
    for (index, object) in page.objects.iter().enumerate() {
        let [edge] = object.waits_for.as_slice() else { continue };
        let from = edge.object.0 as usize;
        let redirect = &page.objects[from];
        let leads = matches!(redirect.status, 301 | 302 | 303 | 307 | 308);
        if edge.after != After::Head || !leads || targets[from].is_some() {
            continue;
        }
        // RFC 9110 section 15.4: 301 to 303 make a POST a GET, 307 and 308 keep the method.
        let keeps = redirect.method == object.method;
        let method_after = match redirect.status {
            301..=303 if redirect.method != "HEAD" => object.method == "GET",
            _ => keeps,
        };
        match method_after {
            true => targets[from] = Some(index),
            false => notes.add(Difference::RedirectMethod, &object.url),
        }
    }
    targets
}

// Carriers: the elements, rules and calls by which a browser requests objects.

/// Element, rule or call that requests an object. It also determines the kind of body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Carrier {
    /// Navigation: the page's own document.
    Navigation,
    /// `iframe`.
    Frame,
    /// `link rel=stylesheet`, `@import`.
    Sheet,
    /// `script async`: requested when found, run on arrival, without blocking the parser.
    Script,
    /// `img`, `url()` of CSS. Also the fallback for anything that the load event waits for.
    Image,
    /// `@font-face`, `FontFace`.
    Font,
    /// `link rel=preload as=image`: a GET that the load event does not wait for.
    Preload,
    /// `fetch()`: other methods, and repeated requests. The load event does not wait for it.
    Fetch,
}

impl Carrier {
    /// Carrier of `object`, the target of a chain of redirects if there is one. `first` is the chain's first object;
    /// `repeated` is true if an earlier object has its method and URL.
    pub(super) fn of(first: &Object, object: &Object, repeated: bool) -> Carrier {
        if first.method != "GET" || repeated {
            return Carrier::Fetch;
        }
        if !object.blocks_load {
            return Carrier::Preload;
        }
        match object.kind {
            // A browser accepts a failed response only as an image.
            _ if !(200..300).contains(&object.status) || is_bodiless(object.status) => {
                Carrier::Image
            }
            Kind::Document => Carrier::Frame,
            Kind::Stylesheet => Carrier::Sheet,
            Kind::Script => Carrier::Script,
            Kind::Font => Carrier::Font,
            Kind::Image | Kind::Media | Kind::Data | Kind::Redirect | Kind::Other => Carrier::Image,
        }
    }

    /// Returns true for a document, which has references and a window of its own.
    pub(super) fn is_document(self) -> bool {
        matches!(self, Carrier::Navigation | Carrier::Frame)
    }

    /// Media type to serve it with. Responses that a foreign page may not read need a type that it might show (ORB,
    /// <https://github.com/annevk/orb>), or the browser aborts the transfer.
    pub(super) fn media_type(self) -> &'static str {
        match self {
            Carrier::Navigation | Carrier::Frame => "text/html; charset=utf-8",
            Carrier::Sheet => "text/css",
            Carrier::Script => "text/javascript",
            Carrier::Font => "font/woff2",
            Carrier::Image | Carrier::Preload | Carrier::Fetch => "image/gif",
        }
    }
}

/// Returns true if responses of this status have no body (RFC 9110 sections 15.3.5, 15.3.6 and 15.4.5).
pub(super) fn is_bodiless(status: u16) -> bool {
    matches!(status, 204 | 205 | 304)
}

/// Returns true if the page's priority exceeds a browser's default for requests of documents and scripts (Low).
pub(super) fn is_urgent(object: &Object) -> bool {
    matches!(object.priority, ObjectPriority::Highest | ObjectPriority::High)
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_page_that_reloads_itself_is_loaded_early() {
        let mut page = crate::open("bth2013").unwrap();
        assert!(!crate::browsable(&page).unwrap().is_loaded_early);
        let mut again = page.objects[0].clone();
        again.waits_for = page.objects[1].waits_for.clone();
        page.objects.push(again);
        assert!(crate::browsable(&page).unwrap().is_loaded_early);
        page.objects[36].blocks_load = false;
        assert!(!crate::browsable(&page).unwrap().is_loaded_early);
    }
}
