//! A real Chromium in the emulated world: over HTTP/3; and through a proxy, in clear text and over TLS, by HTTP/1.1 and
//! HTTP/2, in tunnels, by a PAC file, past a cache.

/// Real-time tests, which need an idle machine.
mod real_time {
    use std::collections::BTreeSet;

    use serde_json::Value;

    use crate::common::{Desk, has_emulated_chromium};

    const LOAD: &str = "load synthetic:10x10KB@2hosts --network rtt=40ms,down=20mbit,up=20mbit --world emu --client chromium -n 1 --no-noise --json";
    const OBJECTS: usize = 11;

    /// Loads the page; returns its PLT and the number of connections for its objects. All came by `version`.
    /// `None`, visibly, on a machine that is late in every attempt: without precedence for the emulator, a browser
    /// takes all the CPU it needs.
    #[track_caller]
    fn load(desk: &Desk, arguments: &str, version: &str) -> Option<(f64, usize)> {
        let ran = desk.farlink(&format!("{LOAD} {arguments} --har c.har"));
        if ran.out.contains("was not on time in") {
            println!("skipped: too much else runs for {arguments}");
            return None;
        }
        let out = ran.ok();
        let visit: Value = serde_json::from_str(out.trim()).unwrap();
        assert_eq!(visit["failure"], Value::Null, "{arguments}");
        let har: Value = serde_json::from_str(&desk.read("c.har")).unwrap();
        let entries = har["log"]["entries"].as_array().unwrap();
        assert_eq!(entries.len(), OBJECTS, "{arguments}");
        for entry in entries {
            assert_eq!(entry["response"]["httpVersion"], version, "{arguments}: {entry}");
        }
        let connections: BTreeSet<&str> =
            entries.iter().map(|entry| entry["connection"].as_str().unwrap()).collect();
        Some((visit["plt_ms"].as_f64().unwrap(), connections.len()))
    }

    /// Counts of the servers' TCP, and retransmissions of the browser seen by the emulator; with 5 % packet loss
    /// they are not zero.
    #[test]
    fn what_a_browsers_connections_sent_again_is_counted() {
        let desk = Desk::new();
        if !has_emulated_chromium(&desk) {
            return;
        }
        let network = "rtt=40ms,down=20mbit,up=20mbit,loss=5%";
        let load = format!(
            "load synthetic:10x100KB --network {network} --protocol h2 --world emu --client chromium -n 1 --json"
        );
        // Reading a browser's own addresses costs it time: that is done only if a load is observed.
        let ran = desk.farlink(&format!("{load} --report r.html"));
        if ran.out.contains("was not on time in") {
            println!("skipped: too much else runs");
            return;
        }
        let visit: Value = serde_json::from_str(ran.ok().trim()).unwrap();
        let again = visit["retransmits"].as_u64().expect("it is known");
        // 700 segments down, of which 35 are lost; some retransmissions are lost, too, and some are spurious.
        assert!((10..200).contains(&again), "{again}: {visit}");
    }

    #[test]
    fn chromium_goes_through_proxies() {
        let desk = Desk::new();
        if !has_emulated_chromium(&desk) {
            return;
        }
        for tls in ["none", "tls13"] {
            let arguments = format!("--protocol h1 --tls {tls} --route proxy");
            if let Some((_, connections)) = load(&desk, &arguments, "HTTP/1.1") {
                // Up to six per host.
                assert!((2..=12).contains(&connections), "{tls}: {connections}");
            }
        }
        let session = "--protocol h2 --tls tls13 --route proxy";
        if let Some((_, connections)) = load(&desk, session, "HTTP/2") {
            assert_eq!(connections, 1, "one session carries all hosts");
        }
        let tunnels = "--protocol h2 --tls tls13 --route proxy,via=connect";
        if let Some((_, connections)) = load(&desk, tunnels, "HTTP/2") {
            assert_eq!(connections, 2, "a tunnel leads to one host");
        }
        let socks = "--protocol h2 --tls tls13 --route socks";
        if let Some((_, connections)) = load(&desk, socks, "HTTP/2") {
            assert_eq!(connections, 2, "names are the proxy's to resolve");
        }
        let in_clear = "--protocol h1 --tls none --route socks";
        if let Some((_, connections)) = load(&desk, in_clear, "HTTP/1.1") {
            assert!((2..=12).contains(&connections), "{connections}");
        }
        let dealt = "--protocol h2 --tls tls13 --route proxy --browser spdy-20";
        if let Some((_, connections)) = load(&desk, dealt, "HTTP/2") {
            assert!(connections > 5, "a PAC file deals requests out");
        }
    }

    /// One host past the proxy, the other through it, whatever name the file gives it.
    #[test]
    fn chromium_goes_by_a_pac_file() {
        let desk = Desk::new();
        if !has_emulated_chromium(&desk) {
            return;
        }
        desk.put(
            "x.pac",
            "function FindProxyForURL(url, host) { return host == 'www.page.test' ? 'DIRECT' : 'PROXY gate.example:8080'; }",
        );
        let tunnels = "--protocol h2 --tls tls13 --route proxy,via=connect,pac=x.pac";
        if let Some((_, connections)) = load(&desk, tunnels, "HTTP/2") {
            assert_eq!(connections, 2, "one for each host");
        }
        let in_clear = "--protocol h1 --tls none --route proxy,pac=x.pac";
        if let Some((_, connections)) = load(&desk, in_clear, "HTTP/1.1") {
            assert!((2..=12).contains(&connections), "{connections}");
        }
        desk.put("https.pac", "function FindProxyForURL() { return 'HTTPS gate.example'; }");
        let session = "--protocol h2 --tls tls13 --route proxy,pac=https.pac";
        if let Some((_, connections)) = load(&desk, session, "HTTP/2") {
            assert_eq!(connections, 1, "one session with port 443 carries all hosts");
        }
    }

    #[test]
    fn chromium_finds_in_a_proxys_cache_what_is_there() {
        let desk = Desk::new();
        if !has_emulated_chromium(&desk) {
            return;
        }
        let route = "--protocol h2 --tls tls13 --route caching-proxy,rtt=200ms,rate=100mbit";
        let cold = load(&desk, route, "HTTP/2");
        let primed = load(&desk, &format!("{route},cache=primed"), "HTTP/2");
        let (Some((cold, _)), Some((primed, _))) = (cold, primed) else { return };
        // A document that may not be stored costs two round trips beyond the proxy, its objects two more if they
        // are not cached.
        assert!(primed + 250.0 < cold, "{primed} ms primed, {cold} ms cold");
    }

    /// Every request uses HTTP/3, by its own protocol field.
    #[test]
    fn chromium_speaks_http3_to_farlinks_servers() {
        let desk = Desk::new();
        if !has_emulated_chromium(&desk) {
            return;
        }
        let loaded = load(&desk, "--protocol h3 --trace tcp=t.jsonl", "HTTP/3");
        if let Some((_, connections)) = loaded {
            assert_eq!(connections, 2);
        }
    }
}
