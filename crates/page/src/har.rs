//! Reader of HAR 1.1 and 1.2 files as written by browsers and measurement tools.
//!
//! Input: the structure of `docs/pages.md`, from Chrome's DevTools, Chrome HAR Capturer,
//! chrome-har (sitespeed.io), WebPageTest, Firefox, Splash, Browsertime and old Internet Explorer
//! recordings. Missing values are inferred or defaulted, and each value says which.
//!
//! The network that the page was recorded over must not leak into the graph: discovery points come from document
//! order, server think time is `wait` less the host's round trip, and client work is a gap without arrivals. The same
//! page recorded at a round trip of 20 ms and of 200 ms gives the same graph (the module `discovery` states the
//! limits).
//!
//! Source: HAR 1.2 (Jan Odvarko, W3C Web Performance working draft, 2012); the extension fields (`_initiator`,
//! `_transferSize`, ...) as the tools write them. Times are microseconds internally.

mod build;
mod cause;
mod discovery;
mod entry;
mod exchange;
mod hosts;
mod infer;
mod log;
mod repair;
mod select;
mod text;

use std::path::Path;

use crate::{Error, Page};

pub(crate) use self::exchange::by_kind as kinds_by_default;

/// Options of reading a HAR.
#[derive(Clone, Debug, Default)]
pub struct ImportOptions {
    /// Page to read if the file holds several, by its id or its number, counted from 1; the first by default.
    pub page: Option<String>,
}

/// Reads the page in the HAR file at `path`, which may be gzip-compressed.
pub fn read(path: &Path, options: &ImportOptions) -> Result<Page, Error> {
    let name = crate::open::name_of(path);
    let text = crate::open::load(path, &name)?;
    parse(&name, &text, options)
}

/// Parses the page in a HAR's text. `name` becomes the page's name and begins the messages.
pub fn parse(name: &str, text: &[u8], options: &ImportOptions) -> Result<Page, Error> {
    let log = log::HarLog::parse(name, text)?;
    let selection = select::select(name, &log, options)?;
    let page = build::page(name, &log, selection);
    if let Err(problem) = page.check() {
        panic!("reading {name} made a page that breaks the graph's invariants: {problem}");
    }
    Ok(page)
}
