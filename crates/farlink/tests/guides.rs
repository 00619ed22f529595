//! Task-oriented pages of the site: docs/start and docs/guides.

use std::path::{Path, PathBuf};

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

/// The pages of both folders, as SUMMARY.md writes their paths, with their texts.
fn pages() -> Vec<(String, String)> {
    let mut pages = Vec::new();
    for folder in ["start", "guides"] {
        for entry in std::fs::read_dir(docs().join(folder)).unwrap() {
            let path = entry.unwrap().path();
            let name = format!("{folder}/{}", path.file_name().unwrap().to_str().unwrap());
            pages.push((name, std::fs::read_to_string(&path).unwrap()));
        }
    }
    assert!(pages.len() >= 11, "only {} pages were found", pages.len());
    pages
}

#[test]
fn each_page_is_in_the_summary() {
    let summary = std::fs::read_to_string(docs().join("SUMMARY.md")).unwrap();
    for (name, _) in pages() {
        assert!(summary.contains(&format!("]({name})")), "docs/SUMMARY.md leaves out {name}");
    }
}

#[test]
fn each_page_is_short_and_says_what_to_read_next() {
    for (name, text) in pages() {
        let lines = text.lines().count();
        assert!(lines <= 120, "docs/{name} has {lines} lines: a guide has at most 120");
        let last = text.rsplit("\n## ").next().unwrap_or_default();
        assert!(
            last.starts_with("Next\n") && last.contains("]("),
            "docs/{name} does not end with \"## Next\" and a link"
        );
    }
}

/// scripts/readme.sh runs the `farlink` commands in a block, except for programs that serve or build until they are
/// stopped, and those that need the Internet.
#[test]
fn each_command_is_run_unless_it_does_not_end() {
    const NOT_RUN: [&str; 7] = [
        "farlink record https://www.example.com/",
        "farlink proxy --listen 127.0.0.1:3128",
        "farlink pep remote --config",
        "farlink pep local --config",
        "farlink shell --network 4g --host-loopback 8080 -- pytest",
        "farlink shell --network 4g --host-loopback 8080 -- npx",
        "farlink validate",
    ];
    for (name, text) in pages() {
        let mut mark = "";
        let mut run = None;
        for line in text.lines() {
            match run {
                None if line.starts_with("```") => {
                    run = Some(line != "```sh" || mark.starts_with("<!-- run"))
                }
                Some(_) if line == "```" => run = None,
                Some(false) if line.trim_start().starts_with("farlink ") => {
                    assert!(
                        NOT_RUN.iter().any(|command| line.starts_with(command)),
                        "docs/{name}: mark the block with <!-- run -->: {line}"
                    );
                }
                _ => {}
            }
            mark = line;
        }
    }
}
