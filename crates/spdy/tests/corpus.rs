//! Replays the fuzzing corpus: once interesting inputs stay tested without a fuzzer.

#[path = "checks/block.rs"]
mod block;
mod checks;

use std::path::Path;

/// Runs `check` on each file of a corpus.
fn replay(target: &str, check: fn(&[u8])) {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/seeds")).join(target);
    let mut files: Vec<_> = std::fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("failed to list {}: {error}", folder.display()))
        .map(|entry| entry.expect("an entry").path())
        .collect();
    files.sort();
    assert!(!files.is_empty(), "{} is empty", folder.display());
    for file in files {
        println!("{}", file.display());
        check(&std::fs::read(&file).expect("a seed can be read"));
    }
}

#[test]
fn sessions() {
    replay("spdy_session", checks::check_session);
}

#[test]
fn header_blocks() {
    replay("spdy_block", block::check_block);
}
