//! Every file of `scripts/` is a test of one endpoint: what leaves, exactly when, in answer to what.
//! The language is described in `docs/packet-scripts.md`.

use std::process::ExitCode;

fn main() -> ExitCode {
    script::test_directory(concat!(env!("CARGO_MANIFEST_DIR"), "/scripts"))
}
