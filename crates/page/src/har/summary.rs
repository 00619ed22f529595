//! Says in one sentence where a page came from and what about it is not stated there.

use super::hosts::Hosts;
use super::log::Log;
use super::select::Selection;

/// The `origin` of a page read from a HAR.
pub(super) fn origin(log: &Log, selection: &Selection<'_>, hosts: &Hosts) -> String {
    let mut parts = vec![format!("HAR by {}, {} entries", log.creator, log.entries.len())];
    let mut note = |count: usize, what: &str| {
        if count > 0 {
            parts.push(format!("{count} {what}"));
        }
    };
    let kept = &selection.kept;
    let count = |test: fn(&super::entry::Entry) -> bool| kept.iter().filter(|e| test(e)).count();
    note(selection.skipped.len(), "skipped");
    note(count(|e| e.status == 304), "revalidated (304, as recorded: no body)");
    note(count(|e| e.from_cache), "from an earlier visit's cache (taken as fetched)");
    note(count(|e| e.pushed), "pushed by the server (taken as requested)");
    note(hosts.measured(), "hosts with a measured round trip");
    if selection.loaded_at.is_none() {
        parts.push("no load event recorded".to_owned());
    }
    parts.join("; ")
}
