//! Doc comments open with a noun or a verb, as CONTRIBUTING.md asks, and not with a question word.

use std::fs;
use std::path::{Path, PathBuf};

/// Openings that hide the subject.
const QUESTIONS: [&str; 4] = ["What", "How", "Whether", "Who"];

/// The largest share of doc comments that may open so.
const MOST: f64 = 0.01;

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        match entry.path() {
            path if path.is_dir() => sources(&path, found),
            path if path.extension().is_some_and(|kind| kind == "rs") => found.push(path),
            _ => {}
        }
    }
}

/// The first lines of the doc comments of a file.
fn openings(text: &str) -> Vec<&str> {
    let doc = |line: &'_ str| -> Option<usize> {
        let start = line.trim_start();
        (start.starts_with("///") || start.starts_with("//!")).then_some(line.len() - start.len())
    };
    let lines: Vec<&str> = text.lines().collect();
    let is_first = |at: usize| at == 0 || doc(lines[at - 1]).is_none();
    let firsts = (0..lines.len()).filter(|at| doc(lines[*at]).is_some() && is_first(*at));
    firsts.map(|at| lines[at].trim_start().trim_start_matches(['/', '!']).trim_start()).collect()
}

fn is_question(opening: &&&str) -> bool {
    QUESTIONS.contains(&opening.split(' ').next().unwrap_or_default())
}

#[test]
fn openings_are_found() {
    let text =
        "//! What it is.\n//! How.\n\n/// A link.\n    /// Whether.\nfn f() {}\n/// Who it is.\n";
    assert_eq!(openings(text), ["What it is.", "A link.", "Who it is."]);
    assert_eq!(openings(text).iter().filter(is_question).count(), 2);
}

#[test]
fn few_doc_comments_open_with_a_question() {
    let mut files = Vec::new();
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join(".."), &mut files);
    let texts: Vec<String> = files.iter().map(|file| fs::read_to_string(file).unwrap()).collect();
    let all: Vec<&str> = texts.iter().flat_map(|text| openings(text)).collect();
    assert!(all.len() > 10_000, "{}", all.len());
    let questions: Vec<&&str> = all.iter().filter(is_question).collect();
    let share = questions.len() as f64 / all.len() as f64;
    assert!(share < MOST, "{:.1} % of {}: {questions:#?}", share * 100.0, all.len());
}
