//! `farlink study import` and `export`: input and output of bth2013's own programs.

use crate::common::Desk;
use serde_json::Value;

/// A case file in the study's format.
const CASE: &str = "\
PROTOCOL=SPDY
NETWORK=ALL
SSL=true
RTT_VALUES=\"50 1000\"
DW_BW_VALUES=\"650 10150\"
LOSS=0.03       # 3%, Packet Loss Rate
";

fn documents(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_case_file_becomes_an_experiment_and_its_run_documents() {
    let desk = Desk::new();
    desk.put("spdy-ssl.case", CASE);
    desk.put(
        "config.json",
        r#"{"chrome_driver_path": "d", "request_path": "en.m.wikipedia.org/"}"#,
    );
    let import = "study import bth2013-case spdy-ssl.case --config config.json";
    let imported = desk.farlink(&format!("{import} -o spdy-ssl.toml"));
    assert_eq!((imported.code, imported.out.as_str()), (0, ""), "{}", imported.err);
    assert!(imported.err.contains("left out: chrome_driver_path"), "{}", imported.err);
    assert_eq!(desk.farlink(import).ok(), desk.read("spdy-ssl.toml"));

    desk.farlink("run spdy-ssl.toml --store s.sqlite").ok();
    let lines = desk.farlink("study export bth2013-results --store s.sqlite").ok();
    let told = documents(&lines);
    let of = |key: &str| told.iter().map(|document| document[key].clone()).collect::<Vec<_>>();
    assert_eq!(of("net_dw_bw"), ["650", "10150", "650", "10150"]);
    assert_eq!(of("net_up_bw"), ["325", "5075", "325", "5075"]);
    assert_eq!(of("net_rtt"), ["50", "50", "1000", "1000"]);
    for document in &told {
        let words = ["protocol", "net_type", "net_loss"].map(|key| document[key].as_str().unwrap());
        assert_eq!(words, ["spdy", "ALL", "0.03"]);
        assert_eq!(
            (&document["ssl"], &document["deviation"]),
            (&Value::from(true), &Value::from(0))
        );
        let results = document["results"].as_array().unwrap();
        let seconds: Vec<f64> = results.iter().map(|result| result.as_f64().unwrap()).collect();
        let mean = seconds.iter().sum::<f64>() / 5.0;
        assert_eq!(seconds.len(), 5);
        assert!((document["load_time"].as_f64().unwrap() - mean).abs() < 1e-9);
        assert!(document["when"].as_u64().unwrap() > 1_700_000_000);
        // No load is faster than its round trips.
        let rtt: f64 = document["net_rtt"].as_str().unwrap().parse().unwrap();
        assert!(seconds.iter().all(|load| *load > 4.0 * rtt / 1e3), "{document}");
    }
    // The numbers are the store's own.
    let stored: f64 = desk
        .sqlite("s.sqlite")
        .query_row("select plt_ns / 1e9 from visit order by journey limit 1", [], |row| row.get(0))
        .unwrap();
    let first: Vec<f64> = serde_json::from_value(told[0]["results"].clone()).unwrap();
    assert!(first.iter().any(|load| (load - stored).abs() < 1e-9), "{stored} {first:?}");
    desk.farlink("study export bth2013-results 1 --store s.sqlite --net-type 3G -o r.json").ok();
    assert_eq!(documents(&desk.read("r.json"))[0]["net_type"], "3G");
}

#[test]
fn a_call_of_run_py_becomes_an_experiment() {
    let desk = Desk::new();
    let call =
        "study import bth2013-run -p http-pipelining -n EDGE -l 0.03 -u 64 -d 240 -r 150 -t 2 -v";
    desk.put("call.toml", desk.farlink(call).ok());
    desk.farlink("run call.toml --store s.sqlite").ok();
    let told = documents(&desk.farlink("study export bth2013-results --store s.sqlite").ok());
    let [document] = &told[..] else { panic!("{told:?}") };
    let words = ["protocol", "net_type", "net_up_bw", "net_dw_bw", "net_rtt"];
    let words = words.map(|key| document[key].as_str().unwrap());
    assert_eq!(words, ["http-pipelining", "EDGE", "64", "240", "150"]);
    assert_eq!(
        (&document["ssl"], document["results"].as_array().unwrap().len()),
        (&Value::from(false), 2)
    );
}

#[test]
fn what_cannot_be_read_or_told_is_refused() {
    let desk = Desk::new();
    desk.put("good.case", CASE);
    desk.put("bad.case", CASE.replace("\"50 1000\"", "\"$(seq 50 50 1000)\""));
    desk.put("other.json", r#"{"request_path": "a.test/"}"#);
    let import = |rest: &str| desk.farlink(&format!("study import bth2013-case {rest}"));
    import("bad.case").refused(&["bad.case:4: RTT_VALUES: `$` is a shell's to expand"]);
    import("none.case").refused(&["cannot read none.case"]);
    import("good.case --config other.json").refused(&["request_path", "--page PAGE"]);
    let page = import("good.case --config other.json --page synthetic:1x1KB").ok();
    assert!(page.contains("name = \"synthetic:1x1KB\""), "{page}");
    let call = "study import bth2013-run -p spdy -n 3G -l 3 -u 64 -d 240 -r 150";
    desk.farlink(call).refused(&["run.py -l: `3` is no share"]);
    desk.put(
        "h2.toml",
        "format = 1\nname = \"other, 3G\"\nrepetitions = 1\npage.name = \"synthetic:1x1KB\"\nnetwork.base = \"cable\"\nstack.protocol = \"h2\"\n",
    );
    desk.farlink("run h2.toml --store s.sqlite").ok();
    let export = "study export bth2013-results --store s.sqlite";
    desk.farlink(export).refused(&["cell 0 of run 1", "`h2` is neither h1, h1-pipelined nor spdy"]);
    desk.farlink("run h2.toml --store t.sqlite --set name=other --set stack.protocol=h1").ok();
    let export = "study export bth2013-results --store t.sqlite";
    desk.farlink(export).refused(&["EDGE, 3G, 4G or ALL", "--net-type 3G"]);
}
