//! `--traffic`: the client's background traffic, and its effect on radios.

use crate::common::Desk;
use serde_json::Value;

fn visits(desk: &Desk, arguments: &str) -> Vec<Value> {
    desk.farlink(&format!("load {arguments} --json")).json()
}

fn number(visit: &Value, field: &str) -> f64 {
    visit[field].as_f64().unwrap_or_else(|| panic!("{field}: {visit}"))
}

/// A server that takes eight seconds for each answer: every response finds a radio that has left its dedicated channel.
const PAUSES: &str = "synthetic:6x20KB --network 3g,radio=umts --tcp linux-3.0 --service-time 8s \
                      --tls none --protocol h2 --device zero --no-noise -n 1";

fn paused(traffic: &str) -> Value {
    visits(&Desk::new(), &format!("{PAUSES} {traffic}")).remove(0)
}

/// Erman et al. 2013, section 5.6.1: with pings that keep the radio on its dedicated channel there are (nearly) no
/// retransmissions, and pages load sooner.
#[test]
fn pings_keep_a_radio_awake_and_its_server_from_needless_timeouts() {
    let (without, with) = (paused(""), paused("--traffic ping:every=3s,size=320B"));
    let promotions = |visit: &Value| number(&visit["radio"], "promotions");
    // From idle, and for each of the two responses that come after a pause.
    assert_eq!((promotions(&without), promotions(&with)), (3.0, 0.0));
    assert!(number(&without, "retransmits") > 0.0, "{without}");
    assert_eq!(number(&with, "retransmits"), 0.0, "{with}");
    let sooner = number(&without, "plt_ms") - number(&with, "plt_ms");
    assert!(sooner > 2000.0 + 2.0 * 1500.0, "{sooner} ms");
    // The cost: a dedicated channel all the time, 0.7 W.
    let states = with["radio"]["states"].as_array().unwrap();
    assert_eq!(states.len(), 1, "{states:?}");
    assert_eq!(states[0]["state"], "CELL_DCH");
    let watts = number(&with["radio"], "energy_uj") / 1e3 / number(&with, "plt_ms");
    assert!((0.69..0.71).contains(&watts), "{watts}");
}

/// 84 bytes are too few for a dedicated channel: such pings keep the radio out of idle, but only on its shared channel.
#[test]
fn small_pings_keep_a_shared_channel_only() {
    let small = paused("--traffic ping:every=3s");
    let states = small["radio"]["states"].as_array().unwrap();
    let names: Vec<&str> = states.iter().map(|state| state["state"].as_str().unwrap()).collect();
    assert_eq!(names, ["CELL_DCH", "CELL_FACH", "FACH to DCH"]);
    assert!(number(&small, "retransmits") > 0.0, "{small}");
}

#[test]
fn beacons_are_requests_over_a_connection_of_their_own() {
    let desk = Desk::new();
    let page = "synthetic:1x1KB --network cable --service-time 5s --device zero --no-noise -n 1";
    for protocol in ["h1", "h2"] {
        for tls in ["none", "tls12", "tls13"] {
            let load = |traffic: &str| {
                let arm = format!("--protocol {protocol} --tls {tls} {traffic}");
                visits(&desk, &format!("{page} {arm}")).remove(0)
            };
            let (plain, beside) = (load(""), load("--traffic beacon:every=1s,size=1KB"));
            for field in ["connections", "requests"] {
                assert_eq!(plain[field], beside[field], "they are none of the page's");
            }
            // Ten in ten seconds, a little more than a kilobyte each.
            let more = number(&beside, "bytes_up") - number(&plain, "bytes_up");
            assert!((10_000.0..16_000.0).contains(&more), "{protocol} {tls}: {more} bytes");
        }
    }
}

#[test]
fn it_is_a_part_of_the_scenario_and_no_traffic_is_as_before() {
    let desk = Desk::new();
    let page = "synthetic:2x5KB --network 3g --protocol h1 -n 2";
    let digests = |extra: &str| {
        let visits = visits(&desk, &format!("{page} {extra}"));
        let digests = visits.iter().map(|visit| visit["trace_digest"].clone());
        (digests.collect::<Vec<_>>(), visits[0]["scenario"]["traffic"].clone())
    };
    let (plain, none) = digests("");
    assert_eq!(none, Value::Null);
    assert_eq!(digests("--traffic none"), (plain.clone(), Value::Null));
    let traffic = "--traffic beacon:every=2s+ping:every=500ms";
    let (beside, flows) = digests(traffic);
    assert_eq!(flows, "ping:every=500ms,size=84B + beacon:every=2s,size=1000B");
    assert_ne!(beside, plain);
    assert_eq!(digests(traffic).0, beside, "the same each time");
    assert_ne!(beside[0], beside[1], "the phase is drawn for each journey");
    let text = desk.farlink(&format!("load {page} {traffic}")).ok();
    assert!(text.contains("traffic ping:every=500ms,size=84B + beacon"), "{text}");
    assert!(text.contains("note: beside the page: ping"), "{text}");
}

#[test]
fn it_is_an_axis_of_experiments() {
    let desk = Desk::new();
    desk.put(
        "awake.toml",
        "format = 1\nrepetitions = 2\ntraffic = [\"none\", \"ping:every=3s,size=320B\"]\n\n\
         [page]\nname = \"synthetic:2x5KB\"\n\n[network]\nbase = \"3g\"\nradio = \"umts\"\n",
    );
    desk.farlink("run awake.toml").ok();
    let store = desk.sqlite("farlink.sqlite");
    let quickest = |like: &str| -> i64 {
        let query = "SELECT min(plt_ns) FROM visit JOIN journey ON journey.run_id = visit.run_id \
                     AND position = visit.journey WHERE scenario LIKE ?1";
        store.query_row(query, [like], |row| row.get(0)).unwrap_or_else(|error| panic!("{error}"))
    };
    let (without, with) = (quickest("%\"world\":\"sim\"}"), quickest("%\"traffic\":\"ping%"));
    assert!(without > with + 1_900_000_000, "{without} {with}");
    let report = desk.farlink("report");
    assert_eq!(report.code, 0, "{}", report.err);
    assert!(desk.read("report.html").contains("ping:every=3s,size=320B"));
}

/// A ping of 500 bytes goes up on a shared channel, and its answer triggers a dedicated one: the visit's events show it.
#[test]
fn its_packets_are_causes_of_a_radios_states() {
    let desk = Desk::new();
    desk.put(
        "cause.toml",
        "format = 1\nrepetitions = 1\ntraffic = \"ping:every=8s,size=500B\"\nnoise = \"off\"\n\n\
         [page]\nname = \"synthetic:1x1KB\"\n\n[network]\nbase = \"3g\"\nradio = \"umts\"\n\n\
         [server]\nservice_time = \"30s\"\n",
    );
    desk.farlink("run cause.toml").ok();
    let store = desk.sqlite("farlink.sqlite");
    let query = "SELECT count(*) FROM event WHERE kind = 'radio' AND detail = ?1";
    let caused: i64 = store
        .query_row(query, ["FACH to DCH, by a packet of 500 bytes down"], |row| row.get(0))
        .unwrap();
    assert!(caused >= 4, "{caused} promotions in a minute");
}

#[test]
fn what_cannot_be_sent_is_refused() {
    let desk = Desk::new();
    let load = |traffic: &str| desk.run(&["load", "synthetic:1x1KB", "--traffic", traffic]);
    load("pign:every=3s").refused(&["--traffic pign:every=3s", "did you mean `ping`?"]);
    load("ping").refused(&["a ping must say how often"]);
    load("ping:every=3").refused(&["`every` of a ping", "has no unit"]);
    load("ping:every=3s,size=9KB").refused(&["from 28B to 1280B"]);
    load("beacon:every=0s").refused(&["from 1ms to 1h"]);
    load("beacon:often").refused(&["`often` is no setting of a beacon"]);
    desk.put(
        "wrong.toml",
        "format = 1\ntraffic = \"beacn:every=3s\"\n[page]\nname = \"synthetic:1x1KB\"\n\
         [network]\nbase = \"3g\"\n",
    );
    desk.farlink("run wrong.toml").refused(&["wrong.toml:2:11", "did you mean `beacon`?"]);
}
