//! Every file of `scripts/` is a test of one link: what comes out of it, exactly when, and what is dropped.
//! The language is described in `docs/packet-scripts.md`.

use std::process::ExitCode;

fn main() -> ExitCode {
    script::test_directory(concat!(env!("CARGO_MANIFEST_DIR"), "/scripts"))
}
