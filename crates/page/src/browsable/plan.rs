//! Assignment of references: which file refers to which unit, by which means, and at which byte.
//!
//! Objects are processed from last to first: everything that waits for an object is known before the object's own
//! file and reference are written.

use std::net::Ipv4Addr;
use std::time::Duration;

use super::html::{self, FileAddress, PositionedMarkup, Tag};
use super::script::{self, ScriptCall};
use super::units::{Carrier, Units, is_bodiless, is_urgent};
use super::{Browsable, Content, Difference, Differences, image};
use crate::{After, Edge, Error, Kind, Page};

/// A sheet is applied, and its references requested, within about this time of its arrival: shorter computes are left
/// to the browser.
const STYLE_TIME: Duration = Duration::from_millis(20);

/// The page with URLs normalised as by browsers, and with methods and bodies limited to what a page may request.
pub(super) fn spelt(page: &Page, notes: &mut Differences) -> Result<Page, Error> {
    let page = &one_origin_a_name(page, notes);
    let mut spelt = page.clone();
    for (index, object) in spelt.objects.iter_mut().enumerate() {
        let host = &page.host_of(object).name;
        let Some(place) = FileAddress::new(host, &object.path) else {
            return Err(Error::NotWritable {
                page: page.name.clone(),
                problem: format!("object {index} is at `{host}{}`, which is no URL", object.path),
            });
        };
        if place.path != object.path || place.host != *host {
            notes.add(Difference::Spelling, &object.url);
            object.path = place.path;
        }
        spelt.hosts[object.host.0 as usize].name = place.host;
        let allowed = ["GET", "POST", "HEAD"].contains(&object.method.as_str());
        let method = if object.request_body_bytes > 0 { "POST" } else { "GET" };
        if !allowed || index == 0 && object.method != "GET" {
            notes.add(Difference::Method, &object.url);
            method.clone_into(&mut object.method);
        }
        if index == 0 {
            "GET".clone_into(&mut object.method);
        }
        // RFC 9110 section 9.3.2.
        let bodiless = object.method == "HEAD" || is_bodiless(object.status);
        if bodiless && object.body_bytes > 0 {
            notes.add(Difference::Bodiless, &object.url);
            object.body_bytes = 0;
        }
    }
    Ok(spelt)
}

/// Gives each origin a host name of its own, all on the same port and with the same scheme: files link to each other
/// without a scheme, and a browser is given one address per name.
fn one_origin_a_name(page: &Page, notes: &mut Differences) -> Page {
    let mut named = page.clone();
    let machines = page.machines();
    for (index, host) in named.hosts.iter_mut().enumerate() {
        if machines[index] != index {
            let label = host.port.map_or_else(|| "http".to_owned(), |port| port.to_string());
            let is_address = host.name.starts_with('[') || host.name.parse::<Ipv4Addr>().is_ok();
            host.name = match is_address {
                true => format!("{label}.host{index}.test"),
                false => format!("{label}.{}", host.name),
            };
        }
        (host.port, host.in_clear) = (None, false);
    }
    for object in &page.objects {
        let host = page.host_of(object);
        if host.port.is_some() || host.in_clear {
            notes.add(Difference::Origin, &object.url);
        }
    }
    named
}

/// A page in conversion to files.
pub(super) struct BrowsablePlan {
    page: Page,
    notes: Differences,
    units: Units,
    places: Vec<FileAddress>,
    /// By unit: references of a document, with their bytes.
    references: Vec<Vec<PositionedMarkup>>,
    /// By unit: references of a sheet.
    sheets: Vec<super::html::References>,
    /// By unit: statements to run on its arrival, the latest object's first.
    arrivals: Vec<Vec<String>>,
    /// By unit: true if code runs in its window.
    scripted: Vec<bool>,
    /// Number of arrivals that the first paint waits for.
    blocking: usize,
    bodies: Vec<Vec<u8>>,
}

impl BrowsablePlan {
    pub(super) fn new(page: Page, mut notes: Differences) -> BrowsablePlan {
        let units = Units::new(&page, &mut notes);
        let count = page.objects.len();
        let places = page.objects.iter().map(|object| FileAddress {
            host: page.host_of(object).name.clone(),
            path: object.path.clone(),
        });
        BrowsablePlan {
            places: places.collect(),
            references: (0..count).map(|_| Vec::new()).collect(),
            sheets: (0..count).map(|_| super::html::References::default()).collect(),
            arrivals: vec![Vec::new(); count],
            scripted: vec![false; count],
            blocking: 0,
            bodies: vec![Vec::new(); count],
            page,
            notes,
            units,
        }
    }

    /// Writes all bodies.
    ///
    /// # Errors
    /// If the document to navigate to cannot hold anything.
    pub(super) fn write(mut self) -> Result<Browsable, Error> {
        let document = &self.page.objects[self.units.last[0]];
        if is_bodiless(document.status) {
            return Err(Error::NotWritable {
                page: self.page.name.clone(),
                problem: format!("its document is a {}, which has no body", document.status),
            });
        }
        for object in (0..self.page.objects.len()).rev() {
            if self.units.is_first(object) {
                let then = self.write_content(object);
                if object > 0 {
                    self.refer_to(object, &then);
                }
            } else if self.units.target[object].is_some() {
                self.bodies[object] = super::opaque(self.page.objects[object].body_bytes);
            }
        }
        Ok(self.finish())
    }

    /// Writes the last file of `unit`, and the first if it is a chain; returns the code that its requester must run
    /// on its arrival.
    fn write_content(&mut self, unit: usize) -> String {
        let last = self.units.last[unit];
        let bytes = self.page.objects[last].body_bytes;
        if last != unit {
            self.bodies[unit] = super::opaque(self.page.objects[unit].body_bytes);
        }
        self.arrivals[unit].reverse();
        let code = self.arrivals[unit].join(";");
        let carrier = self.units.carrier[unit];
        if carrier == Carrier::Fetch && !code.is_empty() && self.is_foreign(unit) {
            self.notes.add(Difference::AtHead, &self.page.objects[unit].url);
        }
        let (body, then) = match carrier {
            Carrier::Navigation | Carrier::Frame => {
                let mut references = std::mem::take(&mut self.references[unit]);
                references.reverse();
                references.sort_by_key(|reference| reference.at);
                let helpers = self.scripted[unit];
                let blocking = if unit == 0 { self.blocking } else { 0 };
                (html::document(bytes, &references, html::DocumentCode { helpers, blocking }), code)
            }
            Carrier::Sheet => {
                let css = self.sheets[unit].css(&element(unit));
                (super::commented(css, bytes), code)
            }
            Carrier::Script if code.len() as u64 <= bytes => {
                (super::commented(code, bytes), String::new())
            }
            Carrier::Script => (super::commented(String::new(), bytes), code),
            Carrier::Fetch if self.page.objects[last].kind == Kind::Data => {
                (super::json(bytes), code)
            }
            Carrier::Font => (super::opaque(bytes), code),
            Carrier::Image | Carrier::Preload | Carrier::Fetch => (image::gif(last, bytes), code),
        };
        self.bodies[last] = body;
        then
    }

    /// Returns true if another host than the window's serves it.
    fn is_foreign(&self, unit: usize) -> bool {
        let window = &self.places[self.units.last[self.units.window[unit]]];
        self.places[self.units.last[unit]].host != window.host
    }

    /// Adds a request for `unit`, with `then` to run on its arrival.
    fn refer_to(&mut self, unit: usize, then: &str) {
        let window = self.units.window[unit];
        self.scripted[window] |= !then.is_empty();
        let edges = self.edges(unit);
        match edges.as_slice() {
            [edge] => self.refer_from(unit, edge, then),
            [others @ .., last] => {
                let then = &self.lifting(unit, then);
                for edge in others {
                    self.run_on(edge, script::counted(unit, edges.len(), None));
                }
                let code = self.delayed_request(unit, last.compute.value, then);
                self.run_on(last, script::counted(unit, edges.len(), Some(code)));
            }
            [] => unreachable!("all objects but the first wait for something"),
        }
    }

    /// Edges of `unit` within its window, the latest object last.
    fn edges(&mut self, unit: usize) -> Vec<Edge> {
        let window = self.units.window[unit];
        let all = &self.page.objects[unit].waits_for;
        let seen = |edge: &&Edge| {
            self.units.inner_window(self.units.first[edge.object.0 as usize]) == window
        };
        let mut edges: Vec<Edge> = all.iter().filter(seen).cloned().collect();
        edges.sort_by_key(|edge| edge.object);
        if edges.len() < all.len() {
            self.notes.add(Difference::OtherFrame, &self.page.objects[unit].url);
        }
        edges
    }

    /// Refers to `unit` from the single object that it waits for, by that object's own means if it has any.
    fn refer_from(&mut self, unit: usize, edge: &Edge, then: &str) {
        let from = self.units.first[edge.object.0 as usize];
        let compute = edge.compute.value;
        let carrier = self.units.carrier[unit];
        let at_once = script::millis(compute) == 0;
        let parent = self.units.carrier[from];
        if parent == Carrier::Sheet
            && compute <= STYLE_TIME
            && then.is_empty()
            && self.style(unit, from)
        {
            if !at_once {
                self.notes.add(Difference::StyleTime, &self.page.objects[unit].url);
            }
            return;
        }
        let then = &self.lifting(unit, then);
        if parent.is_document() && at_once && carrier != Carrier::Fetch {
            let markup = self.tag(unit, from, then);
            self.references[from].push(PositionedMarkup { at: at(edge), markup });
        } else {
            let code = self.delayed_request(unit, compute, then);
            self.run_on(edge, code);
        }
    }

    /// Code to run on the arrival of `unit`: `then`, and if the first paint waits for the unit, the call that lifts
    /// the curtain. A sheet that imports another has arrived when the other has.
    fn lifting(&mut self, unit: usize, then: &str) -> String {
        let blocks = self.page.objects[self.units.last[unit]].blocks_render;
        if !blocks || self.units.window[unit] != 0 {
            return then.to_owned();
        }
        self.blocking += 1;
        let code = [then, script::LIFT].into_iter().filter(|code| !code.is_empty());
        code.collect::<Vec<_>>().join(";")
    }

    /// Makes the sheet `from` use `unit`, if sheets can. Returns true if so.
    fn style(&mut self, unit: usize, from: usize) -> bool {
        let link = self.places[unit].from(&self.places[self.units.last[from]]);
        let own = &self.sheets[unit];
        let plain_sheet = !own.need_an_element();
        let sheet = &mut self.sheets[from];
        match self.units.carrier[unit] {
            Carrier::Sheet if plain_sheet => sheet.imports.push(link),
            Carrier::Image => sheet.images.push(link),
            Carrier::Font => sheet.fonts.push(link),
            _ => return false,
        }
        true
    }

    fn tag(&self, unit: usize, from: usize, then: &str) -> String {
        let link = self.places[unit].from(&self.places[self.units.last[from]]);
        html::tag(&Tag {
            carrier: self.units.carrier[unit],
            link: &link,
            urgent: is_urgent(&self.page.objects[unit]),
            then,
            id: self.id(unit),
            object: unit,
        })
    }

    fn delayed_request(&mut self, unit: usize, compute: Duration, then: &str) -> String {
        let window = self.units.window[unit];
        self.scripted[window] = true;
        let link = self.places[unit].from(&self.places[self.units.last[window]]);
        let object = &self.page.objects[unit];
        let code = script::request(&ScriptCall {
            carrier: self.units.carrier[unit],
            link: &link,
            urgent: is_urgent(object),
            method: &object.method,
            body_bytes: object.request_body_bytes,
            then,
            id: self.id(unit),
            object: unit,
        });
        script::delayed(code, compute, self.page.objects[self.units.last[unit]].blocks_load)
    }

    /// Id of the element that links the sheet, if the sheet refers to it.
    fn id(&self, unit: usize) -> Option<String> {
        self.sheets[unit].need_an_element().then(|| element(unit))
    }

    /// Runs `code` on the arrival that `edge` names.
    fn run_on(&mut self, edge: &Edge, code: String) {
        let object = edge.object.0 as usize;
        let from = self.units.first[object];
        let window = self.units.inner_window(from);
        self.scripted[window] = true;
        if self.units.last[from] != object {
            self.notes.add(Difference::AfterRedirect, &self.page.objects[object].url);
        }
        match self.units.carrier[from].is_document() {
            true => {
                let markup = html::inline(&code);
                self.references[from].push(PositionedMarkup { at: at(edge), markup });
            }
            false => self.arrivals[from].push(code),
        }
    }

    fn finish(mut self) -> Browsable {
        let contents: Vec<Content> =
            (0..self.page.objects.len()).map(|o| self.content(o)).collect();
        for (object, content) in self.page.objects.iter_mut().zip(&contents) {
            let bytes = content.body.len() as u64;
            if bytes != object.body_bytes {
                self.notes.add(Difference::Larger, &object.url);
                object.body_bytes = bytes;
            }
        }
        let is_loaded_early = self.notes.is_loaded_early;
        Browsable { page: self.page, contents, notes: self.notes.lines(), is_loaded_early }
    }

    fn content(&mut self, object: usize) -> Content {
        let unit = self.units.first[object];
        let carrier = self.units.carrier[unit];
        let stated = &self.page.objects[object];
        let place = &self.places[object];
        let mut fields = Vec::new();
        if let Some(target) = self.units.target[object] {
            fields.push(("location", self.places[target].from(place)));
        }
        if carrier == Carrier::Font && self.is_foreign(unit) {
            fields.push(("access-control-allow-origin", "*".to_owned()));
        }
        if stated.cacheable {
            // A day: longer than the time until any second visit.
            fields.push(("cache-control", "max-age=86400".to_owned()));
        } else if self.units.target[object].is_some() {
            // Browsers keep permanent redirects indefinitely (RFC 9110 section 15.4.2).
            fields.push(("cache-control", "no-store".to_owned()));
        }
        let json = carrier == Carrier::Fetch && stated.kind == Kind::Data && !self.is_foreign(unit);
        Content {
            media_type: if json { "application/json" } else { carrier.media_type() },
            fields,
            body: std::mem::take(&mut self.bodies[object]),
        }
    }
}

/// Id of the element that links a sheet; also the name of the sheet's fonts.
fn element(unit: usize) -> String {
    format!("s{unit}")
}

/// Byte of a document at which a reference ends.
fn at(edge: &Edge) -> u64 {
    match edge.after {
        After::Head => 0,
        After::Bytes(bytes) => bytes,
        After::End => u64::MAX,
    }
}
