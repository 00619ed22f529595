//! Every file of `scripts/` is a test of one endpoint: its segments, their exact times, and the events that they answer.
//! The language is described in `docs/packet-scripts.md`.

use std::process::ExitCode;

fn main() -> ExitCode {
    script::test_directory(concat!(env!("CARGO_MANIFEST_DIR"), "/scripts"))
}
