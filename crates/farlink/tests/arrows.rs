//! Dependencies between the crates are those that `docs/arrows.txt` allows.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn allowed() -> BTreeMap<String, BTreeSet<String>> {
    let text = std::fs::read_to_string(root().join("docs/arrows.txt")).unwrap();
    text.lines()
        .filter(|line| !line.starts_with('#') && !line.trim().is_empty())
        .map(|line| {
            let (from, to) = line.split_once(':').expect("a line reads `crate: crates`");
            (from.to_owned(), to.split_whitespace().map(str::to_owned).collect())
        })
        .collect()
}

/// The dependencies in the manifests, without development dependencies.
fn actual() -> BTreeMap<String, BTreeSet<String>> {
    let folders = std::fs::read_dir(root().join("crates")).unwrap();
    folders
        .map(|folder| {
            let folder = folder.unwrap().path();
            let text = std::fs::read_to_string(folder.join("Cargo.toml")).unwrap();
            let manifest: toml::Table = text.parse().unwrap();
            let names = dependencies(&manifest).into_iter().flat_map(toml::Table::keys);
            let ours = names.filter_map(|name| match name.as_str() {
                "http-stack" => Some("http".to_owned()),
                "http" => None,
                name if root().join("crates").join(name).is_dir() => Some(name.to_owned()),
                _ => None,
            });
            (folder.file_name().unwrap().to_string_lossy().into_owned(), ours.collect())
        })
        .collect()
}

/// The tables of dependencies: the common one, and those of a target.
fn dependencies(manifest: &toml::Table) -> Vec<&toml::Table> {
    let targets = manifest.get("target").and_then(toml::Value::as_table);
    let of_targets = targets.into_iter().flat_map(toml::Table::values);
    let owners = std::iter::once(manifest).chain(of_targets.filter_map(toml::Value::as_table));
    owners.filter_map(|owner| owner.get("dependencies")?.as_table()).collect()
}

#[test]
fn arrows_point_down_only() {
    let (allowed, actual) = (allowed(), actual());
    let crates: Vec<_> = actual.keys().collect();
    assert_eq!(allowed.keys().collect::<Vec<_>>(), crates, "every crate has its line");
    for (name, names) in &actual {
        let extra: Vec<_> = names.difference(&allowed[name]).collect();
        assert!(extra.is_empty(), "`{name}` names {extra:?}, which docs/arrows.txt does not allow");
    }
}

#[test]
fn the_allowed_arrows_have_no_cycle() {
    let mut left = allowed();
    while !left.is_empty() {
        let free: Vec<String> = left
            .iter()
            .filter(|(_, names)| names.iter().all(|name| !left.contains_key(name)))
            .map(|(name, _)| name.clone())
            .collect();
        assert!(!free.is_empty(), "a cycle among {:?}", left.keys());
        left.retain(|name, _| !free.contains(name));
    }
}
