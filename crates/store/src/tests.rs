//! The store as a whole, over a toy executor.

use std::path::Path;

use rusqlite::Connection;

use super::*;
use crate::toy;
use scenario::{Execute, JourneyResult, Keep, Plan};

fn fill(store: &mut Store, plan: &Plan, order: impl Iterator<Item = u64>) -> RunId {
    let run = store.begin_run(plan, &toy::facts()).unwrap();
    for position in order {
        let journey = plan.journey(position);
        store.put_journey(run, Keep::All, &journey, &toy::Toy.execute(&journey)).unwrap();
    }
    run
}

/// Every row of a run as text, except table `run`.
fn dump(store: &Store) -> Vec<String> {
    let mut all = Vec::new();
    // Numbers of texts depend on the order in which they were stored.
    let journey = "run_id, position, cell, repetition, seed, scenario, notes, failure";
    let tables = [
        ("journey", journey),
        ("visit", "*"),
        ("connection", "*"),
        ("event", "*"),
        ("object", "*"),
    ];
    for (table, columns) in tables {
        let sql = format!("SELECT {columns} FROM {table}");
        let mut statement = store.sqlite().prepare(&sql).unwrap();
        let columns = statement.column_count();
        let mut rows = statement.query([]).unwrap();
        while let Some(row) = rows.next().unwrap() {
            let values = (0..columns).map(|i| format!("{:?}", row.get_ref(i).unwrap()));
            all.push(values.collect::<Vec<_>>().join("|"));
        }
    }
    all.sort();
    all
}

#[test]
fn what_is_put_is_read_back() {
    let directory = tempfile::tempdir().unwrap();
    let mut store = Store::create(&directory.path().join("s")).unwrap();
    let plan = toy::plan(2);
    let run = fill(&mut store, &plan, 0..plan.journey_count());
    assert_eq!(store.finish_run(run, "2026-01-01T00:00:09Z").unwrap(), RunState::Complete);
    let row = store.run_of_plan(&plan.digest()).unwrap().unwrap();
    assert_eq!((row.id, row.state), (run, RunState::Complete));
    assert_eq!(row.digest, Some(store.digest(run).unwrap()));
    for visit in store.visits(run).unwrap() {
        let journey = plan.journey(visit.key.journey);
        let result = toy::Toy.execute(&journey);
        let expected = &result.visits[visit.key.visit as usize];
        assert_eq!(store.record(visit.key).unwrap(), expected.record);
        assert_eq!(visit.floors, expected.floors);
        let stored = store.journey(visit.key).unwrap();
        assert_eq!(stored.scenario, journey.scenario);
        assert_eq!((stored.seed, &stored.notes), (journey.seed, &result.notes));
    }
}

#[test]
fn neither_order_nor_wall_clock_shows_in_the_contents() {
    let directory = tempfile::tempdir().unwrap();
    let plan = toy::plan(2);
    let mut forwards = Store::create(&directory.path().join("a")).unwrap();
    let mut backwards = Store::create(&directory.path().join("b")).unwrap();
    let one = fill(&mut forwards, &plan, 0..plan.journey_count());
    let other = fill(&mut backwards, &plan, (0..plan.journey_count()).rev());
    backwards.finish_run(other, "2031-01-01T00:00:00Z").unwrap();
    assert_eq!(forwards.digest(one).unwrap(), backwards.digest(other).unwrap());
    assert_eq!(dump(&forwards), dump(&backwards));
}

#[test]
fn a_single_changed_timing_changes_the_digest() {
    let directory = tempfile::tempdir().unwrap();
    let mut store = Store::create(&directory.path().join("s")).unwrap();
    let plan = toy::plan(1);
    let first = fill(&mut store, &plan, 0..plan.journey_count());
    let second = store.begin_run(&plan, &toy::facts()).unwrap();
    for position in 0..plan.journey_count() {
        let journey = plan.journey(position);
        let mut result = toy::Toy.execute(&journey);
        if position == 3 {
            result.visits[0].record.objects[0].phases.wait_ns += 1;
        }
        store.put_journey(second, Keep::All, &journey, &result).unwrap();
    }
    assert_ne!(store.digest(first).unwrap(), store.digest(second).unwrap());
}

/// Unknown counts are unknown in the store, in the exported table and in the report's cell, and never 0.
#[test]
fn what_nobody_counted_is_not_zero() {
    let directory = tempfile::tempdir().unwrap();
    let mut store = Store::create(&directory.path().join("s")).unwrap();
    let plan = toy::plan(1);
    let run = store.begin_run(&plan, &toy::facts()).unwrap();
    let journey = plan.journey(0);
    let mut result = toy::Toy.execute(&journey);
    let record = &mut result.visits[0].record;
    assert!(record.retransmits().is_some());
    record.connections[0].retransmits_up = None;
    assert_eq!(record.retransmits(), None);
    store.put_journey(run, Keep::All, &journey, &result).unwrap();
    let visit = store.visits(run).unwrap().remove(0);
    assert_eq!(visit.retransmits, None);
    let connections = store.record(visit.key).unwrap().connections;
    assert_eq!(connections[0].retransmits_up, None);
    assert!(connections[0].retransmits_down.is_some());
}

#[test]
fn any_sqlite_tool_opens_the_object_timings() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("s");
    let mut store = Store::create(&path).unwrap();
    let plan = toy::plan(1);
    let run = fill(&mut store, &plan, 0..1);
    let elsewhere = Connection::open(&path).unwrap();
    let sql = "SELECT count(*), sum(body_bytes), max(url) FROM object WHERE run_id = ?1";
    let read = |row: &rusqlite::Row<'_>| {
        Ok((row.get::<_, u64>(0)?, row.get::<_, u64>(1)?, row.get::<_, String>(2)?))
    };
    let (count, bytes, url) = elsewhere.query_row(sql, [run.0], read).unwrap();
    let visit = &store.visits(run).unwrap()[0];
    assert_eq!((count, bytes), (visit.requests, visit.body_bytes));
    assert!(url.starts_with("http"), "{url}");
    let sql = "SELECT object, url, done_at_ns, error, blocks_render FROM object ORDER BY object";
    let mut statement = elsewhere.prepare(sql).unwrap();
    let rows = statement
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?)));
    let rows: Vec<(u32, String, u64, Option<String>, bool)> =
        rows.unwrap().map(Result::unwrap).collect();
    let objects = store.objects(visit.key).unwrap();
    let expected =
        objects.into_iter().map(|o| (o.object, o.url, o.done_at_ns, o.error, o.blocks_render));
    assert_eq!(rows, expected.collect::<Vec<_>>());
}

#[test]
fn a_visit_has_its_page() {
    let directory = tempfile::tempdir().unwrap();
    let mut store = Store::create(&directory.path().join("s")).unwrap();
    let list = |pages: [&str; 2]| {
        let mut cells = toy::cells(&["sites.toml"], &[50]);
        cells.iter_mut().for_each(|cell| cell.page.pages = pages.map(str::to_owned).to_vec());
        Plan::new("toy", 1, 1, scenario::Order::Blocked, cells)
    };
    let plan = list(["a", "b"]);
    let run = fill(&mut store, &plan, 0..plan.journey_count());
    let pages: Vec<_> = store.visits(run).unwrap().into_iter().map(|v| v.page).collect();
    assert_eq!(pages, ["a", "b", "a", "b"].map(|page| Some(page.to_owned())));
    let digest = store.digest(run).unwrap();
    store.sqlite().execute("UPDATE visit SET page = 'c' WHERE visit = 1", []).unwrap();
    assert_ne!(store.digest(run).unwrap(), digest);
}

#[test]
fn a_journey_is_stored_once() {
    let directory = tempfile::tempdir().unwrap();
    let mut store = Store::create(&directory.path().join("s")).unwrap();
    let plan = toy::plan(1);
    let run = fill(&mut store, &plan, 0..1);
    let journey = plan.journey(0);
    store.put_journey(run, Keep::All, &journey, &toy::Toy.execute(&journey)).unwrap_err();
    assert_eq!(store.visits(run).unwrap().len(), 1);
    assert_eq!(store.finish_run(run, "now").unwrap(), RunState::Interrupted);
}

#[test]
fn a_journey_that_failed_is_a_result() {
    let directory = tempfile::tempdir().unwrap();
    let mut store = Store::create(&directory.path().join("s")).unwrap();
    let plan = toy::plan(1);
    let run = store.begin_run(&plan, &toy::facts()).unwrap();
    let failed = JourneyResult { failure: Some("it panicked".into()), ..Default::default() };
    store.put_journey(run, Keep::All, &plan.journey(0), &failed).unwrap();
    assert_eq!(store.journeys(run).unwrap()[0].failure.as_deref(), Some("it panicked"));
}

#[test]
fn a_full_disk_keeps_what_was_stored() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("s");
    let mut store = Store::create(&path).unwrap();
    let plan = toy::plan(200);
    let run = store.begin_run(&plan, &toy::facts()).unwrap();
    let pages: u32 =
        store.sqlite().pragma_query_value(None, "page_count", |row| row.get(0)).unwrap();
    store.sqlite().pragma_update_and_check(None, "max_page_count", pages + 60, |_| Ok(())).unwrap();
    let put = |store: &mut Store, position| {
        let journey = plan.journey(position);
        store.put_journey(run, Keep::All, &journey, &toy::Toy.execute(&journey))
    };
    let (stored, error) = (0..)
        .find_map(|position| put(&mut store, position).err().map(|error| (position, error)))
        .unwrap();
    assert!(matches!(error, StoreError::Full { .. }), "{error}");
    assert!(error.to_string().contains("every journey stored so far is kept"), "{error}");
    drop(store);
    let mut store = Store::open(&path).unwrap();
    assert_eq!(store.stored_positions(run).unwrap(), (0..stored).collect());
    put(&mut store, stored).unwrap();
}

#[test]
fn places_that_hold_no_store_are_told_apart() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    assert!(matches!(Store::open(&at("none")), Err(StoreError::Absent { .. })));
    std::fs::write(
        at("text"),
        "hello, this is no database; it is longer than a header, too, so \
        that SQLite looks at it and finds that the magic number is not there",
    )
    .unwrap();
    assert!(matches!(Store::open(&at("text")), Err(StoreError::NotAStore { .. })));
    assert!(matches!(Store::create(&at("text")), Err(StoreError::Exists { .. })));
    Connection::open(at("other")).unwrap().execute_batch("CREATE TABLE t (x)").unwrap();
    assert!(matches!(Store::open(&at("other")), Err(StoreError::NotAStore { .. })));
    assert!(matches!(Store::create(&at("no/such")), Err(StoreError::Unwritable { .. })));
    let message = Store::create(&at("no/such")).unwrap_err().to_string();
    assert!(message.contains("check that its directory exists"), "{message}");
}

#[test]
fn a_newer_format_is_refused_and_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("s");
    let store = Store::create(&path).unwrap();
    store.sqlite().pragma_update(None, "user_version", FORMAT + 1).unwrap();
    drop(store);
    let error = Store::open(&path).unwrap_err();
    assert!(matches!(error, StoreError::Newer { known: FORMAT, .. }), "{error}");
}

#[test]
fn a_store_from_before_the_first_release_is_refused_and_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("s");
    let store = Connection::open(&path).unwrap();
    store
        .execute_batch(
            "CREATE TABLE run (id); PRAGMA application_id = 0x6661726c; PRAGMA user_version = 9;",
        )
        .unwrap();
    drop(store);
    let before = std::fs::read(&path).unwrap();
    let error = Store::open(&path).unwrap_err().to_string();
    assert!(
        error.contains("before the first release") && error.contains("run the experiment again"),
        "{error}"
    );
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

/// Path of the fixture of a past format.
fn fixture(format: u32) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/fixtures/store-{format}.db"))
}

/// Writes the fixture of the present format. Run by hand for a new format, and never again for that format: `cargo
/// test -p farlink-store write_fixture -- --ignored`.
#[test]
#[ignore = "writes a committed file"]
fn write_fixture() {
    let path = fixture(FORMAT);
    let mut store = Store::create(&path).unwrap();
    let plan = toy::plan(1);
    let run = fill(&mut store, &plan, 0..plan.journey_count());
    store.finish_run(run, "2026-01-01T00:00:01Z").unwrap();
    store.sqlite().pragma_update(None, "journal_mode", "DELETE").unwrap();
}

#[test]
fn stores_of_every_past_format_are_read() {
    for format in 1..=FORMAT {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("s");
        std::fs::copy(fixture(format), &path).unwrap();
        let store = Store::open(&path).unwrap();
        let run = store.runs().unwrap().pop().unwrap();
        assert_eq!(run.state, RunState::Complete);
        assert_eq!(run.digest, Some(store.digest(run.id).unwrap()), "format {format}");
        assert_eq!(store.journeys(run.id).unwrap().len() as u64, run.journeys);
        for visit in store.visits(run.id).unwrap() {
            assert!(!store.record(visit.key).unwrap().objects.is_empty());
        }
    }
}
