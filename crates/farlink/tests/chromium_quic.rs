//! A real Chromium over HTTP/3 in the emulated world: every request uses it, by its own protocol field, and the
//! servers' ends of its connections are QUIC's.

mod common;

/// Real-time tests, which need an idle machine.
mod real_time {
    use serde_json::Value;

    use crate::common::Desk;

    /// Returns true if this machine can emulate and has a Chromium.
    fn possible(desk: &Desk) -> bool {
        let namespaces = emu::diagnosis::missing(None).is_empty();
        let doctor = desk.farlink("doctor").out;
        let chromium = doctor.lines().any(|line| line.contains("Chromium 1"));
        if !(namespaces && chromium) {
            println!("skipped: no namespaces or no Chromium here (farlink doctor says why)");
        }
        namespaces && chromium
    }

    #[test]
    fn chromium_speaks_http3_to_farlinks_servers() {
        let desk = Desk::new();
        if !possible(&desk) {
            return;
        }
        let load = "load synthetic:10x10KB@2hosts --network rtt=40ms,down=20mbit,up=20mbit --world emu --client chromium -n 1 --no-nuisance --json";
        let out =
            desk.farlink(&format!("{load} --protocol h3 --har c.har --trace tcp=t.jsonl")).ok();
        let visit: Value = serde_json::from_str(out.trim()).unwrap();
        assert_eq!(visit["failure"], Value::Null);
        let har: Value = serde_json::from_str(&desk.read("c.har")).unwrap();
        let entries = har["log"]["entries"].as_array().unwrap();
        assert_eq!(entries.len(), 11);
        for entry in entries {
            assert_eq!(entry["response"]["httpVersion"], "HTTP/3", "{entry}");
        }
        assert_eq!(visit["connections"], 2);
    }
}
