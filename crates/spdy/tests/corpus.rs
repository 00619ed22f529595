//! Replays the fuzzing corpus: what once was interesting stays tested without a fuzzer.

mod checks;

use std::path::Path;

#[test]
fn sessions() {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/seeds/spdy_session"));
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap_or_else(|error| panic!("failed to list {}: {error}", folder.display()))
        .map(|entry| entry.expect("an entry").path())
        .collect();
    files.sort();
    assert!(!files.is_empty(), "{} is empty", folder.display());
    for file in files {
        println!("{}", file.display());
        checks::check_session(&std::fs::read(&file).expect("a seed can be read"));
    }
}
