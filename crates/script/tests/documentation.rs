//! `docs/packet-scripts.md` is correct: its scripts pass, its lists are complete, its example of a failure is accurate.

use farlink_script::{PacketScript, ScriptError, causes_of_drops, quantities};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/packet-scripts.md");

fn page() -> String {
    std::fs::read_to_string(PAGE).expect("the page is part of the repository")
}

fn assert_between(name: &str, expected: &str) {
    let (begin, end) = (format!("<!-- {name} -->"), format!("<!-- end of {name} -->"));
    let page = page();
    let found = page.split_once(&begin).and_then(|(_, rest)| rest.split_once(&end));
    let found = found.unwrap_or_else(|| panic!("{PAGE} has no {begin} ... {end}")).0.trim();
    assert!(found == expected, "{PAGE} is stale; between the marks it should be\n\n{expected}\n");
}

#[test]
fn the_examples_pass() {
    let page = page();
    let examples: Vec<&str> = page
        .split("```pkt\n")
        .skip(1)
        .map(|rest| rest.split("```").next().unwrap_or_default())
        .collect();
    assert!(examples.len() >= 4, "only {} examples found", examples.len());
    for example in examples {
        let outcome = PacketScript::parse(PAGE, example).and_then(|script| script.run());
        outcome.unwrap_or_else(|failure| panic!("{failure}"));
    }
}

#[test]
fn the_lists_are_complete() {
    let rows: Vec<String> =
        quantities().map(|(name, meaning)| format!("| `{name}` | {meaning} |")).collect();
    assert_between(
        "quantities",
        &format!("| quantity | what it is |\n|---|---|\n{}", rows.join("\n")),
    );
    let causes: Vec<String> = causes_of_drops().map(|cause| format!("`{cause}`")).collect();
    assert_between("causes", &format!("Causes of drops: {}.", causes.join(", ")));
}

#[test]
fn a_failure_looks_as_shown() {
    let text = "\
tcp \"A probe after two round trips\"
handshake server 100ms
0.100 write 4 segs
+0    > . segs 0..4
0.200 < . ack seg 3
0.400 > . seg 3
";
    let script = PacketScript::parse("probe.pkt", text).expect("it is a script");
    let Err(ScriptError::Unmet(report)) = script.run() else { panic!("the time is wrong") };
    assert_eq!((report.line, report.column), (6, 1));
    assert_between("failure", &format!("```text\n{report}\n```"));
}
