//! `farlink replay` and `farlink shell --replay`: the servers of a recording, answering again.

#![expect(clippy::disallowed_methods, reason = "processes run and end in the machine's own time")]

use crate::common::{Desk, Ran, has_emulated_chromium};
use serde_json::{Value, json};

const NETWORK: &str = "rtt=40ms,down=10mbit,up=5mbit,queue=100pkt";

/// A style sheet that gzip makes much smaller.
fn sheet() -> String {
    (0..500).map(|number| format!(".c{number} {{ margin: {number}px }}\n")).collect()
}

fn entry(method: &str, url: &str, protocol: &str, media_type: &str, body: &str) -> Value {
    json!({
        "startedDateTime": "2026-01-01T00:00:00.000Z",
        "request": {"method": method, "url": url, "httpVersion": protocol, "headers": []},
        "response": {
            "status": 200, "httpVersion": protocol,
            "headers": [
                {"name": "content-type", "value": media_type},
                {"name": "access-control-allow-origin", "value": "*"},
            ],
            "content": {"size": body.len(), "mimeType": media_type, "text": body},
            "bodySize": body.len(), "_transferSize": body.len() + 100,
        },
        "timings": {"send": 0, "wait": 40, "receive": 1},
    })
}

/// A recording of a shop at three hosts.
fn shop() -> String {
    let document = "<!doctype html><title>Shop</title><link rel=stylesheet href=https://cdn.test/a.css>\
        <p>hello<script>fetch('https://api.test/list?_=' + Date.now() + '&r=' + Math.random());\
        fetch('https://api.test/order', {method: 'POST', body: 'n=' + Math.random()})</script>";
    let mut sheet = entry("GET", "https://cdn.test/a.css", "h2", "text/css", &sheet());
    sheet["response"]["headers"].as_array_mut().unwrap().extend([
        json!({"name": "content-encoding", "value": "gzip"}),
        json!({"name": "cache-control", "value": "max-age=60"}),
    ]);
    sheet["response"]["bodySize"] = 2_000.into();
    let mut order = entry("POST", "https://api.test/order", "http/1.1", "text/plain", "thanks");
    order["request"]["postData"] = json!({"text": "n=0.5"});
    let entries = [
        entry("GET", "https://shop.test/", "h2", "text/html", document),
        sheet,
        entry("GET", "https://api.test/list?_=1700000000&r=0.1", "http/1.1", "text/plain", "1, 2"),
        order,
        entry("GET", "http://plain.test:8080/x", "http/1.1", "text/plain", "in the clear"),
        entry("GET", "https://shop.test/favicon.ico", "h2", "image/x-icon", ""),
    ];
    json!({"log": {"entries": entries}}).to_string()
}

#[test]
fn what_cannot_be_replayed_is_refused_first() {
    let desk = Desk::new();
    desk.put("shop.har", shop());
    let local = json!({"log": {"entries": [entry("GET", "http://127.0.0.1:8000/", "http/1.1", "text/html", "")]}});
    desk.put("local.har", local.to_string());
    desk.put("none.har", json!({"log": {"entries": []}}).to_string());
    desk.put("a.txt", "hello");
    let refused = |arguments: &str, parts: &[&str]| desk.farlink(arguments).refused(parts);
    let network = format!("--network {NETWORK}");
    refused(&format!("replay gone.har {network}"), &["gone.har", "No such file"]);
    refused(
        &format!("replay a.txt {network}"),
        &["a.txt: neither a WACZ nor a WARC nor a HAR file", "farlink record"],
    );
    refused(&format!("replay none.har {network}"), &["none.har: the HAR has no entries"]);
    let local = ["requests to 127.0.0.1", "--connect-to"];
    refused(&format!("replay local.har {network}"), &local);
    refused(&format!("shell --replay local.har {network} -- true"), &local);
    refused(
        &format!("replay shop.har {network} --protocol spdy"),
        &["Chromium has not spoken SPDY"],
    );
    refused(
        &format!("replay shop.har {network} --protocol h4"),
        &["`h4` is none of recorded, h1, h2"],
    );
    refused("replay shop.har --network 3g-fats", &["did you mean `3g-fast`?"]);
    refused(&format!("shell {network} --replay-protocol h1 -- true"), &["--replay <RECORDING>"]);
    refused(
        &format!("shell {network} --think none -- true"),
        &["are for a replay", "--replay FILE"],
    );
    let nowhere = format!("replay shop.har {network} --proof no/where.json");
    refused(&nowhere, &["no such directory: no"]);
}

#[test]
fn proxies_that_have_no_place_there_are_refused() {
    let desk = Desk::new();
    desk.put("shop.har", shop());
    let refused = |config: &str, options: &str, parts: &[&str]| {
        desk.put("proxy.toml", config);
        let arguments = format!("replay shop.har --network {NETWORK} --proxy proxy.toml {options}");
        desk.farlink(&arguments).refused(parts);
    };
    refused("[cash]\n", "", &["proxy.toml:1", "unknown field `cash`"]);
    refused(
        "[upstream]\nparent = \"http://10.0.0.9:3128\"\n",
        "",
        &[
            "upstream.parent is not for a proxy in the emulated network",
            "leave upstream.parent out",
        ],
    );
    refused("", "--proxy-cache primed", &["proxy.toml has no [cache]", "memory = \"256MiB\""]);
    refused("", "--proxy-rtt 90s", &["--proxy-rtt", "is not a round trip from 0ms to 60s"]);
    desk.farlink(&format!("shell --network {NETWORK} --proxy-rtt 9ms -- true"))
        .refused(&["are for a replay", "--replay FILE"]);
}

/// Tests in real time.
mod real_time {
    use super::*;

    /// True if the machine can emulate and has curl.
    fn possible(desk: &Desk) -> bool {
        let ran = desk.farlink(&format!("shell --network {NETWORK} -- curl --version"));
        let possible = ran.code == 0;
        assert!(possible || std::env::var("CI").as_deref() != Ok("true"), "{}", ran.err);
        if !possible {
            println!("skipped: no emulation or no curl here: {}", ran.err);
        }
        possible
    }

    /// A script of sh in a replay of the shop, and its account.
    fn replayed(desk: &Desk, options: &str, script: &str) -> (Ran, Value) {
        desk.put("shop.har", shop());
        let shell =
            format!("shell --network {NETWORK} --replay shop.har --log log.json {options} --");
        let arguments: Vec<&str> = shell.split_whitespace().chain(["sh", "-c", script]).collect();
        let ran = desk.run(&arguments);
        assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
        let account: Value = serde_json::from_str(&desk.read("log.json")).unwrap();
        (ran, account["replay"].clone())
    }

    /// curl finds it in its environment.
    #[test]
    fn a_proxy_stands_in_front_of_the_servers() {
        let desk = Desk::new();
        if !possible(&desk) {
            return;
        }
        desk.put("proxy.toml", "[cache]\nmemory = \"8MiB\"\n[compression]\n");
        let script = "set -e; for url in https://cdn.test/a.css https://shop.test/; do
            curl -sS --compressed -D head -o body -w '%{http_version} ' $url; tail -c 9 body
            grep -i ^cache-status: head | tail -n 1; done
            curl -sS -o /dev/null -w '%{time_starttransfer}\\n' --noproxy '*' https://shop.test/";
        for (cache, status, asked) in [("primed", "hit", 2), ("cold", "fwd=uri-miss; stored", 3)] {
            let options = format!("--proxy proxy.toml --proxy-cache {cache} --proxy-rtt 200ms");
            let (ran, journal) = replayed(&desk, &options, script);
            let lines: Vec<&str> = ran.out.lines().map(str::trim_end).collect();
            assert_eq!(lines[0], "2  499px }", "{}", ran.err);
            assert!(lines[1].contains(&format!("farlink; {status}")), "{}", ran.out);
            assert!(lines[2].starts_with("2 </script>"), "{}", ran.out);
            // Without it, the servers are behind the same way: a name (40 ms), two handshakes and a request (240 ms each).
            let direct: f64 = lines.last().unwrap().parse().unwrap();
            assert!((0.75..2.0).contains(&direct), "{direct}");
            // What the proxy fetched before is not counted.
            assert_eq!((&journal["exact"], &journal["missing"]), (&asked.into(), &0.into()));
        }
    }

    #[test]
    fn a_recordings_hosts_answer_others_programs() {
        let desk = Desk::new();
        if !possible(&desk) {
            return;
        }
        let script =
            "set -e; get() { curl -sS -o body -w '%{http_version} ' $@; tail -c 9 body; echo; }
            get https://shop.test/; get --compressed https://cdn.test/a.css
            get 'https://api.test/list?_=99&r=2'; get -d n=0.7 https://api.test/order
            get http://plain.test:8080/x; get https://shop.test/other
            curl -sS https://unknown.test/ 2>/dev/null || echo no such name";
        for (protocol, best) in [("recorded", "2"), ("h1", "1.1")] {
            let (ran, journal) = replayed(&desk, &format!("--replay-protocol {protocol}"), script);
            let expected = [
                &format!("{best} </script>"),
                &format!("{best}  499px }}"),
                "",
                "1.1 1, 2",
                "1.1 thanks",
                "1.1 the clear",
                &format!("{best} ecorded."),
                "",
                "no such name",
            ];
            assert_eq!(ran.out.lines().collect::<Vec<_>>(), expected, "{protocol}");
            assert_eq!(
                (&journal["exact"], &journal["inexact"], &journal["missing"]),
                (&3.into(), &2.into(), &1.into())
            );
            let listed = journal["listed"].to_string();
            for part in ["other-query", "other-body", "GET https://shop.test/other", "unknown.test"]
            {
                assert!(listed.contains(part), "{listed}");
            }
            assert!(ran.err.contains("missing: GET https://shop.test/other"), "{}", ran.err);
        }
    }

    #[test]
    fn a_document_is_made_repeatable_on_request() {
        let desk = Desk::new();
        if !possible(&desk) {
            return;
        }
        let (ran, _) =
            replayed(&desk, "--deterministic --names hosts", "curl -sS https://shop.test/");
        assert!(ran.out.starts_with("<!doctype html><script>(()=>{"), "{}", ran.out);
        assert!(
            ran.out.contains("Math.random=") && ran.out.contains("1767225600000"),
            "{}",
            ran.out
        );
    }

    #[test]
    fn a_recording_is_replayed_over_each_protocol() {
        let desk = Desk::new();
        if !has_emulated_chromium(&desk) {
            return;
        }
        desk.put("shop.har", shop());
        let ran =
            desk.farlink(&format!("replay shop.har --network {NETWORK} -n 1 --proof proof.json"));
        assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
        let proof: Value = serde_json::from_str(&desk.read("proof.json")).unwrap();
        let loads = proof["loads"].as_array().unwrap();
        let protocols: Vec<&Value> = loads.iter().map(|load| &load["protocol"]).collect();
        assert_eq!(protocols, ["h1", "h2", "h3"]);
        for load in loads {
            assert!(load["loaded_ns"].as_u64().unwrap() > 100_000_000, "{load}");
            assert_eq!(load["compared_bodies"], load["identical_bodies"], "{load}");
            let journal = &load["account"]["replay"];
            assert_eq!(
                (&journal["missing"], &journal["inexact"]),
                (&0.into(), &2.into()),
                "{journal}"
            );
            assert!(load["account"]["links"].as_array().unwrap().len() == 2, "{load}");
        }
        for part in ["https://shop.test/ over", "other-query: GET https://api.test/list?_="] {
            assert!(format!("{}{}", ran.out, ran.err).contains(part), "{}{}", ran.out, ran.err);
        }
        let fixed = desk.farlink(&format!(
            "replay shop.har --network {NETWORK} -n 1 --protocol h2 --deterministic --think none --proof p.json"
        ));
        assert_eq!(fixed.code, 0, "{}", fixed.err);
        // The date is that of the recording, the random number the generator's first.
        let listed = desk.read("p.json");
        assert!(listed.contains("list?_=17672256"), "{listed}");
        assert!(listed.contains("&r=0.6011037519201636"), "{listed}");
    }
}
