//! The JSON Schema of experiment files: editors complete and check by it.

use std::path::{Path, PathBuf};

use crate::common::Desk;
use jsonschema::Validator;
use serde_json::Value;

fn schema() -> Validator {
    let text = Desk::new().farlink("reference schema").ok();
    let schema: Value = serde_json::from_str(&text).expect("it is JSON");
    jsonschema::draft202012::new(&schema).expect("it is a schema")
}

fn read(text: &str) -> Value {
    toml::from_str(text).expect("it is TOML")
}

/// Experiment files below `folder`: those with a format, a page and a network.
fn experiments(folder: &Path, found: &mut Vec<(PathBuf, Value)>) {
    for entry in std::fs::read_dir(folder).expect("the folder is there") {
        let path = entry.expect("its entries can be read").path();
        if path.is_dir() {
            experiments(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "toml") {
            let text = std::fs::read_to_string(&path).expect("it can be read");
            let file = read(&text);
            if ["format", "page", "network"].iter().all(|key| file.get(key).is_some()) {
                found.push((path, file));
            }
        }
    }
}

#[test]
fn every_shipped_experiment_is_valid() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut found = Vec::new();
    experiments(&root.join("examples"), &mut found);
    assert!(found.len() >= 5, "{} examples", found.len());
    experiments(&root.join("studies"), &mut found);
    assert!(found.len() >= 30, "{} examples and experiments of studies", found.len());
    let schema = schema();
    for (path, file) in found {
        let errors: Vec<String> = schema
            .iter_errors(&file)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(errors.is_empty(), "{}: {errors:?}", path.display());
    }
}

#[test]
fn mistakes_are_found() {
    let schema = schema();
    let with = |line: &str| {
        read(&format!(
            "format = 1\npage.name = \"synthetic:1x1KB\"\nnetwork.base = \"3g\"\n{line}\n"
        ))
    };
    for good in [
        "",
        "stack.protocol = [\"h1\", \"h3\"]",
        "noise = false",
        "network.aqm = \"codel\"",
        "network.\"down.loss\" = [\"0%\", \"1%\"]",
        "transport.initial_window_segments = [3, \"10\"]",
    ] {
        let file = with(good);
        assert!(schema.is_valid(&file), "{good}: {:?}", schema.validate(&file));
    }
    for bad in [
        "stack.protocoll = \"h2\"",
        "stak.protocol = \"h2\"",
        "stack.protocol = \"h4\"",
        "stack.protocol = []",
        "stack.protocol = [\"h2\", \"h2\"]",
        "clients = 0",
        "repetitions = \"many\"",
        "format = 2",
    ] {
        let file = match bad {
            "format = 2" => read("format = 2\npage.name = \"a\"\nnetwork = \"3g\""),
            bad => with(bad),
        };
        assert!(!schema.is_valid(&file), "{bad}");
    }
    assert!(schema.is_valid(&read("format = 1\nnetwork = [\"3g\", \"4g\"]\npage.name = \"a\"")));
    assert!(!schema.is_valid(&read("format = 1\nnetwork = \"3g\"")), "no page");
    let combined = "format = 1\ninclude = \"pages.toml\"\n[[linked]]\nnetwork.base = [\"3g\", \"4g\"]\n\
                    client.device = [\"nexus7\", \"desktop\"]\n[[exclude]]\nstack.protocol = \"h1\"\n";
    let file = read(combined);
    assert!(schema.is_valid(&file), "{:?}", schema.validate(&file));
    assert!(!schema.is_valid(&read(&combined.replace("stack.protocol", "stack.protocoll"))));
    assert!(!schema.is_valid(&read(&combined.replace("\"pages.toml\"", "7"))));
}
