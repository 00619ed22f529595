//! Windows and settings of HTTP/2 and SPDY (`--multiplexing`): their effect on a load, from the command line.

use crate::common::Desk;
use serde_json::Value;

/// Six objects of 100 KB over a long path with ample bandwidth.
const LOAD: &str = "load synthetic:6x100KB --network rtt=600ms,down=50mbit,up=50mbit,queue=2000pkt \
                    --tls none --device zero --no-noise -n 1 --json";

fn visit(desk: &Desk, arguments: &str) -> Value {
    let out = desk.farlink(&format!("{LOAD} {arguments}")).ok();
    serde_json::from_str(&out).expect("one visit, one line")
}

fn plt_ms(desk: &Desk, arguments: &str) -> f64 {
    let visit = visit(desk, arguments);
    visit["plt_ms"].as_f64().unwrap_or_else(|| panic!("{visit}"))
}

/// 600 KB in windows of 64 KiB, one per round trip: ten of them, while Chrome's window costs only slow start.
#[test]
fn a_connections_window_lets_so_much_through_in_a_round_trip() {
    let desk = Desk::new();
    for protocol in ["h2", "spdy"] {
        let usual = plt_ms(&desk, &format!("--protocol {protocol}"));
        let narrow = format!("--protocol {protocol} --multiplexing connection-window=64KiB");
        let narrow = plt_ms(&desk, &narrow);
        // The handshake, the page, and then 600 KB: 14 KB in the first round trip and twice as much in each that
        // follows, or at most 64 KiB.
        assert!(usual < 8.5 * 600.0, "{protocol}: {usual} ms");
        assert!(narrow > 10.0 * 600.0, "{protocol}: {narrow} ms, {usual} ms as Chrome has it");
        let fewer = plt_ms(&desk, &format!("--protocol {protocol} --multiplexing streams=1"));
        assert!(fewer > usual + 2.0 * 600.0, "{protocol}, one request at a time: {fewer} ms");
        let stream = format!("--protocol {protocol} --multiplexing stream-window=16KiB");
        let stream = plt_ms(&desk, &stream);
        assert!(stream > 6.0 * 600.0, "{protocol}, 100 KB of 16 KiB a round trip: {stream} ms");
    }
}

/// Size of requests uncompressed, or with an empty dynamic table, compared with their normal size.
#[test]
fn heads_cost_more_where_nothing_is_remembered() {
    let desk = Desk::new();
    let heads = |arguments: &str| {
        let page = "load synthetic:60x1KB --network cable --tls none -n 1 --har out.har";
        desk.farlink(&format!("{page} {arguments}")).ok();
        let har: Value = serde_json::from_str(&desk.read("out.har")).unwrap();
        let entries = har["log"]["entries"].as_array().unwrap();
        let sizes =
            entries.iter().map(|entry| entry["request"]["_headersTransferSize"].as_u64().unwrap());
        sizes.sum::<u64>()
    };
    let (zlib, stored) =
        (heads("--protocol spdy"), heads("--protocol spdy --multiplexing header-compression=off"));
    assert!(stored > 4 * zlib, "{stored} bytes of heads, {zlib} compressed");
    let (usual, forgetful) =
        (heads("--protocol h2"), heads("--protocol h2 --multiplexing header-table=0B"));
    assert!(2 * forgetful > 3 * usual, "{forgetful} bytes of heads, {usual} with a table");
}

#[test]
fn what_an_arm_cannot_be_set_to_is_refused() {
    let desk = Desk::new();
    let refuses = |arguments: &str, parts: &[&str]| {
        desk.farlink(&format!("{LOAD} {arguments}")).refused(parts);
    };
    refuses(
        "--protocol h1 --multiplexing streams=1",
        &["changes nothing", "the protocol h2 or spdy"],
    );
    refuses("--protocol h2 --multiplexing upgrade=on", &["--multiplexing", "prior knowledge"]);
    refuses("--protocol spdy/2 --multiplexing stream-window=1MB", &["no flow control"]);
    desk.put(
        "e.toml",
        "format = 1\nname = \"windows\"\nrepetitions = 1\n[page]\nname = \"synthetic:1x1KB\"\n[network]\nbase = \"4g\"\n\
         [stack]\nprotocol = [\"h1\"]\nmultiplexing = \"streams=1\"\n",
    );
    desk.farlink("run e.toml").refused(&["e.toml:10", "`stack.multiplexing`: it changes nothing"]);
}
