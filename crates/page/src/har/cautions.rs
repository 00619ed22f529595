//! Faults of a recording that affect every result from it.

use super::entry::Entry;
use super::select::Selection;
use crate::{Caution, Kind, Object};

/// Share of cached responses, in percent, from which a recording counts as one of a warm cache.
const WARM_PERCENT: usize = 10;

/// Cautions for a page of these objects, one per entry.
pub(super) fn cautions(selection: &Selection<'_>, objects: &[Object]) -> Vec<Caution> {
    let entries = &selection.kept[..];
    let several = selection.others.split_first().map(|_| Caution::SeveralPages {
        read: selection.page.clone().unwrap_or_default(),
        others: selection.others.clone(),
    });
    let status = objects.iter().find(|object| object.kind != Kind::Redirect).map(|o| o.status);
    let status = status.filter(|status| *status >= 400);
    let found = [
        several,
        status.map(|status| Caution::DocumentStatus { status }),
        no_sizes(objects),
        warm_cache(entries),
        odd_spans(entries),
    ];
    found.into_iter().flatten().collect()
}

fn no_sizes(objects: &[Object]) -> Option<Caution> {
    let has_body = |object: &&Object| object.method == "GET" && object.status == 200;
    let of = objects.iter().filter(has_body).count();
    let without = objects.iter().filter(has_body).filter(|object| object.body_bytes == 0).count();
    (without * 2 > of).then_some(Caution::NoSizes { without, of })
}

fn warm_cache(entries: &[&Entry]) -> Option<Caution> {
    let cached = entries.iter().filter(|entry| entry.from_cache).count();
    let revalidated = entries.iter().filter(|entry| entry.status == 304).count();
    let is_warm = (cached + revalidated) * 100 >= entries.len() * WARM_PERCENT;
    (is_warm && cached + revalidated > 0).then_some(Caution::WarmCache {
        cached,
        revalidated,
        of: entries.len(),
    })
}

fn odd_spans(entries: &[&Entry]) -> Option<Caution> {
    let mut odd = entries.iter().flat_map(|entry| entry.odd.iter().map(move |odd| (entry, odd)));
    let (entry, span) = odd.next()?;
    let first = format!(
        "{} ms in timings.{} of entry {} (counted from 0)",
        span.ms, span.field, entry.index
    );
    Some(Caution::OddSpans { count: odd.count() + 1, first })
}
