//! `farlink link test`: every link behaves as configured, and the proof shows it.

use crate::common::Desk;
use serde_json::Value;

/// The findings of the test of `network`, which must agree.
#[track_caller]
fn agrees(desk: &Desk, network: &str) -> Value {
    let ran = desk.run(&["link", "test", network, "--json"]);
    assert_eq!(ran.code, 0, "{network}: {}{}", ran.out, ran.err);
    let found: Value = serde_json::from_str(&ran.out).expect("JSON");
    assert_eq!(found["agrees"], true, "{network}: {found}");
    found
}

/// Settings beside a round trip of 40 ms and 5 Mbit/s up.
const FEATURES: [&str; 28] = [
    "down=10mbit",
    "down=unlimited",
    "down=10kbit",
    "down=10mbit,queue=1pkt",
    "down=10mbit,queue=3000B,mtu=576",
    "down=10mbit,loss=30%",
    "down=10mbit,gemodel=1% 20%",
    "down=10mbit,gemodel=0.1% 2% 80%",
    "down=10mbit,gemodel=0.1% 0.2%",
    "down=10mbit,gemodel-time=2s 80ms",
    "down=10mbit,gemodel-time=20s 10s 90% 1%",
    "down=10mbit,loss_file=losses.txt",
    "down=10mbit,duplicate=5%,loss=5%",
    "down=10mbit,jitter=5ms",
    "down=10mbit,jitter=30ms normal",
    "down=10mbit,jitter=60ms,reorder=jitter",
    "down=10mbit,jitter=300ms",
    "down=10mbit,reorder=10%",
    "down=10mbit,aqm=drophead",
    "down=10mbit,aqm=codel",
    "down=10mbit,aqm=fq_codel",
    "down=10mbit,aqm=pie",
    "down=10mbit,emulator=dummynet,loss=1%",
    "down=10mbit,emulator=dummynet,timer=100ms",
    "down=10mbit,emulator=dummynet,tick=10ms",
    "down=10mbit,emulator=netem,loss=1%",
    "down=100mbit,emulator=netem,queue=10pkt",
    "down=lte:10mhz/cqi12,radio=lte",
];

#[test]
fn each_feature_does_what_it_was_told() {
    let desk = Desk::new();
    desk.put("losses.txt", "3 7 100-200\n1s-1100ms\n");
    for feature in FEATURES {
        agrees(&desk, &format!("rtt=40ms,up=5mbit,{feature}"));
    }
}

#[test]
fn each_profile_does_what_it_was_told() {
    let desk = Desk::new();
    let out = desk.farlink("networks list").ok();
    let rows = out.lines().skip(1).take_while(|line| !line.is_empty());
    let names: Vec<&str> = rows.filter_map(|row| row.split(' ').next()).collect();
    assert!(names.len() >= 45, "{names:?}");
    for name in names {
        agrees(&desk, name);
    }
}

#[test]
fn a_ping_goes_through_the_radio() {
    let desk = Desk::new();
    let found = agrees(&desk, "kallio2016-cell-25prb");
    assert_eq!(found["radio"], "radio=lte");
    let mean = |ping: &str| found[ping]["mean_ns"].as_f64().expect("pings come back") / 1e6;
    assert!((8.0..8.5).contains(&mean("ping")), "{found}");
    // "a ping finds about 23 ms" (the profile's note); from idle the promotion is added.
    assert!((22.0..24.0).contains(&mean("radio_ping_awake")), "{found}");
    assert!((268.0..310.0).contains(&mean("radio_ping_from_rest")), "{found}");
    let out = desk.farlink("link test kallio2016-cell-25prb").ok();
    assert!(out.contains("ping through the radio, active"), "{out}");
    assert!(out.contains("note: radio=lte affects only the pings through it"), "{out}");
    let bare = agrees(&desk, "3g");
    assert!(bare["radio"].is_null() && bare["radio_ping_awake"].is_null(), "{bare}");
}

#[test]
fn all_hops_are_tested() {
    let hops = "rtt=40ms,down=10mbit,up=5mbit,hop.1.rtt=20ms,hop.1.down.rate=4mbit,hop.1.loss=1%";
    let found = agrees(&Desk::new(), hops);
    let ping = found["ping"]["configured_ns"].as_u64().unwrap();
    assert!((60_000_000..61_000_000).contains(&ping), "{found}");
    let down = &found["down"]["configured_bits_per_second"];
    assert_eq!(down, 4_000_000, "the bottleneck comes first, the loss too: {found}");
    let up = found["up"]["configured_bits_per_second"].as_u64().unwrap();
    assert_eq!(up, 4_950_000, "what the second hop loses has taken the first one's rate: {found}");
    let loss = found["down"]["configured_loss"].as_f64().unwrap();
    assert!((loss - 0.01).abs() < 1e-9, "{found}");
}

#[test]
fn a_recorded_rate_is_compared_over_the_time_of_the_test() {
    let desk = Desk::new();
    desk.put("steps.txt", "0 3\n5 1\n9 6\n12 0\n14 2\n");
    let mut instants: Vec<u64> = (1..2000).map(|n| n * 7 + (n % 13) * (n % 3)).collect();
    instants.sort_unstable();
    let lines: Vec<String> = instants.iter().map(u64::to_string).collect();
    desk.put("walk.txt", lines.join("\n"));
    for trace in ["steps.txt", "steps.txt once", "walk.txt", "walk.txt once"] {
        let found = agrees(&desk, &format!("rtt=40ms,up=5mbit,down.trace={trace}"));
        let down = |what: &str| found["down"][what].as_f64().unwrap();
        let ratio = down("delivered_bits_per_second") / down("configured_bits_per_second");
        assert!((ratio - 1.0).abs() < 0.01, "{trace}: {found}");
    }
    let behind = "rtt=40ms,down=2mbit,up=5mbit,hop.1.down.trace=steps.txt";
    agrees(&desk, behind);
    let ran = desk.run(&["link", "test", behind]);
    assert!(ran.out.contains("at most 2 Mbit/s"), "{}", ran.out);
}

#[test]
fn a_link_that_never_moves_is_tested_to_its_end() {
    let desk = Desk::new();
    desk.put("zero.txt", "0 0\n1 0\n");
    let out = desk.farlink("link test rtt=40ms,up=5mbit,down.trace=zero.txt").ok();
    assert!(out.contains("no answer") && out.contains("all after the trace ends"), "{out}");
}

/// The example of `docs/networks.md` is the command's output; the effect of TCP on the link is not compared.
#[test]
fn the_documentation_shows_what_is_printed() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/networks.md");
    let document = std::fs::read_to_string(path).unwrap();
    let shown = document
        .split_once("$ farlink link test ")
        .and_then(|(_, rest)| rest.split_once("\n```"))
        .and_then(|(shown, _)| shown.split_once('\n'));
    let (network, output) = shown.expect("an example in a fence");
    let out = Desk::new().run(&["link", "test", network]).ok();
    let trimmed = |text: &str| {
        let judged = text.lines().filter(|line| !line.starts_with("one TCP flow"));
        judged.map(|line| line.trim_end().to_owned()).collect::<Vec<_>>().join("\n")
    };
    assert_eq!(trimmed(output), trimmed(out.trim_end()));
}
