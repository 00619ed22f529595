//! The corpus of real HARs, where it is at hand: all load, and every entry is accounted for.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

/// The folder of published HARs beside the checkout, if it is there.
fn corpus() -> Option<PathBuf> {
    let workspace = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    ["../shared/data", "../../shared/data"]
        .into_iter()
        .map(|beside| PathBuf::from(workspace).join(beside))
        .find(|folder| folder.join("MANIFEST.tsv").is_file())
}

/// Entries by file, from the corpus's own list.
fn entries_by_file(manifest: &str) -> BTreeMap<String, usize> {
    let mut rows = manifest.lines().map(|line| line.split('\t').collect::<Vec<_>>());
    let header = rows.next().unwrap();
    let column = |name: &str| header.iter().position(|h| *h == name).unwrap();
    let (path, kind, entries) = (column("path"), column("kind"), column("entries"));
    rows.filter(|row| row[kind] == "har")
        .map(|row| (row[path].to_owned(), row[entries].parse().unwrap()))
        .collect()
}

#[test]
fn every_har_loads_and_every_entry_is_accounted_for() {
    let Some(corpus) = corpus() else {
        println!("skipped: corpus absent");
        return;
    };
    let files = entries_by_file(&fs::read_to_string(corpus.join("MANIFEST.tsv")).unwrap());
    assert_eq!(files.len(), 40);
    println!(
        "{:<46} {:>4} {:>4} {:>4} {:>9}  {:<14} {:<14} sources",
        "file", "req", "skip", "host", "bytes", "edges m/i/d", "think m/i/d"
    );
    for (file, entries) in files {
        let page = farlink_page::open(corpus.join(&file).to_str().unwrap()).unwrap();
        page.check().unwrap();
        let summary = page.summary();
        let counts =
            |c: farlink_page::Counts| format!("{}/{}/{}", c.measured, c.inferred, c.defaulted);
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
        assert_eq!(summary.requests + page.skipped.len(), entries, "{file}");
        assert!(summary.body_bytes > 0, "{file}");
    }
}
