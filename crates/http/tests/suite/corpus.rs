//! Replays the fuzzing corpus: earlier findings stay tested without a fuzzer.

use crate::checks;
use crate::pipelined_checks as pipelined;
use crate::socks_checks as socks;

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
fn requests() {
    replay("h1_request", checks::check_request);
}

#[test]
fn responses() {
    replay("h1_response", checks::check_response);
}

#[test]
fn chunked_bodies() {
    replay("h1_chunked", checks::check_chunked);
}

#[test]
fn pipelined_responses() {
    replay("h1_pipeline", pipelined::check_pipeline);
}

#[test]
fn clients_of_socks() {
    replay("socks_server", socks::check_server);
}

#[test]
fn servers_of_socks() {
    replay("socks_client", socks::check_client);
}
