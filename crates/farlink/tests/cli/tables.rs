//! Tables of a run, parts of an experiment that are merged, and campaigns over many pages.

use crate::common::{Desk, digest, experiment};

#[test]
fn tables_are_files_of_the_named_format() {
    let desk = Desk::new();
    desk.put("e.toml", experiment(2));
    desk.farlink("run e.toml").ok();
    desk.farlink("export --csv visits.csv").ok();
    let csv = desk.read("visits.csv");
    assert_eq!(csv.lines().count(), 1 + 8);
    assert!(csv.starts_with("run,journey,visit,client_number,cell,repetition,seed,"), "{csv}");

    let ran = desk.farlink("export 1 --table objects,links --parquet tables");
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.err.contains("wrote tables/objects.parquet (104 rows)"), "{}", ran.err);
    assert!(ran.err.contains("wrote tables/links.parquet (16 rows)"), "{}", ran.err);
    let file = std::fs::read(desk.path("tables/objects.parquet")).unwrap();
    assert!(file.starts_with(b"PAR1") && file.ends_with(b"PAR1"));

    desk.farlink("export --table all --arrow everything").ok();
    let names = std::fs::read_dir(desk.path("everything")).unwrap().count();
    assert!(names >= 15, "{names} tables");

    desk.farlink("export --table packets --csv packets.csv").ok();
    let csv = desk.read("packets.csv");
    let store = desk.sqlite("farlink.sqlite");
    let sql = "SELECT sum(wire_bytes_down + wire_bytes_up), sum(queue_drops + losses) FROM visit";
    let (arrived, dropped): (u64, u64) =
        store.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    let rows: Vec<Vec<&str>> = csv.lines().skip(1).map(|line| line.split(',').collect()).collect();
    let bytes =
        rows.iter().filter(|row| !row[8].is_empty()).map(|row| row[9].parse::<u64>().unwrap());
    // A packet may still be on its way when its visit ends.
    let seen: u64 = bytes.sum();
    assert!(seen >= arrived && seen < arrived + 10_000, "{seen} of {arrived} bytes");
    let lost = rows.iter().filter(|row| row[8].is_empty()).count() as u64;
    assert!(lost >= dropped && dropped > 0, "{lost} of {dropped}");
    assert!(csv.contains(",SYN,") && csv.contains(",SYN ACK,"), "{csv}");

    let parts = &["--table object: there is no such table", "hint: did you mean `objects`?"];
    desk.farlink("export --table object --csv x.csv").refused(parts);
    desk.farlink("export --table visits,objects --csv visits.csv")
        .refused(&["visits.csv is a file, and several tables need a directory"]);
    assert_eq!(desk.farlink("export").code, 2, "a format is needed");
}

#[test]
fn shards_merge_into_the_run_of_one_machine() {
    let desk = Desk::new();
    desk.put("e.toml", experiment(5));
    desk.farlink("run e.toml --store whole.sqlite").ok();
    for shard in 1..=3 {
        let ran =
            desk.farlink(&format!("run e.toml --shard {shard}/3 --store part-{shard}.sqlite"));
        assert_eq!(ran.code, 0, "{}", ran.err);
        assert!(ran.err.contains(&format!("shard {shard}/3 of run 1 complete")), "{}", ran.err);
        assert!(ran.out.contains("farlink merge part-"), "{}", ran.out);
    }
    let ran = desk.farlink("merge part-3.sqlite part-1.sqlite --into merged.sqlite");
    assert_eq!(ran.code, 1, "{}", ran.err);
    assert!(ran.err.contains("run 1 has 13 of 20 journeys"), "{}", ran.err);
    let ran = desk.farlink("merge part-2.sqlite part-1.sqlite --into merged.sqlite");
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(
        ran.err.contains("part-1.sqlite: 0 of 20 journeys of `test` added, 7 were there"),
        "{}",
        ran.err
    );
    let whole = digest(&desk.sqlite("whole.sqlite"), 1);
    assert_eq!(digest(&desk.sqlite("merged.sqlite"), 1), whole);

    // A part becomes the whole by running the rest.
    desk.farlink("run e.toml --store part-1.sqlite").ok();
    assert_eq!(digest(&desk.sqlite("part-1.sqlite"), 1), whole);

    desk.farlink("merge part-1.sqlite --into part-1.sqlite")
        .refused(&["part-1.sqlite is both read and written"]);
    assert_eq!(desk.farlink("run e.toml --shard 4/3").code, 2);
    desk.run(&["run", "e.toml", "--shard", "1/3", "--assert", "h2.plt.p90 < 1ms"])
        .refused(&["budgets and --power look at the loads of all shards together"]);
    desk.farlink("run e.toml --shard 1/3 --set until=5%")
        .refused(&["a stop rule looks at the loads of all shards together"]);
}

#[test]
fn a_run_may_keep_visits_alone() {
    let desk = Desk::new();
    desk.put("e.toml", experiment(30));
    desk.farlink("run e.toml --store all.sqlite").ok();
    desk.farlink("run e.toml --set keep=visits --store visits.sqlite").ok();
    let size = |name: &str| std::fs::metadata(desk.path(name)).unwrap().len();
    assert!(
        size("visits.sqlite") * 4 < size("all.sqlite"),
        "{} {}",
        size("visits.sqlite"),
        size("all.sqlite")
    );
    let sums = |name: &str| -> (u64, u64, u64) {
        let sql = "SELECT sum(plt_ns), sum(requests), sum(floor_graph_ns) FROM visit";
        desk.sqlite(name)
            .query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
            .unwrap()
    };
    assert_eq!(sums("visits.sqlite"), sums("all.sqlite"));
    desk.farlink("report --store visits.sqlite -o r.html").ok();
    desk.farlink("export --store visits.sqlite --table objects --csv objects.csv").ok();
    assert_eq!(desk.read("objects.csv").lines().count(), 1, "nothing but names of columns");
    desk.farlink("run e.toml --set keep=some")
        .refused(&["unknown keep `some`; known: all, visits"]);
}

#[test]
fn pages_of_a_pattern_are_read_one_by_one_and_fail_one_by_one() {
    let desk = Desk::new();
    std::fs::create_dir(desk.path("corpus")).unwrap();
    for page in ["1x1KB", "2x1KB", "3x1KB"] {
        let har = format!("corpus/{page}.har");
        desk.farlink(&format!("load synthetic:{page} --network 4g --protocol h1 -n 1 --har {har}"))
            .ok();
    }
    desk.put("corpus/broken.har", "{\"log\": ");
    desk.put(
        "e.toml",
        "format = 1\nrepetitions = 2\n[page]\nname = \"corpus/*.har\"\n[network]\nbase = \"4g\"\n[stack]\nprotocol = [\"h1\", \"h2\"]\n",
    );
    let ran = desk.farlink("run e.toml");
    assert_eq!(ran.code, 1, "{}", ran.err);
    assert!(ran.err.contains("4 journeys failed"), "{}", ran.err);
    let store = desk.sqlite("farlink.sqlite");
    let count = |sql: &str| -> u64 { store.query_row(sql, [], |row| row.get(0)).unwrap() };
    assert_eq!(count("SELECT count(*) FROM visit WHERE plt_ns > 0"), 12);
    assert_eq!(count("SELECT count(*) FROM journey WHERE failure LIKE '%broken.har%'"), 4);
    desk.farlink("run e.toml --set page.name=nothing/*.har")
        .refused(&["no file is like `nothing/*.har`"]);
}
