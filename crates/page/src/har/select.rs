//! Selection of the page's entries: of one page, over HTTP, with a response, from its document on.

use std::collections::{BTreeMap, BTreeSet};

use super::ImportOptions;
use super::entry::HarEntry;
use super::exchange;
use super::log::HarLog;
use crate::{Error, Kind, SkipReason, Skipped};

/// Length in characters to which long URLs are cut in [`Skipped`].
const READABLE_CHARS: usize = 120;

/// The page's entries, by start, the document first; and all others with the reason.
pub(super) struct Selection<'a> {
    pub kept: Vec<&'a HarEntry>,
    pub skipped: Vec<Skipped>,
    /// Id of the page that is read, if the file names pages.
    pub page: Option<String>,
    /// Ids of the file's other pages.
    pub others: Vec<String>,
    /// Time of the load event, if recorded.
    pub loaded_at: Option<i64>,
}

/// Partitions the entries of `log` into the page's and the others.
pub(super) fn select<'a>(
    name: &str,
    log: &'a HarLog,
    options: &ImportOptions,
) -> Result<Selection<'a>, Error> {
    let pages = pages(log);
    let page = chosen_page(name, &pages, options)?;
    let mut by_start: Vec<&HarEntry> = log.entries.iter().collect();
    by_start.sort_by_key(|e| (e.started, e.index));

    let mut fetched = BTreeSet::new();
    let mut kept = Vec::new();
    let mut skipped = BTreeMap::new();
    for entry in by_start {
        match reason_to_skip(entry, page.as_deref(), &fetched) {
            Some(reason) => {
                skipped.insert(entry.index, reason);
            }
            None => {
                fetched.insert(entry.address());
                kept.push(entry);
            }
        }
    }
    let document = kept.iter().position(|e| is_document(e)).unwrap_or(0);
    for early in kept.drain(..document) {
        skipped.insert(early.index, SkipReason::BeforeDocument);
    }
    if kept.is_empty() {
        return Err(Error::NothingLeft {
            name: name.to_owned(),
            entries: log.entries.len(),
            reasons: tally(skipped.values()),
        });
    }
    let loaded_at = log
        .pages
        .iter()
        .find(|mark| page.as_ref().is_none_or(|id| *id == mark.id))
        .and_then(|mark| mark.loaded_at);
    let skipped = skipped
        .into_iter()
        .map(|(index, reason)| Skipped { url: readable(&log.entries[index].url_text), reason })
        .collect();
    let others = pages.into_iter().filter(|id| Some(*id) != page.as_deref());
    let others = match options.page {
        Some(_) => Vec::new(),
        None => others.map(str::to_owned).collect(),
    };
    Ok(Selection { kept, skipped, page, others, loaded_at })
}

/// Ids of the pages with something to load, in the order of the file.
fn pages(log: &HarLog) -> Vec<&str> {
    let nothing = BTreeSet::new();
    let loadable = log.entries.iter().filter(|e| reason_to_skip(e, None, &nothing).is_none());
    let used: Vec<&str> = loadable.filter_map(|e| e.pageref.as_deref()).collect();
    let marks = log.pages.iter().map(|mark| mark.id.as_str()).filter(|id| used.contains(id));
    let mut pages: Vec<&str> = Vec::new();
    for id in marks.chain(used.iter().copied()) {
        if !pages.contains(&id) {
            pages.push(id);
        }
    }
    pages
}

/// Id of the page to read: the requested one, by its id or its number, counted from 1, or else the first.
fn chosen_page(
    name: &str,
    pages: &[&str],
    options: &ImportOptions,
) -> Result<Option<String>, Error> {
    let Some(wanted) = options.page.as_deref() else {
        return Ok(pages.first().map(|id| (*id).to_owned()));
    };
    let by_number = || pages.get(wanted.parse::<usize>().ok()?.checked_sub(1)?).copied();
    let found = pages.iter().copied().find(|id| *id == wanted).or_else(by_number);
    found.map(|id| Some(id.to_owned())).ok_or_else(|| Error::NoSuchPage {
        name: name.to_owned(),
        wanted: wanted.to_owned(),
        known: match pages.is_empty() {
            true => "no named pages".to_owned(),
            false => pages.join(", "),
        },
    })
}

fn reason_to_skip(
    entry: &HarEntry,
    page: Option<&str>,
    fetched: &BTreeSet<String>,
) -> Option<SkipReason> {
    if entry.pageref.as_deref().zip(page).is_some_and(|(own, page)| own != page) {
        return Some(SkipReason::OtherPage);
    }
    if entry.url.is_none() || entry.resource_type.as_deref() == Some("websocket") {
        return Some(SkipReason::NotHttp);
    }
    // RFC 9110 section 15.2: a 1xx answer is interim. 101 leaves HTTP altogether.
    if entry.status == 101 {
        return Some(SkipReason::NotHttp);
    }
    if entry.method == "CONNECT" {
        return Some(SkipReason::Tunnel);
    }
    if entry.is_worker_fetch {
        return Some(SkipReason::WorkerFetch);
    }
    if entry.aborted {
        return Some(SkipReason::Aborted);
    }
    if !(200..1000).contains(&entry.status) {
        return Some(SkipReason::NoFinalResponse);
    }
    // Chrome shows an upgrade to HTTPS by HSTS, and an extension's redirect, as a 307 with this
    // header and nothing on the wire.
    if entry.response_headers.get("non-authoritative-reason").is_some()
        && (300..400).contains(&entry.status)
    {
        return Some(SkipReason::InternalRedirect);
    }
    // A second use of an object that this page has fetched is no request. A cached response without an earlier entry
    // stems from an earlier visit: on a first visit it would be fetched, so it stays.
    (entry.from_cache && fetched.contains(&entry.address())).then_some(SkipReason::FromCache)
}

fn is_document(entry: &HarEntry) -> bool {
    matches!(exchange::kind(entry), Kind::Document | Kind::Redirect) && entry.method != "OPTIONS"
}

fn tally<'a>(reasons: impl Iterator<Item = &'a SkipReason>) -> String {
    let mut counts: BTreeMap<SkipReason, usize> = BTreeMap::new();
    for reason in reasons {
        *counts.entry(*reason).or_default() += 1;
    }
    let parts: Vec<String> = counts.iter().map(|(reason, n)| format!("{n} {reason}")).collect();
    parts.join(", ")
}

fn readable(url: &str) -> String {
    match url.char_indices().nth(READABLE_CHARS) {
        Some((end, _)) => format!("{}...", &url[..end]),
        None => url.to_owned(),
    }
}
