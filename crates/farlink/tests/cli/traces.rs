//! `farlink load --pcap` and `--trace`: the files' contents, and that observation changes nothing.

use crate::common::{Desk, json_lines, refuses, report_rows};
use serde_json::Value;

const LOAD: &str =
    "load synthetic:12x20KB --network rtt=80ms,down=8mbit,up=2mbit,loss=3% -n 3 --json";

fn of<'a>(lines: &'a [Value], event: &str) -> Vec<&'a Value> {
    lines.iter().filter(|line| line["event"] == event).collect()
}

#[test]
fn a_trace_tells_what_the_visit_counted() {
    let desk = Desk::new();
    let out = desk.farlink(&format!("{LOAD} --protocol h1 --trace tcp=t.jsonl")).ok();
    let trace = json_lines(&desk.read("t.jsonl"));
    let heading = &trace[0];
    assert_eq!(heading["format"], "farlink tcp trace");
    assert_eq!(heading["version"], 1);
    let visits = json_lines(&out);
    let visit = visits.iter().find(|visit| visit["seed"] == heading["seed"]).unwrap();
    assert_eq!(of(&trace, "connection").len() as u64, visit["connections"].as_u64().unwrap());
    let again = of(&trace, "retransmit");
    assert!(!again.is_empty(), "the network is a lossy one");
    assert_eq!(again.len() as u64, visit["retransmits"].as_u64().unwrap());
    assert!(again.iter().any(|sent| sent["spurious"] == false), "{again:?}");

    let samples = of(&trace, "sample");
    assert!(samples.is_sorted_by_key(|sample| sample["at_ns"].as_u64()));
    for sample in &samples {
        assert!(sample["cwnd"].as_u64().unwrap() >= 1);
        let [unsent, unacked, in_flight] = ["unsent_bytes", "unacked_bytes", "in_flight_bytes"]
            .map(|key| sample[key].as_u64().unwrap());
        assert_eq!(unsent + in_flight, unacked, "{sample}");
    }
    for trigger in ["segment", "write"] {
        assert!(samples.iter().any(|sample| sample["trigger"] == trigger), "{trigger}");
    }
}

/// Responses larger than window and low-water mark together.
const LARGE: &str = "load synthetic:3x200KB --network rtt=80ms,down=8mbit,up=2mbit -n 1 --json";

#[test]
fn a_trace_tells_what_lies_above_the_sockets() {
    for protocol in ["h1", "h2"] {
        let desk = Desk::new();
        desk.farlink(&format!("{LARGE} --protocol {protocol} --trace tcp=t.jsonl")).ok();
        let trace = json_lines(&desk.read("t.jsonl"));
        let held = of(&trace, "held");
        assert!(held.is_sorted_by_key(|held| held["at_ns"].as_u64()));
        let most = held
            .iter()
            .filter(|held| held["end"] == "server")
            .filter_map(|held| held["application_bytes"].as_u64())
            .max();
        assert!(most > Some(100_000), "{protocol}: {most:?} of a response in the application");
    }
}

#[test]
fn the_documented_keys_are_those_written() {
    let desk = Desk::new();
    // Small objects and loss show retransmissions, large ones the layers above the sockets.
    documented(&desk, LOAD, &["connection", "sample", "retransmit"]);
    documented(&desk, LARGE, &["held"]);
}

#[track_caller]
fn documented(desk: &Desk, load: &str, events: &[&str]) {
    desk.farlink(&format!("{load} --protocol h1 --trace tcp")).ok();
    let document =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/traces.md"))
            .unwrap();
    let trace = json_lines(&desk.read("tcp.jsonl"));
    for event in events {
        assert!(!of(&trace, event).is_empty(), "{load}: no {event}");
        assert!(document.contains(&format!("**`{event}`**")), "docs/traces.md has no {event}");
    }
    for line in trace {
        for key in line.as_object().unwrap().keys() {
            assert!(
                document.contains(&format!("`{key}`")),
                "docs/traces.md does not tell of {key}"
            );
        }
    }
}

#[test]
fn captures_are_the_same_each_time_and_one_for_each_arm() {
    let write = || {
        let desk = Desk::new();
        let ran = desk.farlink(&format!("{LOAD} --pcap out.pcapng --view both"));
        assert_eq!(ran.code, 0, "{}", ran.err);
        desk
    };
    let (one, other) = (write(), write());
    let names = one.names();
    let arms = ["h1-cold", "h1-warm", "h2-cold", "h2-warm"];
    let expected =
        arms.map(|arm| [format!("out.{arm}.pcapng"), format!("out.{arm}.servers.pcapng")]);
    assert_eq!(names, expected.concat());
    for name in names {
        let bytes = |desk: &Desk| std::fs::read(desk.path(&name)).unwrap();
        assert_eq!(bytes(&one)[..4], [0x0a, 0x0d, 0x0d, 0x0a], "{name} is a pcapng file");
        assert!(bytes(&one) == bytes(&other), "{name} differs from run to run");
    }
}

#[test]
fn watching_changes_nothing() {
    let desk = Desk::new();
    let plain = desk.farlink(LOAD).ok();
    assert_eq!(desk.farlink(&format!("{LOAD} --pcap a.pcapng --trace tcp=a.jsonl")).ok(), plain);
}

/// The records of a JSON text sequence (RFC 7464).
fn records(text: &str) -> Vec<Value> {
    let mut parts = text.split('\u{1e}');
    assert_eq!(parts.next(), Some(""), "a sequence begins with a record separator");
    let record = |part: &str| {
        assert!(part.ends_with('\n') && part.matches('\n').count() == 1, "{part:?}");
        serde_json::from_str(part).expect("a record is JSON")
    };
    parts.map(record).collect()
}

#[test]
fn qlog_tells_both_ends_of_each_quic_connection() {
    let desk = Desk::new();
    let load = format!("{LOAD} --protocol h3 --trace qlog=q.sqlog");
    let out = desk.farlink(&load).ok();
    assert!(
        json_lines(&out).iter().any(|line| line["retransmits"] != 0),
        "the network is a lossy one"
    );
    let names = ["q.0.client.sqlog", "q.0.server.sqlog"];
    assert_eq!(desk.names(), names);
    let mut counts = [[0; 2]; 2];
    for ((name, end), [sent, received]) in
        names.into_iter().zip(["client", "server"]).zip(&mut counts)
    {
        let records = records(&desk.read(name));
        let (heading, events) = records.split_first().unwrap();
        assert_eq!(
            (&heading["qlog_version"], &heading["qlog_format"]),
            (&"0.3".into(), &"JSON-SEQ".into())
        );
        assert_eq!(heading["trace"]["vantage_point"]["type"], end);
        assert_eq!(heading["trace"]["common_fields"]["time_format"], "relative");
        assert!(events.is_sorted_by_key(|event| (event["time"].as_f64().unwrap() * 1e3) as u64));
        for event in events {
            let data = &event["data"];
            match event["name"].as_str().unwrap() {
                "transport:packet_sent" => *sent += 1,
                "transport:packet_received" => *received += 1,
                "recovery:packet_lost" => {}
                "recovery:metrics_updated" => {
                    if let Some(rtt) = data["smoothed_rtt"].as_f64() {
                        assert!((80.0..=500.0).contains(&rtt), "milliseconds: {event}");
                    }
                    continue;
                }
                other => panic!("not in the schema: {other}"),
            }
            let kinds = ["initial", "handshake", "0RTT", "1RTT"];
            let kind = data["header"]["packet_type"].as_str().unwrap();
            assert!(kinds.contains(&kind), "{event}");
        }
        assert!(
            events.iter().any(|event| event["name"] == "recovery:packet_lost") || end == "client",
            "the server loses packets"
        );
    }
    let [[from_client, to_client], [from_server, to_server]] = counts;
    assert!(from_client >= to_server && from_server > to_client, "{counts:?}");
    let [one, other] =
        names.map(|name| records(&desk.read(name))[0]["trace"]["common_fields"].clone());
    assert_eq!(one, other, "both ends are one group");
    assert_eq!(desk.farlink(&load).ok(), out);
}

#[test]
fn qlog_tells_both_ends_of_each_tcp_connection() {
    let desk = Desk::new();
    let load = format!("{LOAD} --protocol h2 --trace qlog=q.sqlog");
    let out = desk.farlink(&load).ok();
    assert_eq!(desk.names(), ["q.0.client.sqlog", "q.0.server.sqlog"]);
    let records = records(&desk.read("q.0.server.sqlog"));
    let (heading, events) = records.split_first().unwrap();
    assert_eq!(heading["trace"]["common_fields"]["protocol_type"][0], "TCP");
    assert!(events.is_sorted_by_key(|event| (event["time"].as_f64().unwrap() * 1e6) as u64));
    let named = |name: &str| events.iter().filter(|event| event["name"] == name).count();
    assert_eq!(named("connectivity:connection_started"), 1);
    // The file is of the median load, and of the server alone.
    let most = json_lines(&out).iter().map(|line| line["retransmits"].as_u64().unwrap()).max();
    let lost = named("recovery:packet_lost") as u64;
    assert!(lost > 0 && Some(lost) <= most, "{lost} {most:?}");
    assert!(named("transport:packet_sent") > 20 && named("transport:packet_received") > 10);
    let windows = events.iter().filter_map(|event| event["data"]["congestion_window"].as_u64());
    let windows: Vec<u64> = windows.collect();
    assert_eq!(windows[0], 10 * 1448, "bytes");
    assert!(windows.iter().any(|window| *window > 20 * 1448), "slow start: {windows:?}");
    let trips = events.iter().filter_map(|event| event["data"]["smoothed_rtt"].as_f64());
    assert!(trips.clone().all(|ms| (80.0..=500.0).contains(&ms)), "milliseconds");
    assert!(trips.count() > 10);
    assert_eq!(desk.farlink(&load).ok(), out);
}

#[test]
fn what_arrives_is_the_same_over_every_protocol() {
    let desk = Desk::new();
    desk.farlink(&format!("{LOAD} --protocol h1,h2,spdy,h3 --trace bodies --trace tcp")).ok();
    let tables =
        ["h1", "h2", "spdy", "h3-deployed"].map(|arm| desk.read(&format!("bodies.{arm}.csv")));
    assert!(tables.iter().all(|table| *table == tables[0]));
    let digests: Vec<&str> =
        tables[0].lines().skip(1).filter_map(|line| line.rsplit(',').next()).collect();
    let different: std::collections::BTreeSet<&&str> = digests.iter().collect();
    assert_eq!((digests.len(), different.len()), (13, 13), "bodies are told apart");
}

#[test]
fn what_cannot_be_traced_is_refused_before_anything_is_loaded() {
    let refuses = |arguments: &str, parts: &[&str]| refuses(&format!("{LOAD} {arguments}"), parts);
    refuses("--trace quic=a", &["unknown trace kind `quic`", "--trace tcp=OUT.jsonl"]);
    refuses("--trace tpc", &["unknown trace kind `tpc`", "did you mean `--trace tcp"]);
    refuses("--trace tcp=a --trace tcp=b", &["`tcp` is given twice"]);
    refuses("--trace tcp=a --trace bodies=a", &["a is named by two options"]);
    refuses(
        "--trace tcp=",
        &["--trace tcp=: the file name is missing", "for example --trace tcp=OUT.jsonl"],
    );
    refuses("--pcap no/such.pcapng", &["no such directory: no"]);
    refuses("--trace tcp=.", &["is a directory"]);
    refuses("--pcap a --har a", &["a is named by two options"]);
}

#[test]
fn a_report_of_a_load_shows_what_lay_below_its_waterfalls() {
    let desk = Desk::new();
    let radio = LOAD.replace("loss=3%", "loss=3%,radio=umts");
    let out =
        desk.farlink(&format!("{radio} --protocol h1,h2 --report r.html --trace tcp=t.jsonl"));
    let visits = json_lines(&out.ok());
    let report = desk.read("r.html");
    for (index, protocol) in ["h1", "h2"].into_iter().enumerate() {
        // Report and trace are of the same load, the median of the arm.
        let trace = json_lines(&desk.read(&format!("t.{protocol}.jsonl")));
        let visit = visits
            .iter()
            .find(|visit| visit["protocol"] == protocol && visit["seed"] == trace[0]["seed"])
            .unwrap();
        let again = report_rows(&report, &format!("resent-{index}"));
        assert_eq!(again.len() as u64, visit["retransmits"].as_u64().unwrap());
        assert!(!report_rows(&report, &format!("windows-{index}")).is_empty());
        let stays = report_rows(&report, &format!("stays-{index}"));
        assert!(stays.iter().any(|stay| stay.contains("CELL_DCH")), "{stays:?}");
    }
    assert!(report.contains("farlink load synthetic:12x20KB"));
}
