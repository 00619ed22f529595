//! `farlink init` writes an experiment that runs, and `run --plan` says beforehand how large it is.

use crate::common::{Desk, refuses};

#[test]
fn the_experiment_that_is_written_runs() {
    let desk = Desk::new();
    let said =
        desk.farlink("init mine.toml --page synthetic:4x10KB --network 3g --protocol h1,h2").ok();
    assert_eq!(said, "farlink run mine.toml\n");
    let schema: serde_json::Value =
        serde_json::from_str(&desk.read("experiment.schema.json")).unwrap();
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    assert!(desk.read("mine.toml").starts_with("#:schema ./experiment.schema.json\n"));
    let plan = desk.farlink("run mine.toml --plan").ok();
    assert!(plan.contains("2 cells, 10 repetitions: 20 journeys, 20 visits"), "{plan}");
    assert!(plan.contains("store       about "), "{plan}");
    assert!(!desk.path("farlink.sqlite").exists(), "nothing is stored");
    desk.farlink("run mine.toml").ok();
    // What it says of the store is about right.
    let told = plan.lines().find_map(|line| line.strip_prefix("store       about ")).unwrap();
    let told: f64 = told.split(' ').next().unwrap().parse().unwrap();
    let taken = desk.path("farlink.sqlite").metadata().unwrap().len() as f64 / 1e3;
    assert!(told < 3.0 * taken, "{told} KB, {taken} KB");
}

#[test]
fn an_existing_file_is_kept() {
    let desk = Desk::new();
    desk.put("mine.toml", "precious");
    let refused = desk.farlink("init mine.toml").refused(&["mine.toml exists and is kept"]);
    assert!(!refused.is_empty());
    assert_eq!(desk.read("mine.toml"), "precious");
    assert!(!desk.path("experiment.schema.json").exists());
    refuses("run no.toml --plan", &["cannot read the experiment no.toml"]);
}
