//! The files and tests named in `docs/coverage.md` exist.

use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The quotations between backticks in `text`.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// Returns true if a quotation is a path of the repository, and not a command or a setting.
fn is_path(quotation: &str) -> bool {
    quotation.contains('/')
        && !quotation.contains([' ', '=', ','])
        && quotation.chars().next().is_some_and(char::is_alphabetic)
}

/// The error in a reference `path` or `path::test`.
fn mistake(reference: &str) -> Option<String> {
    let (path, test) = match reference.split_once("::") {
        Some((path, test)) => (path, Some(test)),
        None => (reference, None),
    };
    let places = [root().join("crates").join(path), root().join(path)];
    let Some(place) = places.iter().find(|place| place.exists()) else {
        return Some(format!("{path} does not exist"));
    };
    let test = test?;
    let text = std::fs::read_to_string(place).unwrap_or_default();
    (!text.contains(&format!("fn {test}("))).then(|| format!("{path} has no test {test}"))
}

#[test]
fn what_it_names_exists() {
    let text = std::fs::read_to_string(root().join("docs/coverage.md")).unwrap();
    let references: Vec<&str> = quoted(&text).filter(|quotation| is_path(quotation)).collect();
    assert!(references.len() > 100, "only {} references were recognised", references.len());
    let mistakes: Vec<String> = references.into_iter().filter_map(mistake).collect();
    assert!(mistakes.is_empty(), "docs/coverage.md:\n{}", mistakes.join("\n"));
}

#[test]
fn what_does_not_exist_is_noticed() {
    assert_eq!(mistake("testbed/src/lib.rs"), None);
    assert!(mistake("testbed/src/no_such_file.rs").is_some());
    assert!(mistake("farlink/tests/coverage.rs::what_it_names_exists").is_none());
    assert!(mistake("testbed/tests/suite/clients.rs::no_such_test").is_some());
}
