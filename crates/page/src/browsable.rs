//! Files that make a browser load a page in the order of its graph.
//!
//! Documents whose tags end at the bytes after which the graph has their objects discovered, sheets that use their
//! images and fonts, scripts that request the objects which wait for them, redirects, and decodable images: all of
//! the size that the graph states, to be served as they are, without compression.
//!
//! The graph is followed in this order of precedence: every object is requested exactly once; at the time when
//! everything that it waits for has arrived and its compute is over (a timer, as in the loader, where compute delays
//! but occupies no thread); the load event waits for it or does not; its size; its priority, as far as
//! `fetchpriority` goes.
//!
//! Behaviour that a browser has and the graph lacks is left to the browser: its parser stops at a sheet in the body
//! while its preload scanner goes on; it parses, styles, lays out and paints. Deviations from the graph are listed in
//! [`Browsable::notes`]; if the page itself had to change (a size, a method), [`Browsable::page`] is the changed
//! page, so that farlink's own loader can load the very same one.

mod carrier;
mod filler;
mod html;
mod image;
mod link;
mod notes;
mod plan;
mod script;
mod sheet;
mod units;

use crate::{Error, Page};

/// A page with the content of its objects.
#[derive(Clone, Debug)]
pub struct Browsable {
    /// The page as it is served.
    pub page: Page,
    /// One per object, in the page's order.
    pub contents: Vec<Content>,
    /// Differences from the requested page, one line each.
    pub notes: Vec<String>,
}

/// Content of a response, beside the status and size that the page states.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Content {
    /// `Content-Type`.
    pub media_type: &'static str,
    /// Header fields with an effect in browsers: redirect targets, access control, cache lifetime.
    pub fields: Vec<(&'static str, String)>,
    /// The body.
    pub body: Vec<u8>,
}

/// Generates the content of `page`.
///
/// # Errors
/// If the page has no document that a browser could navigate to.
pub fn browsable(page: &Page) -> Result<Browsable, Error> {
    if page.is_transfer() {
        let problem = "it is bytes over connections, without a document".to_owned();
        return Err(Error::NotWritable { page: page.name.clone(), problem });
    }
    let mut notes = notes::Notes::default();
    let page = plan::spelt(page, &mut notes)?;
    plan::Plan::new(page, notes).write()
}
