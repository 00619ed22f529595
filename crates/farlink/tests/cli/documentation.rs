//! The documents agree with the code; those generated from the program are up to date.

use std::path::Path;

use crate::common::Desk;
use rusqlite::functions::FunctionFlags;
use scenario::experiment::{Catalogue, NameError, Source, resolve};
use scenario::{NetworkSpec, PageRef};
use store::Store;

fn document(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A world in which everything exists.
struct Anything;

impl Catalogue for Anything {
    fn page(&self, spec: &str) -> Result<PageRef, NameError> {
        Ok(PageRef::named(spec))
    }
    fn network(&self, _: &NetworkSpec) -> Result<Option<String>, NameError> {
        Ok(None)
    }
    fn device(&self, _: &str) -> Result<Option<String>, NameError> {
        Ok(None)
    }
    fn browser(&self, _: &str) -> Result<(), NameError> {
        Ok(())
    }

    fn pac(&self, _: &str) -> Result<Option<String>, NameError> {
        Ok(Some("digest".to_owned()))
    }

    fn priorities(&self, _: &str) -> Result<Option<String>, NameError> {
        Ok(None)
    }
}

#[test]
fn the_examples_are_experiments() {
    let text = document("experiment.md");
    let examples: Vec<&str> =
        text.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    let cells = examples.iter().map(|example| {
        let plan = resolve(&Source::new("docs/experiment.md", *example), &Anything);
        plan.unwrap_or_else(|error| panic!("{error}")).cells().len()
    });
    assert_eq!(cells.collect::<Vec<_>>(), [12, 12, 16]);
}

#[test]
fn every_key_of_an_experiment_is_documented() {
    let text = document("experiment.md");
    for table in ["", "page", "journey", "network", "stack", "transport", "client", "server"] {
        let wrong = match table {
            "" => "format = 1\nnonsense = 1".to_owned(),
            "page" => "format = 1\n[page]\nnonsense = 1".to_owned(),
            table => format!("format = 1\npage.name = \"p\"\n[{table}]\nnonsense = 1"),
        };
        let error = resolve(&Source::new("e", wrong), &Anything).unwrap_err();
        let scenario::experiment::Problem::UnknownKey { known, .. } = error.problem() else {
            panic!("{error}");
        };
        for key in known {
            let full = if table.is_empty() { key.clone() } else { format!("{table}.{key}") };
            let is_table = text.contains(&format!("[{full}]"));
            assert!(is_table || text.contains(&format!("`{full}`")), "{full}");
        }
    }
}

#[test]
fn every_column_of_the_store_is_documented() {
    let text = document("store.md");
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    drop(Store::create(&path).unwrap());
    let connection = rusqlite::Connection::open(&path).unwrap();
    // A view uses one of farlink's functions, which must exist before SQLite lists the view's columns.
    let flags = FunctionFlags::SQLITE_UTF8;
    connection.create_scalar_function("proxy_events_json", 1, flags, |_| Ok("[]")).unwrap();
    let tables =
        ["run", "journey", "visit", "connection", "link", "event", "proxy_event", "object"];
    for table in tables {
        let section = text
            .split("\n## ")
            .find(|section| section.split_whitespace().next() == Some(table))
            .unwrap_or_else(|| panic!("no section for {table}"));
        let columns = format!("SELECT name FROM pragma_table_xinfo('{table}')");
        let mut statement = connection.prepare(&columns).unwrap();
        let names = statement.query_map([], |row| row.get::<_, String>(0)).unwrap();
        let names: Vec<String> = names.map(Result::unwrap).collect();
        assert!(names.len() > 5, "{table}: {names:?}");
        for name in names {
            assert!(section.contains(&format!("`{name}`")), "{table}.{name}");
        }
    }
}

/// Checks a document that `farlink reference` writes.
#[track_caller]
fn is_generated(name: &str) {
    let written = document(&format!("{name}.md"));
    let made = Desk::new().farlink(&format!("reference {name}")).ok();
    assert!(made == written, "docs/{name}.md is stale: scripts/reference.sh writes it anew");
}

#[test]
fn every_setting_is_documented() {
    is_generated("settings-table");
}

#[test]
fn the_command_line_is_documented() {
    is_generated("cli");
}

#[test]
fn the_exit_codes_are_documented() {
    is_generated("exit-codes");
    is_generated("data-dictionary");
}
