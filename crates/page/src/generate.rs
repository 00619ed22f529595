//! Generated pages: synthetic ones and those of published studies.
//!
//! Every page is exact in its counts and sizes. Details that a study does not state are assumed, and the page's
//! `origin` says so. Sizes in KB are thousands of bytes, as in the studies' tables, except if a page's name gives
//! bytes.

mod builder;
mod calibration;
mod cardaci;
mod studies;
mod synthetic;
mod transfer;

pub(crate) use builder::{Builder, Named};
pub use calibration::calibration_pages;
pub use studies::{STUDY_PAGES, StudyPage};
pub use synthetic::{MOST_OBJECTS, Synthetic};

use crate::{Error, Page};

/// The page of a generator or study; `None` if `spec` is not such a name.
pub fn from_name(spec: &str) -> Result<Option<Page>, Error> {
    if let Some(parameters) = spec.strip_prefix("synthetic:") {
        return Synthetic::parse(spec, parameters).map(|synthetic| Some(synthetic.page()));
    }
    if let Some(page) = calibration::from_name(spec)? {
        return Ok(Some(page));
    }
    if let Some(page) = transfer::from_name(spec)? {
        return Ok(Some(page));
    }
    let name = spec.strip_suffix(".html").unwrap_or(spec);
    if let Some(page) = studies::kallio(name) {
        return Ok(Some(page));
    }
    Ok(STUDY_PAGES.iter().find(|study| study.name == name).map(StudyPage::page))
}

/// Names of Kallio's 40 pages, in the study's order.
pub fn kallio_names() -> impl Iterator<Item = String> {
    studies::kallio_parameters().map(|(name, _, _)| name)
}
