//! Generated documents are up to date.

mod common;

use std::path::Path;

use common::Desk;

#[track_caller]
fn check(document: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../docs/{document}.md"));
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    let made = Desk::new().farlink(&format!("reference {document}")).ok();
    assert!(made == written, "docs/{document}.md is stale: scripts/reference.sh writes it anew");
}

#[test]
fn every_setting_is_documented() {
    check("settings-table");
}

#[test]
fn the_command_line_is_documented() {
    check("cli");
}

#[test]
fn the_exit_codes_are_documented() {
    check("exit-codes");
}
