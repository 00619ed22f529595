//! The bytes that make a browser load a page as its graph says.
//!
//! Documents whose tags end at the bytes after which the graph has their objects found, sheets that use
//! their images and fonts, scripts that request what waits for them, redirects that lead on, images that
//! can be decoded: all of the size that the graph states, to be served as they are, without compression.
//!
//! What the graph says is followed in this order: every object is requested exactly once; when what it
//! waits for has arrived and its compute is over (a timer, as in the loader, where compute delays but
//! occupies nobody); the load event waits for it or does not; its size; its priority, as far as
//! `fetchpriority` goes.
//!
//! What a browser has and the graph does not, stays a browser's own: its parser stops at a sheet in the
//! body while its preload scanner goes on; it parses, styles, lays out and paints. What cannot be as the
//! graph says is listed in [`Browsable::notes`], and where the page itself had to change (a size, a method), the page in
//! [`Browsable::page`] is the changed one, so that farlink's own loader can load the very same.

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

/// A page with the bytes of its objects.
#[derive(Clone, Debug)]
pub struct Browsable {
    /// The page as it is served.
    pub page: Page,
    /// One an object, in the page's order.
    pub contents: Vec<Content>,
    /// What differs from the page that was asked for, one line each.
    pub notes: Vec<String>,
}

/// What a server answers with, beside the status and size that the page states.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Content {
    /// `Content-Type`.
    pub media_type: &'static str,
    /// Fields that a browser acts upon: where a redirect leads, who may read, how long it may be kept.
    pub fields: Vec<(&'static str, String)>,
    /// What it holds.
    pub body: Vec<u8>,
}

/// The bytes of `page`.
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
