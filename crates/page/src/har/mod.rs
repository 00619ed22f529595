//! Reads HAR 1.1 and 1.2 files as browsers and measuring tools write them.
//!
//! What is read: the structure of `docs/pages.md`, from Chrome's DevTools, Chrome HAR Capturer,
//! chrome-har (sitespeed.io), WebPageTest, Firefox, Splash, Browsertime and old Internet Explorer
//! recordings. What a recording leaves out is inferred or defaulted, and each value says which.
//!
//! What must not leak into the graph is the network that the page was recorded over: discovery
//! points come from document order, server think time is `wait` less the host's round trip, and
//! client work is a gap that no arrival falls into. The same page recorded at a round trip of
//! 20 ms and of 200 ms gives the same graph (the module `discovery` says within which limits).
//!
//! Source: HAR 1.2 (Jan Odvarko, W3C Web Performance working draft, 2012); the extension fields
//! (`_initiator`, `_transferSize`, ...) as the tools write them. Times are microseconds inside.

mod build;
mod caching;
mod cause;
mod cautions;
mod decode;
mod discovery;
mod entry;
mod hosts;
mod infer;
mod initiator;
mod json;
mod kinds;
mod log;
mod repair;
mod select;
mod sizes;
mod summary;
mod text;

use std::path::Path;

use crate::{Error, Page, load};

pub(crate) use kinds::by_kind as kinds_by_default;

/// What to read from a HAR.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The page to read where the file holds several, by its id or its number, counted from 1; the first otherwise.
    pub page: Option<String>,
}

/// Reads the page in the HAR file at `path`, which may be gzip-compressed.
pub fn read(path: &Path, options: &Options) -> Result<Page, Error> {
    let name = load::name_of(path);
    let text = load::load(path, &name)?;
    parse(&name, &text, options)
}

/// Reads the page in a HAR's text. `name` is what the page is called and what messages begin with.
pub fn parse(name: &str, text: &[u8], options: &Options) -> Result<Page, Error> {
    let log = log::Log::parse(name, text)?;
    let selection = select::select(name, &log, options)?;
    let page = build::page(name, &log, selection);
    if let Err(problem) = page.check() {
        panic!("reading {name} made a page that breaks the graph's invariants: {problem}");
    }
    Ok(page)
}
