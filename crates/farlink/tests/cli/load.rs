//! `farlink load` as a person or a program uses it.

use crate::common::{Desk, json_lines};
use serde_json::Value;

/// A page that loads quickly.
const PAGE: &str = "load synthetic:12x10KB -n 6";

/// The lines of `field`.
fn all<'a>(visits: &'a [Value], field: &str) -> Vec<&'a Value> {
    visits.iter().map(|visit| &visit[field]).collect()
}

fn strings<'a>(visits: &'a [Value], field: &str) -> Vec<&'a str> {
    all(visits, field).into_iter().map(|value| value.as_str().expect(field)).collect()
}

#[test]
fn the_answer_comes_first_then_what_was_asked_a_table_and_a_waterfall() {
    let out = Desk::new().farlink(PAGE).ok();
    let text: Vec<&str> = out.lines().collect();
    // 1.9 % is not noticeable, however certain it is.
    assert_eq!(text[0], "In load time and first render h2 and h1 are practically the same.");
    assert!(
        text[1].starts_with("  Load time: h2 ") && text[1].contains(" (95 % interval "),
        "{out}"
    );
    assert!(text[2].starts_with("  First render (estimated): h"), "{out}");
    assert!(!text[..3].concat().contains("tls"), "{out}");
    let page = text.iter().position(|line| line.starts_with("page ")).expect("what was asked");
    let text = &text[page - 2..];
    assert_eq!(text[2], "page     synthetic:12x10KB: 13 requests to 1 host, 121 KB");
    assert_eq!(
        text[3],
        "network  4g: 9 Mbit/s each way, RTT 170 ms, no loss, queue 1000 packets each way"
    );
    assert_eq!(
        text[4],
        "loads    6 an arm, seed 1, simulated; TLS 1.3, cold cache, device desktop, browser chrome"
    );
    let header: Vec<&str> = text[6].split_whitespace().collect();
    let columns = "median PLT p90 floor PLT/floor TTFB render* ByteIndex* conns bytes retrans";
    assert_eq!(header.join(" "), columns);
    assert!(text[7].starts_with("h1 ") && text[8].starts_with("h2 "), "{out}");
    assert!(out.contains("median load:"), "{out}");
    assert!(out.contains("www.page.test/o/0012.png"), "{out}");
    assert!(out.contains("^ load "), "{out}");
    let mut below = text[2..].iter();
    let wide = below.find(|line| line.chars().count() > 100 && !line.starts_with(['n', '*']));
    assert_eq!(wide, None);
}

#[test]
fn all_arms_are_ranked_in_a_line() {
    let out = Desk::new().farlink(&format!("{PAGE} --tls none,tls13")).ok();
    let text: Vec<&str> = out.lines().collect();
    assert!(text[1].starts_with("  Load time: h"), "{out}");
    let others = text[1].matches(" ahead of ").count() + text[1].matches(" apart").count();
    assert_eq!(others, 3, "all other arms, each with its distance: {out}");
    for arm in ["h1 none", "h1 tls13", "h2 none", "h2 tls13"] {
        assert!(text.iter().any(|line| line.starts_with(arm)), "{out}");
    }
}

#[test]
fn what_only_some_arms_have_is_said_and_applied_to_them() {
    let knobs = "--push css --scheduler rfc9218 --priorities chrome --protocol h2,h3";
    let quic = "--quic iw=20 --h3-discovery alt-svc --multiplexing streams=8";
    let out = Desk::new().farlink(&format!("{PAGE} {knobs} {quic}")).ok();
    let heading = out.lines().find(|line| line.starts_with("loads ")).unwrap();
    for told in ["priorities chrome", "scheduler rfc9218", "push css", "QUIC with iw=20"] {
        assert!(heading.contains(told), "{told}: {heading}");
    }
    assert!(heading.contains("HTTP/3 discovery alt-svc"), "{heading}");
    assert!(heading.contains("multiplexing with streams=8"), "{heading}");
    assert!(out.contains("note: --push css has no effect over h3-deployed"), "{out}");
}

#[test]
fn one_arm_has_a_figure_for_an_answer() {
    let out = Desk::new().farlink(&format!("{PAGE} --protocol h2")).ok();
    let answer = out.lines().next().unwrap();
    assert!(answer.starts_with("h2 takes ") && answer.ends_with(" times the floor."), "{answer}");
}

#[test]
fn json_is_one_object_a_visit_one_a_line() {
    let out = Desk::new().farlink(&format!("{PAGE} --json --view both")).ok();
    let visits = json_lines(&out);
    assert_eq!(visits.len(), 2 * 6 * 2, "arms, repetitions, views");
    for visit in &visits {
        let (plt, floor) = (visit["plt_ms"].as_f64().unwrap(), visit["floor_ms"].as_f64().unwrap());
        assert!(floor > 0.0 && plt >= floor, "{visit}");
        assert_eq!(visit["failure"], Value::Null);
        assert_eq!(visit["objects"], 13);
        assert_eq!(visit["requests"], if visit["view"] == "cold" { 13 } else { 0 });
        assert_eq!(visit["scenario"]["transport"]["server"], "linux-6");
        let resolved = visit["network_resolved"].as_str().unwrap();
        assert_eq!(resolved, "rtt=170ms,down=9mbit,up=9mbit,queue=1000pkt");
        let notes = visit["notes"].as_array().unwrap();
        assert!(notes.iter().any(|note| note.as_str().unwrap().starts_with("queue:")), "{visit}");
    }
    let views = strings(&visits, "view");
    assert_eq!((views[0], views[1]), ("cold", "warm"));
    let mean = |view| {
        let of_view = visits.iter().filter(|visit| visit["view"] == view);
        of_view.map(|visit| visit["plt_ms"].as_f64().unwrap()).sum::<f64>()
    };
    assert!(mean("warm") < mean("cold"));
}

#[test]
fn the_same_seed_gives_the_same_numbers_whoever_counts() {
    let desk = Desk::new();
    let load = |rest: &str| {
        let loss = "--network cable,loss=1%";
        desk.farlink(&format!("{PAGE} --json {loss} {rest}")).ok()
    };
    let first = load("--seed 7 -j 1");
    assert_eq!(first, load("--seed 7 -j 2"));
    assert_ne!(first, load("--seed 8 -j 1"));
    let visits = json_lines(&first);
    let arms = visits.split_at(6);
    assert_eq!(all(arms.0, "seed"), all(arms.1, "seed"), "arms are paired");
    assert_ne!(visits[0]["trace_digest"], visits[1]["trace_digest"], "repetitions vary");
}

#[test]
fn without_noise_there_is_no_spread_and_no_interval() {
    let out =
        Desk::new().farlink(&format!("{PAGE} --no-noise --device zero --protocol h1,h2")).ok();
    assert!(out.starts_with("h") && out.contains("no spread"), "{out}");
    assert!(!out.contains("95 % interval"), "{out}");
    assert!(out.contains("note: h1: all loads are identical, so there is no spread"), "{out}");
    assert!(out.contains(", noise off"), "{out}");
}

#[test]
fn a_custom_link_without_a_queue_gets_one_and_is_told() {
    let desk = Desk::new();
    let link = "--network rtt=100ms,down=10mbit,up=5mbit";
    let out = desk.farlink(&format!("{PAGE} {link}")).ok();
    let network = "network  custom: 10 Mbit/s down and 5 Mbit/s up, RTT 100 ms, no loss, queue 100 packets each way";
    assert!(out.contains(network), "{out}");
    assert!(out.contains("note: no queue given: 100 packets"), "{out}");
    let out = desk.farlink(&format!("{PAGE} {link},queue=64pkt,down.loss=1%")).ok();
    assert!(out.contains("loss 1 % down and 0 % up, queue 64 packets each way"), "{out}");
    assert!(!out.contains("no queue given"), "{out}");
}

#[test]
fn a_profile_can_be_changed_and_a_file_be_a_network() {
    let desk = Desk::new();
    let out = desk.farlink(&format!("{PAGE} --network cable,rtt=600ms")).ok();
    assert!(out.contains("network  cable,rtt=600ms: 5 Mbit/s down and 1 Mbit/s up, RTT 600 ms"));
    assert!(out.contains("note: cable changed as typed: rtt=600ms"), "{out}");
    desk.put("ship.toml", "name = \"ship\"\nrtt = \"620ms\"\ndown = \"2mbit\"\nup = \"256kbit\"\n");
    let out = desk.farlink(&format!("{PAGE} --network ship.toml")).ok();
    assert!(out.contains("network  ship: 2 Mbit/s down and 256 kbit/s up, RTT 620 ms"), "{out}");
}

#[test]
fn hars_of_the_median_loads_are_written() {
    let desk = Desk::new();
    let ran = desk.farlink(&format!("{PAGE} --har out.har"));
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(desk.names(), ["out.h1.har", "out.h2.har"]);
    let har: Value = serde_json::from_str(&desk.read("out.h2.har")).unwrap();
    assert_eq!(har["log"]["version"], "1.2");
    assert_eq!(har["log"]["entries"].as_array().unwrap().len(), 13);
    let again = desk.farlink("load out.h2.har --protocol recorded,h2 -n 2 --json").ok();
    let visits = json_lines(&again);
    assert_eq!(visits[0]["protocol"], "recorded");
    assert_eq!(visits[0]["trace_digest"], visits[2]["trace_digest"], "it was recorded over h2");
    assert_eq!(visits[0]["requests"], 13);
}

#[test]
fn what_the_client_is_changes_what_it_takes() {
    let desk = Desk::new();
    let plt = |rest: &str| {
        let out =
            desk.farlink(&format!("load bth2013 -n 1 --protocol h2 --no-noise --json {rest}")).ok();
        json_lines(&out)[0]["plt_ms"].as_f64().unwrap()
    };
    let desktop = plt("");
    assert!(plt("--device zero") < desktop);
    assert!(plt("--cpu 8x") > desktop);
    assert!(plt("--device nexus7") > desktop);
    assert!(plt("--browser chrome-2013") > 0.0 && plt("--browser safari-ios9") > 0.0);
    assert!(plt("--service-time 500ms --workers 1") > desktop);
}

#[test]
fn a_blocked_host_is_not_asked() {
    let desk = Desk::new();
    let page = desk.farlink("pages show bth2013 --json").ok();
    let page: Value = serde_json::from_str(&page).unwrap();
    let hosts = page["page"]["hosts"].as_array().unwrap();
    let blocked = hosts.last().unwrap()["name"].as_str().unwrap();
    let load = |rest: &str| {
        let out = desk.farlink(&format!("load bth2013 -n 1 --protocol h2 --json {rest}")).ok();
        json_lines(&out)[0].clone()
    };
    let (whole, part) = (load(""), load(&format!("--block {blocked}")));
    assert_eq!(whole["requests_failed"], 0);
    assert_eq!(part["requests_failed"], 8, "what that host serves");
    assert!(part["bytes_down"].as_u64() < whole["bytes_down"].as_u64());
    assert!(part["connections"].as_u64() < whole["connections"].as_u64());
    let out = desk.farlink(&format!("load bth2013 -n 1 --block {blocked}")).ok();
    assert!(out.contains(&format!("without {blocked}")), "{out}");
}

#[test]
fn a_warm_cache_is_faster_and_told_apart() {
    let desk = Desk::new();
    let both = desk.farlink(&format!("{PAGE} --view both")).ok();
    assert!(both.starts_with("cold cache: "), "{both}");
    assert!(both.lines().any(|line| line.starts_with("warm cache: ")), "{both}");
    assert!(!both.contains("no load in common"), "a render at once is one, too: {both}");
    for arm in ["h1 cold", "h2 cold", "h1 warm", "h2 warm"] {
        assert!(both.lines().any(|line| line.starts_with(arm)), "{both}");
    }
    let warm = json_lines(&desk.farlink(&format!("{PAGE} --view warm --json")).ok());
    assert!(strings(&warm, "view").iter().all(|view| *view == "warm"));
    assert_eq!(warm.len(), 12);
}

/// A page on two hosts, one of them farther away when it was recorded.
const FAR_HOST: &str = r#"{"log":{"version":"1.2","creator":{"name":"t","version":"1"},"pages":[
  {"startedDateTime":"2024-01-01T00:00:00.000Z","id":"p","title":"t","pageTimings":{"onLoad":1100}}],"entries":[
  {"pageref":"p","startedDateTime":"2024-01-01T00:00:00.000Z","time":130,
   "request":{"method":"GET","url":"https://near.test/","httpVersion":"h2","headers":[],"queryString":[],"cookies":[],"headersSize":300,"bodySize":0},
   "response":{"status":200,"statusText":"OK","httpVersion":"h2","headers":[],"cookies":[],"content":{"size":5000,"mimeType":"text/html"},"redirectURL":"","headersSize":200,"bodySize":5000},
   "cache":{},"timings":{"blocked":0,"dns":0,"connect":40,"ssl":20,"send":0,"wait":40,"receive":10}},
  {"pageref":"p","startedDateTime":"2024-01-01T00:00:00.140Z","time":900,
   "request":{"method":"GET","url":"https://far.test/a.png","httpVersion":"http/1.1","headers":[],"queryString":[],"cookies":[],"headersSize":300,"bodySize":0},
   "response":{"status":200,"statusText":"OK","httpVersion":"http/1.1","headers":[],"cookies":[],"content":{"size":9000,"mimeType":"image/png"},"redirectURL":"","headersSize":200,"bodySize":9000},
   "cache":{},"timings":{"blocked":0,"dns":0,"connect":600,"ssl":300,"send":0,"wait":310,"receive":10}}]}}"#;

#[test]
fn a_recording_names_its_network_and_is_loaded_over_it() {
    let desk = Desk::new();
    desk.put("page.har", FAR_HOST);
    let shown = desk.farlink("pages show page.har").ok();
    assert!(shown.contains("recorded over: round trip 19.9 ms (one handshake)"), "{shown}");
    assert!(shown.contains("load over it: "), "{shown}");
    let load = "load page.har --network recorded --network 3g --protocol recorded --device zero -n 1 --json";
    let visits = json_lines(&desk.farlink(load).ok());
    let recorded = visits[0]["plt_ms"].as_f64().unwrap();
    assert!((950.0..1150.0).contains(&recorded), "its far host is as far away: {recorded} ms");
    let networks = strings(&visits, "network");
    assert!(networks[0].starts_with("rtt=") && networks[1] == "3g", "{networks:?}");
    let short = "--network rtt=20ms,down=1mbit,up=1mbit,queue=3pkt --protocol h2 -n 1";
    let dropped = "page.har: warning: a full queue dropped packets";
    assert!(desk.farlink(&format!("load page.har {short} --no-noise")).ok().contains(dropped));
    assert!(!desk.farlink(&format!("load page.har {short}")).ok().contains(dropped));
    let refused = desk.farlink("load bth2013 --network recorded");
    assert_eq!(refused.code, 2);
    assert!(refused.err.contains("`bth2013` is not a recording"), "{}", refused.err);
}

#[test]
fn recorded_origins_and_protocols_are_kept() {
    let desk = Desk::new();
    desk.put("page.har", FAR_HOST);
    let plt = |rest: &str| {
        let out = desk.farlink(&format!("load page.har -n 1 --json {rest}")).ok();
        json_lines(&out)[0]["plt_ms"].as_f64().unwrap()
    };
    let equal = plt("--protocol h2");
    let recorded = plt("--protocol h2 --origins recorded");
    assert!(recorded > equal + 200.0, "{recorded} {equal}");
    let out = desk.farlink("load page.har -n 1 --protocol recorded --har out.har");
    assert_eq!(out.code, 0, "{}", out.err);
    let har: Value = serde_json::from_str(&desk.read("out.har")).unwrap();
    let spoken: Vec<&str> = har["log"]["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["response"]["httpVersion"].as_str().unwrap())
        .collect();
    assert_ne!(spoken[0], spoken[1], "{spoken:?}");
}

/// The bytes at the start of a colour.
const ESCAPE: &str = "\u{1b}[";

#[test]
fn colours_are_for_terminals_and_never_against_a_wish() {
    let desk = Desk::new();
    let arguments: Vec<&str> = PAGE.split_whitespace().collect();
    let coloured = |names: &[&str]| {
        let mut command = desk.command(&arguments);
        for name in names {
            command.env(name, "1");
        }
        String::from_utf8(command.output().unwrap().stdout).unwrap().contains(ESCAPE)
    };
    assert!(!coloured(&[]), "the output is a pipe");
    assert!(coloured(&["CLICOLOR_FORCE"]), "so that this test can fail");
    assert!(!coloured(&["CLICOLOR_FORCE", "NO_COLOR"]));
}

#[test]
fn a_page_that_does_not_load_is_said_to_and_why() {
    let desk = Desk::new();
    // 10 bits a second: too slow for the time limit of a visit.
    let link = "--network rtt=1s,down=10bit,up=10bit,queue=100pkt --protocol h1,h2 -n 1";
    let ran = desk.farlink(&format!("load synthetic:1x10KB {link}"));
    assert_eq!(ran.code, 1, "{}", ran.err);
    assert!(ran.out.starts_with("The page did not load."), "{}", ran.out);
    assert!(ran.out.contains("failed: h1: "), "{}", ran.out);
    let ran = desk.farlink(&format!("load synthetic:1x10KB {link} --json"));
    assert_eq!(ran.code, 1, "{}", ran.err);
    for visit in json_lines(&ran.out) {
        assert_eq!(visit["plt_ms"], Value::Null);
        assert!(visit["failure"].as_str().unwrap().len() > 5, "{visit}");
        assert_eq!(visit["page"], "synthetic:1x10KB");
    }
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    use std::process::Stdio;
    let desk = Desk::new();
    let mut command = desk.command(&["pages", "list"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), said.as_ref()), (Some(0), ""));
}

#[test]
fn a_radio_stands_in_front_of_the_link() {
    let desk = Desk::new();
    let load = "load synthetic:4x2KB --no-noise -n 1 --protocol h2 --json --network ";
    let visit = |network: &str| -> Value {
        serde_json::from_str(&desk.farlink(&format!("{load}{network}")).ok()).unwrap()
    };
    let (plain, radio) = (visit("3g"), visit("3g,radio=umts"));
    assert!(plain["radio"].is_null());
    let later = radio["plt_ms"].as_f64().unwrap() - plain["plt_ms"].as_f64().unwrap();
    assert!((1990.0..2010.0).contains(&later), "a promotion of two seconds: {later} ms");
    let record = &radio["radio"];
    assert_eq!((&record["promotions"], &record["radio"]), (&1.into(), &"radio=umts".into()));
    // The tail: 5 s of CELL_DCH at 0.7 W, less the part that is over, and 12 s of CELL_FACH at 0.35 W.
    let tail = record["tail_uj"].as_f64().unwrap() / 1e6;
    assert!((7.3..=7.7).contains(&tail), "{tail}");
    let shown = desk.farlink("networks show 3g,radio=umts").ok();
    assert!(shown.contains("radio=umts: erman2013"), "{shown}");
    desk.farlink(&format!("{load}3g,radio=utms")).refused(&["did you mean `umts`?"]);
    desk.farlink(&format!("{load}3g,radio=umts,radio.dch_inactivity=fast"))
        .refused(&["dch_inactivity"]);
}

#[test]
fn any_setting_takes_several_values() {
    let desk = Desk::new();
    let load =
        |rest: &str| desk.farlink(&format!("load synthetic:4x5KB -n 1 --no-noise {rest}")).ok();
    let journeys = |rest: &str| load(&format!("{rest} --json")).lines().count();
    assert_eq!(journeys("--protocol h2 --congestion bbr,cubic"), 2);
    assert_eq!(journeys("--protocol h2 --network 3g --network cable,loss=1%"), 2);
    assert_eq!(journeys("--protocol h2 --device zero,nexus7 --workers 1,2"), 4);
    assert_eq!(journeys("--protocol h1,h2 --route direct --route pep --route proxy"), 6);
    // HTTP/3 cannot be split by a PEP; the rest is compared.
    let out = load("--protocol h2,h3 --route direct --route pep");
    assert!(
        out.contains("h2 direct") && out.contains("h2 pep") && out.contains("h3-deployed direct"),
        "{out}"
    );
    assert!(out.contains("1 combination is left out (route pep, protocol h3): a PEP"), "{out}");
    // Each network has its own answer.
    let out = load("--protocol h1,h2 --network 3g --network cable");
    assert_eq!(out.matches("median PLT").count(), 2, "{out}");
}

#[test]
fn protocols_are_understood_by_their_usual_names() {
    let desk = Desk::new();
    let load = |rest: &str| desk.farlink(&format!("load synthetic:2x5KB -n 1 {rest}")).ok();
    let out = load("--protocol http/1.1,http2,quic --tls 1.3");
    for name in ["h1 ", "h2 ", "h3-deployed "] {
        assert!(out.contains(name), "{name}: {out}");
    }
    let refused = desk.farlink("load synthetic:2x5KB --protocol h9");
    refused.refused(&["--protocol h9: unknown protocol `h9`", "h3-matched, recorded, h3,"]);
}

#[test]
fn networks_and_pages_list_by_themselves() {
    let desk = Desk::new();
    assert_eq!(desk.farlink("networks").ok(), desk.farlink("networks list").ok());
    assert_eq!(desk.farlink("pages").ok(), desk.farlink("pages list").ok());
}

#[test]
fn options_of_closed_sets_complete() {
    let desk = Desk::new();
    let bash = desk.farlink("completions bash").ok();
    assert!(bash.contains(r#"compgen -W "sim emu""#), "values of --world");
    let help = desk.farlink("load --help").ok();
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(help.contains("[possible values: none, tls10, tls12, tls13]"), "{help}");
}

/// A page as a HAR: a document, and other objects of it by URL, with the number of fields in their requests.
fn har(objects: &[(&str, usize)]) -> String {
    let entry = |(url, fields): &(&str, usize)| {
        let headers: Vec<Value> = (0..*fields)
            .map(|n| serde_json::json!({ "name": format!("x-{n}"), "value": "v" }))
            .collect();
        let kind = if url.ends_with('/') { "text/html" } else { "image/png" };
        serde_json::json!({
            "startedDateTime": "2024-01-01T00:00:00.000Z", "time": 50.0,
            "request": { "method": "GET", "url": url, "httpVersion": "HTTP/1.1", "headers": headers, "headersSize": -1, "bodySize": 0 },
            "response": {
                "status": 200, "statusText": "OK", "httpVersion": "HTTP/1.1", "headers": [{ "name": "content-type", "value": kind }],
                "content": { "size": 5000, "mimeType": kind }, "redirectURL": "", "headersSize": 100, "bodySize": 5000
            },
            "cache": {}, "timings": { "send": 0.0, "wait": 40.0, "receive": 10.0 }
        })
    };
    let entries: Vec<Value> = objects.iter().map(entry).collect();
    serde_json::json!({ "log": { "version": "1.2", "creator": { "name": "t", "version": "1" }, "entries": entries } }).to_string()
}

#[test]
fn an_address_of_ipv6_is_loaded_over_tls_by_every_protocol() {
    let desk = Desk::new();
    desk.put("v6.har", har(&[("https://a.test/", 1), ("https://[2001:db8::7]/p.png", 1)]));
    let out = desk.farlink("load v6.har --json -n 1 --protocol h1,h2,spdy,h3").ok();
    for visit in json_lines(&out) {
        assert_eq!(visit["requests_failed"], 0, "{visit}");
    }
}

#[test]
fn a_host_that_no_dns_can_name_is_refused_before_anything_is_loaded() {
    let desk = Desk::new();
    let host = "a".repeat(70);
    desk.put(
        "long.har",
        har(&[("https://a.test/", 1), (&format!("https://{host}.test/p.png"), 1)]),
    );
    let message = desk
        .farlink("load long.har -n 1")
        .refused(&["object 1", "has 70 bytes, and DNS allows 63"]);
    assert!(message.contains(&host), "{message}");
}

/// SPDY's servers accept at most 128 fields, so the second object does not arrive over it.
#[test]
fn an_arm_that_loses_an_object_is_named_and_not_ranked() {
    let desk = Desk::new();
    desk.put("many.har", har(&[("https://a.test/", 1), ("https://a.test/p.png", 150)]));
    let load = "load many.har --request-headers recorded -n 6 --protocol h1,spdy --report r.html";
    let out = desk.farlink(load).ok();
    let text: Vec<&str> = out.lines().collect();
    assert!(text[0].starts_with("h1 takes "), "{out}");
    let not_ranked = text.iter().find(|line| line.contains("Not ranked")).expect("a warning");
    assert!(
        not_ranked.contains("spdy: 1 object failed in 6 of 6 loads (https://a.test/p.png: "),
        "{out}"
    );
    assert!(out.contains("incomplete"), "a column of the table: {out}");
    let report = desk.read("r.html");
    assert!(report.contains("spdy: 1 object failed in 6 of 6 loads"), "the report says the same");
}

#[test]
fn run_and_report_answer_as_load_does() {
    let desk = Desk::new();
    desk.put("e.toml", crate::common::experiment(6));
    let out = desk.farlink("run e.toml --set network.rtt=100ms").ok();
    let sentences: Vec<&str> =
        out.lines().take_while(|line| !line.contains("median PLT")).map(str::trim).collect();
    assert!(sentences.len() >= 3 && sentences[1].starts_with("Load time: "), "{out}");
    desk.farlink("report -o r.html").ok();
    desk.farlink("export --csv v.csv").ok();
    let report = desk.read("r.html");
    for sentence in sentences {
        assert!(report.contains(&sentence.replace('\'', "&#39;")), "{sentence}");
    }
    let csv = desk.read("v.csv");
    let columns: Vec<&str> = csv.lines().next().unwrap().split(',').collect();
    for column in ["model_first_render_ns", "model_byte_index_ns", "first_contentful_paint_ns"] {
        assert!(columns.contains(&column), "{column}");
    }
    let sql =
        "SELECT count(*) FROM visit WHERE model_first_render_ns > 0 AND model_byte_index_ns > 0";
    let known: i64 = desk.sqlite("farlink.sqlite").query_row(sql, [], |row| row.get(0)).unwrap();
    assert_eq!(known, 12, "of every visit");
}
