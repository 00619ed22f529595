//! The corpus of real HARs, if present: all load, and every entry is accounted for.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

/// Folder of published HARs beside the checkout, if present.
fn corpus() -> Option<PathBuf> {
    let workspace = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    ["../shared/data", "../../shared/data"]
        .into_iter()
        .map(|beside| PathBuf::from(workspace).join(beside))
        .find(|folder| folder.join("MANIFEST.tsv").is_file())
}

/// The corpus's own record of a file.
struct Listed {
    entries: usize,
    /// Sum of all `_transferSize`s, and the number of entries that have one.
    transfer_bytes: f64,
    with_transfer: usize,
}

/// HARs by file, from the corpus's own list.
fn listed(manifest: &str) -> BTreeMap<String, Listed> {
    let mut rows = manifest.lines().map(|line| line.split('\t').collect::<Vec<_>>());
    let header = rows.next().unwrap();
    let column = |name: &str| header.iter().position(|h| *h == name).unwrap();
    let [path, kind, entries, transfer, with_transfer] =
        ["path", "kind", "entries", "transfer_bytes", "entries_with_transfer"].map(column);
    rows.filter(|row| row[kind] == "har")
        .map(|row| {
            let listed = Listed {
                entries: row[entries].parse().unwrap(),
                transfer_bytes: row[transfer].parse().unwrap(),
                with_transfer: row[with_transfer].parse().unwrap(),
            };
            (row[path].to_owned(), listed)
        })
        .collect()
}

#[test]
fn every_har_loads_and_every_entry_is_accounted_for() {
    let Some(corpus) = corpus() else {
        println!("skipped: corpus absent");
        return;
    };
    let files = listed(&fs::read_to_string(corpus.join("MANIFEST.tsv")).unwrap());
    assert_eq!(files.len(), 40);
    println!(
        "{:<46} {:>4} {:>4} {:>4} {:>9}  {:<14} {:<14} sources",
        "file", "req", "skip", "host", "bytes", "edges m/i/d", "think m/i/d"
    );
    for (file, listed) in files {
        let page = farlink_page::open(corpus.join(&file).to_str().unwrap()).unwrap();
        page.check().unwrap();
        let summary = page.summary();
        let counts = |c: farlink_page::ResourceCounts| {
            format!("{}/{}/{}", c.measured, c.inferred, c.defaulted)
        };
        println!(
            "{:<46} {:>4} {:>4} {:>4} {:>9}  {:<14} {:<14} {:?} blocking {} skipped {:?}",
            file,
            summary.requests,
            page.skipped.len(),
            summary.hosts,
            summary.body_bytes,
            counts(summary.edges),
            counts(summary.think),
            summary.body_sources,
            summary.blocking,
            summary.skipped,
        );
        assert_eq!(summary.requests + page.skipped.len(), listed.entries, "{file}");
        assert!(summary.body_bytes > 0, "{file}");
        // If all entries state their transfer, the bodies sum to that less some heads. (WebPageTest's `_bytesIn`
        // includes handshakes as well.)
        if listed.with_transfer == listed.entries && !file.contains("-wpt") {
            let share = summary.body_bytes as f64 / listed.transfer_bytes;
            assert!((0.93..=1.01).contains(&share), "{file}: {share}");
        }
    }
}
