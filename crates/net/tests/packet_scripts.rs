//! Runs every file of `scripts/` as a test of one link: exact times of its output, and drops. The language is
//! described in `docs/packet-scripts.md`.

use std::process::ExitCode;

fn main() -> ExitCode {
    script::test_directory(concat!(env!("CARGO_MANIFEST_DIR"), "/scripts"))
}
