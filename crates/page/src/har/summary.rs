//! One-line summary of a page's source and of the values that it does not state.

use super::entry::Entry;
use super::log::Log;
use crate::Summary;

/// Input of the summary, beside the page itself.
pub(super) struct Recording<'a> {
    pub log: &'a Log,
    pub kept: &'a [&'a Entry],
    pub measured_hosts: usize,
    pub loaded: bool,
}

/// The `origin` of a page read from a HAR.
pub(super) fn origin(recording: &Recording<'_>, page: &Summary) -> String {
    let Recording { log, kept, measured_hosts, loaded } = recording;
    let count = |test: fn(&Entry) -> bool| kept.iter().filter(|e| test(e)).count();
    let skipped: usize = page.skipped.values().sum();
    let notes = [
        (skipped, "skipped"),
        (count(|e| e.status == 304), "revalidated (304, as recorded: no body)"),
        (count(|e| e.from_cache), "from a cache (taken as fetched)"),
        (count(|e| e.pushed), "pushed by the server (taken as requested)"),
    ];
    let mut parts = vec![format!("HAR by {}, {} entries", log.creator, log.entries.len())];
    let notes = notes.into_iter().filter(|(count, _)| *count > 0);
    parts.extend(notes.map(|(count, what)| format!("{count} {what}")));
    parts.push(format!(
        "edges: {} stated, {} read in bodies, {} inferred, {} by default",
        page.edges.measured, page.edges.read, page.edges.inferred, page.edges.defaulted
    ));
    parts.push(format!("round trips of {measured_hosts} of {} hosts measured", page.hosts));
    if !loaded {
        parts.push("no load event recorded".to_owned());
    }
    parts.join("; ")
}
