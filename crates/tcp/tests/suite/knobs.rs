//! Every knob has a packet script that names it, or a reason why not; and `docs/transports.md` has both lists.

use std::fs;
use std::path::Path;

use farlink_tcp::Knob;

/// Knobs that a script of one connection cannot show.
const TESTED_ELSEWHERE: [(&str, &str); 3] = [
    ("cc-era", "arithmetic of the controllers, in unit tests of the crate `congestion`"),
    ("metrics", "what connections share needs two of them: `crates/tcp/tests/suite/metrics.rs`"),
    ("metrics-lifetime", "the same, in unit tests of `metrics.rs`"),
];

/// The scripts' names and texts, by name.
fn scripts() -> Vec<(String, String)> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts");
    let mut scripts: Vec<_> = fs::read_dir(directory)
        .expect("the scripts' directory")
        .map(|entry| entry.expect("an entry of it").path())
        .map(|path| {
            let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
            (name, fs::read_to_string(path).expect("a script"))
        })
        .collect();
    scripts.sort();
    scripts
}

/// True if a script names a knob: `knob=` occurs in a setting or a comment.
fn names(script: &str, knob: &str) -> bool {
    script.match_indices(knob).any(|(at, _)| {
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-';
        !script[..at].ends_with(is_part) && script[at + knob.len()..].starts_with('=')
    })
}

fn table() -> String {
    let scripts = scripts();
    let mut table = String::from("| knob | scripts |\n|---|---|\n");
    for knob in Knob::all() {
        let mut shown: Vec<String> = scripts
            .iter()
            .filter(|(_, script)| names(script, knob.name()))
            .map(|(name, _)| format!("`{name}`"))
            .collect();
        let more = shown.len().saturating_sub(3);
        shown.truncate(3);
        let elsewhere = TESTED_ELSEWHERE.iter().find(|(name, _)| *name == knob.name());
        let cell = match (elsewhere, more) {
            (Some((_, reason)), _) => format!("none: {reason}"),
            (None, 0) => shown.join(", "),
            (None, _) => format!("{}, and {more} more", shown.join(", ")),
        };
        table += &format!("| `{}` | {cell} |\n", knob.name());
    }
    table
}

#[test]
fn every_knob_is_named_by_a_script_or_has_a_reason() {
    let scripts = scripts();
    for knob in Knob::all() {
        let scripted = scripts.iter().any(|(_, script)| names(script, knob.name()));
        let excused = TESTED_ELSEWHERE.iter().any(|(name, _)| *name == knob.name());
        assert!(scripted != excused, "{}: scripted {scripted}, excused {excused}", knob.name());
    }
}

#[test]
fn the_document_lists_them() {
    let document = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/transports.md");
    let text = fs::read_to_string(document).expect("docs/transports.md");
    let listed = text
        .split_once("<!-- scripts -->\n")
        .and_then(|(_, rest)| rest.split_once("<!-- end of scripts -->"))
        .expect("a list between the marks")
        .0;
    let table = table();
    assert!(listed == table, "between its marks docs/transports.md should have:\n\n{table}");
}
