//! Journeys of several visits from the command line: simulated, emulated, and refused if impossible.

#![expect(clippy::disallowed_methods, reason = "a test may ask whether it runs in CI")]

use crate::common::Desk;
use serde_json::Value;

const SITES: &str = "format = \"farlink-page-list\"\nversion = 1\n\
    pages = [\"synthetic:6x4KB\", \"synthetic:9x8KB@2hosts\", \"synthetic:3x2KB\"]\n";

const NETWORK: &str = "rtt=60ms,down=10mbit,up=5mbit,queue=100pkt";

/// The measurements of `farlink load sites.pages.toml --json` with more arguments.
fn visits(extra: &[&str]) -> Vec<Value> {
    let desk = Desk::new();
    desk.put("sites.pages.toml", SITES);
    let fixed =
        ["load", "sites.pages.toml", "--network", NETWORK, "-n", "1", "--device", "zero", "--json"];
    let arguments: Vec<&str> = fixed.iter().chain(extra).copied().collect();
    desk.run(&arguments).json()
}

fn pages(visits: &[Value]) -> Vec<&str> {
    visits.iter().map(|visit| visit["visited_page"].as_str().unwrap()).collect()
}

fn ttfbs(visits: &[Value]) -> Vec<f64> {
    visits.iter().map(|visit| visit["ttfb_ms"].as_f64().unwrap()).collect()
}

#[test]
fn a_list_is_gone_through_and_summed_up() {
    let desk = Desk::new();
    desk.put("sites.pages.toml", SITES);
    let out = desk.farlink("load sites.pages.toml --network cable --times 2 -n 2").ok();
    let has = |words: &[&str]| {
        out.lines().any(|line| line.split_whitespace().collect::<Vec<_>>().starts_with(words))
    };
    assert!(has(&["median", "PLT", "by", "page", "h1", "h2", "fastest"]), "{out}");
    assert!(has(&["synthetic:9x8KB@2hosts"]) && has(&["all", "(sum", "of", "medians)"]), "{out}");
    assert!(out.contains("12 an arm") && out.contains("2 passes (listed)"), "{out}");
    assert!(out.contains("asked for with page=2"), "{out}");
}

#[test]
fn a_run_through_a_list_has_its_pages_in_store_table_and_report() {
    let desk = Desk::new();
    desk.put("sites.pages.toml", SITES);
    desk.put(
        "e.toml",
        "format = 1\nrepetitions = 2\npage.name = \"sites.pages.toml\"\n\
         journey = { times = 2, order = \"drawn\", pace = \"every=60s\", keeps = \"connections\" }\n\
         network.base = \"cable\"\nstack.protocol = [\"h1\", \"h2\"]\n",
    );
    desk.farlink("run e.toml").ok();
    let store = desk.sqlite("farlink.sqlite");
    let sql =
        "SELECT group_concat(page) FROM (SELECT * FROM visit ORDER BY visit) GROUP BY journey";
    let mut statement = store.prepare(sql).unwrap();
    let orders = statement.query_map([], |row| row.get::<_, String>(0)).unwrap();
    let orders: Vec<String> = orders.map(Result::unwrap).collect();
    assert_eq!(orders.len(), 4);
    assert!(orders.iter().all(|order| *order == orders[0]), "{orders:?}");
    let starts = "SELECT count(*) FROM visit WHERE started_at_ns >= 300000000000";
    let last: u64 = store.query_row(starts, [], |row| row.get(0)).unwrap();
    assert_eq!(last, 4, "the sixth visit of each journey begins after five minutes");
    desk.farlink("report -o report.html").ok();
    desk.farlink("export --csv visits.csv").ok();
    let report = desk.read("report.html");
    for said in ["All pages", "synthetic:3x2KB", "every=60s", "drawn=1"] {
        assert!(report.contains(said), "{said}");
    }
    let csv = desk.read("visits.csv");
    assert!(csv.lines().next().unwrap().contains("visited_page"), "{csv}");
    assert_eq!(csv.lines().filter(|line| line.contains("synthetic:9x8KB@2hosts")).count(), 8);
}

#[test]
fn what_cannot_be_a_journey_is_refused() {
    let refuses = |arguments: &str, parts: &[&str]| {
        let desk = Desk::new();
        desk.put("sites.pages.toml", SITES);
        desk.put("other.pages.toml", "format = 1\n");
        let missing = SITES.replace("synthetic:3x2KB", "nowhere.json");
        desk.put("missing.pages.toml", missing);
        desk.farlink(arguments).refused(parts);
    };
    refuses("load bth2013 --times 0", &["--times 0", "1 to 1000"]);
    refuses("load bth2013 --times 2 --keeps cookies", &["--keeps", "connections, sessions"]);
    refuses("load bth2013 --pace 10s", &["--pace", "think=10s"]);
    refuses("load sites.pages.toml --page-order any", &["--page-order", "drawn-anew"]);
    refuses("load bth2013 --times 2 --view both", &["leave it cold"]);
    refuses("load sites.pages.toml --push css --protocol h2", &["leave push out"]);
    refuses(
        "load sites.pages.toml --client chromium --world emu",
        &["a real Chromium visits one page"],
    );
    refuses("load other.pages.toml", &["other.pages.toml", "farlink-page-list"]);
    refuses("load missing.pages.toml", &["page `nowhere.json`", "nowhere.json"]);
    refuses("load nowhere.pages.toml", &["nowhere.pages.toml"]);
    refuses("pages show sites.pages.toml", &["a list of pages"]);
}

/// Real-time tests.
mod real_time {
    use super::*;

    #[test]
    fn a_journey_is_the_same_in_both_worlds() {
        if !emu::diagnosis::missing(None).is_empty() {
            assert_ne!(std::env::var("CI").as_deref(), Ok("true"), "no namespaces in CI");
            eprintln!("skipped: no network namespaces can be made here (farlink doctor says why)");
            return;
        }
        let journey = ["--protocol", "h2", "--pace", "think=300ms", "--no-noise", "--times", "2"];
        for keeps in ["connections", "sessions,metrics", "nothing"] {
            let all: Vec<&str> = journey.iter().copied().chain(["--keeps", keeps]).collect();
            let simulated = visits(&all);
            let emulated = visits(&[all.as_slice(), &["--world", "emu"]].concat());
            assert_eq!(pages(&simulated), pages(&emulated));
            assert_eq!(emulated.len(), 6);
            for (sim, emu) in ttfbs(&simulated).into_iter().zip(ttfbs(&emulated)) {
                // To within half a round trip: the same number of them.
                assert!((sim - emu).abs() < 30.0, "keeping {keeps}: {sim} ms and {emu} ms");
            }
            let begun = |visits: &[Value]| visits[5]["started_ms"].as_f64().unwrap();
            assert!(begun(&emulated) > 1500.0, "five pauses of 300 ms");
            let notes = emulated[0]["notes"].to_string();
            assert_eq!(
                notes.contains("tcp_no_metrics_save"),
                keeps != "sessions,metrics",
                "{notes}"
            );
        }
    }
}
