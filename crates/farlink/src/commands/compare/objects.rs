//! Objects of a page that were added, removed, or have another size.

use std::collections::BTreeMap;

use page::{Object, Page};

use crate::commands::output;
use crate::failure::CliError;
use crate::show::table::Table;
use crate::show::units::{bytes, counted};

/// Objects listed unless all are.
const MOST: usize = 20;

/// Prints both pages, and the objects in which they differ.
pub fn print(names: [&str; 2], pages: [&Page; 2], prints_all: bool) -> Result<(), CliError> {
    for ((side, name), page) in super::side::SIDES.iter().zip(names).zip(pages) {
        let size = page.objects.iter().map(|object| object.body_bytes).sum::<u64>() as f64;
        let requests = counted(page.objects.len(), "request");
        let hosts = counted(page.hosts.len(), "host");
        output::line(format!("{side:7} {name}: {requests} to {hosts}, {}", bytes(size)))?;
    }
    let changes = changes(pages);
    if changes.is_empty() {
        return output::line("The objects are the same.\n");
    }
    let mut table = Table::new(&["object", "before", "after", "url"]);
    table.left(0);
    table.left(3);
    let shown = if prints_all { changes.len() } else { MOST };
    for Change { url, before, after } in changes.iter().take(shown) {
        let what = match (before, after) {
            (None, _) => "added",
            (_, None) => "removed",
            _ => "resized",
        };
        let size = |size: &Option<u64>| size.map_or_else(|| "-".to_owned(), |it| bytes(it as f64));
        table.row([what.to_owned(), size(before), size(after), url.clone()]);
    }
    output::line("")?;
    output::line(table)?;
    match changes.len().saturating_sub(shown) {
        0 => output::line(""),
        rest => output::line(format!("and {rest} more (--all)\n")),
    }
}

/// An object with its size on both sides.
#[derive(Debug, PartialEq, Eq)]
struct Change {
    url: String,
    before: Option<u64>,
    after: Option<u64>,
}

/// Objects that differ, the largest difference first.
fn changes(pages: [&Page; 2]) -> Vec<Change> {
    let [before, after] = pages.map(by_url);
    let mut changes = Vec::new();
    for url in before.keys().chain(after.keys().filter(|url| !before.contains_key(*url))) {
        let none = Vec::new();
        let [one, other] = [&before, &after].map(|side| side.get(url).unwrap_or(&none));
        // Requests of one URL are paired in their order.
        for at in 0..one.len().max(other.len()) {
            let [before, after] = [one, other].map(|sizes| sizes.get(at).copied());
            if before != after {
                changes.push(Change { url: url.clone(), before, after });
            }
        }
    }
    let size = |change: &Change| {
        change.before.unwrap_or_default().abs_diff(change.after.unwrap_or_default())
    };
    changes.sort_by(|a, b| size(b).cmp(&size(a)).then_with(|| a.url.cmp(&b.url)));
    changes
}

/// Body sizes by method and URL.
fn by_url(page: &Page) -> BTreeMap<String, Vec<u64>> {
    let name = |object: &Object| match object.method.as_str() {
        "GET" => object.url.clone(),
        method => format!("{method} {}", object.url),
    };
    let mut sizes: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for object in &page.objects {
        sizes.entry(name(object)).or_default().push(object.body_bytes);
    }
    sizes
}
