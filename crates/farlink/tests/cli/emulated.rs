//! `farlink load` and `farlink run` in the emulated world: the kernel's TCP over emulated links, in namespaces made without root.
//!
//! The tests run in real time, so nothing else should run beside them. Without namespaces they are skipped visibly,
//! but fail in CI.

#![expect(clippy::disallowed_methods, reason = "processes run and end in the machine's own time")]

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::common::{Desk, Ran, has_tap, journeys, report_rows};
use crate::remains::{Traces, assert_gone, traces};
use serde_json::Value;

/// Real-time tests, which need an idle machine.
mod real_time {
    use super::*;

    /// A link on which a load takes long enough for a comparison, without losses.
    const NETWORK: &str = "rtt=60ms,down=10mbit,up=5mbit,queue=100pkt";
    /// A page without compute: work of the machine's own processor is not simulated.
    const PAGE: &str = "synthetic:20x10KB";

    /// Returns true if this machine can emulate at all.
    fn possible() -> bool {
        let possible = emu::diagnosis::missing(None).is_empty();
        if !possible {
            assert_ne!(std::env::var("CI").as_deref(), Ok("true"), "no namespaces in CI");
            eprintln!("skipped: no network namespaces can be made here (farlink doctor says why)");
        }
        possible
    }

    fn loads(desk: &Desk, extra: &[&str]) -> Vec<Value> {
        let fixed =
            ["load", PAGE, "--network", NETWORK, "--device", "zero", "--no-noise", "--json"];
        let arguments: Vec<&str> = fixed.iter().chain(extra).copied().collect();
        desk.run(&arguments).json()
    }

    fn plts(visits: &[Value]) -> Vec<f64> {
        let plt = |visit: &Value| visit["plt_ms"].as_f64().unwrap();
        visits.iter().map(plt).collect()
    }

    fn median(visits: &[Value], measure: fn(&Value) -> f64) -> f64 {
        let mut values: Vec<f64> = visits.iter().map(measure).collect();
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    }

    /// Checks that the median of three emulated loads is within a tenth of the simulated one.
    fn agree(desk: &Desk, how: &[&str]) {
        let sim = plts(&loads(desk, &[how, &["-n", "1"]].concat()))[0];
        let mut emu = plts(&loads(desk, &[how, &["-n", "3", "--world", "emu"]].concat()));
        emu.sort_by(f64::total_cmp);
        let error = (emu[1] / sim - 1.0).abs();
        assert!(error < 0.1, "{how:?}: simulated {sim} ms, emulated {emu:?}");
    }

    #[test]
    fn both_worlds_agree_on_a_page_load() {
        if !possible() {
            return;
        }
        let desk = Desk::new();
        for protocol in ["h1", "h2", "h3-deployed", "h3-matched"] {
            agree(&desk, &["--protocol", protocol]);
        }
    }

    /// A proxy in a separate namespace, with a stretch behind it.
    #[test]
    fn a_proxy_is_the_same_in_both_worlds() {
        if !possible() {
            return;
        }
        let desk = Desk::new();
        for (protocol, tls, route) in [
            ("h1", "none", "proxy:apache,rtt=40ms"),
            ("spdy", "tls12", "proxy:mod_spdy,rtt=40ms"),
            ("h2", "tls13", "caching-proxy,rtt=40ms,rate=100mbit,cache=primed"),
            ("h1", "tls13", "proxy,rtt=40ms,rate=20mbit,via=connect"),
            ("h1", "none", "socks,rtt=40ms,rate=20mbit"),
            ("h2", "tls13", "socks,rtt=40ms"),
        ] {
            agree(&desk, &["--protocol", protocol, "--tls", tls, "--route", route]);
        }
    }

    /// A PAC file sends one host's requests past the proxy, over network and stretch, and the others' to two of its ports.
    #[test]
    fn a_way_past_the_proxy_is_the_same_in_both_worlds() {
        if !possible() {
            return;
        }
        let desk = Desk::new();
        desk.put(
            "x.pac",
            "var n = 0; function FindProxyForURL(url, host) { return host == 'www.page.test' ? 'DIRECT' : 'PROXY p:' + (8080 + n++ % 2); }",
        );
        for (protocol, tls, route) in [
            ("h1", "none", "proxy,rtt=40ms,pac=x.pac"),
            ("h2", "tls13", "proxy,rtt=40ms,pac=x.pac"),
            ("h2", "tls13", "proxy,rtt=40ms,via=connect,pac=x.pac"),
        ] {
            agree(&desk, &["--protocol", protocol, "--tls", tls, "--route", route]);
        }
    }

    /// Two halves in separate namespaces: in clear text with responses that the far end sends unasked, under TLS by
    /// splitting alone, with several channels and past it.
    #[test]
    fn a_pep_is_the_same_in_both_worlds() {
        if !possible() {
            return;
        }
        let desk = Desk::new();
        for (protocol, tls, route) in [
            ("h1", "none", "pep,rtt=20ms"),
            ("h1", "none", "pep,rtt=20ms,prefetch=off"),
            ("spdy", "tls12", "pep,rtt=20ms,iw=32"),
            ("h2", "tls13", "pep,rtt=20ms,channels=2"),
            ("h2", "tls13", "pep,rtt=20ms,leg=quic,iw=32"),
            ("h1", "none", "pep,rtt=20ms,leg=quic,fec=10"),
            ("h2", "tls13", "pep,rtt=20ms,bypass=www.page.test"),
        ] {
            agree(&desk, &["--protocol", protocol, "--tls", tls, "--route", route]);
        }
    }

    /// A terminal with capacity on demand in front of the leg: a grant for the page's first request, frames for the rest.
    #[test]
    fn a_terminals_pep_is_the_same_in_both_worlds() {
        if !possible() {
            return;
        }
        let desk = Desk::new();
        let network = "rtt=300ms,down=2mbit,up=500kbit,queue=100pkt,radio=dama";
        let load = |world: &str, n: &str| {
            let page =
                format!("load {PAGE} --device zero --no-noise --json --route pep --protocol h2");
            let arguments =
                page.split(' ').chain(["--network", network, "--world", world, "-n", n]);
            let ran = desk.run(&arguments.collect::<Vec<_>>());
            assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
            let visits = ran.out.lines().map(|line| serde_json::from_str(line).unwrap());
            visits.collect::<Vec<Value>>()
        };
        let (sim, emu) = (load("sim", "11"), load("emu", "3"));
        let plt = |visits: &[Value]| median(visits, |visit| visit["plt_ms"].as_f64().unwrap());
        let (sim_plt, emu_plt) = (plt(&sim), plt(&emu));
        assert!((emu_plt / sim_plt - 1.0).abs() < 0.1, "simulated {sim_plt}, emulated {emu_plt}");
        for visit in sim.iter().chain(&emu) {
            assert!(visit["ttfb_ms"].as_f64().unwrap() > 660.0 + 300.0, "{visit}");
            assert!(visit["radio"]["promotions"].as_u64().unwrap() >= 1, "{visit}");
        }
    }

    /// Promotions of two and of 0.26 seconds, and small packets that wait for a sleeping receiver.
    #[test]
    fn radios_are_the_same_in_both_worlds() {
        if !possible() {
            return;
        }
        let desk = Desk::new();
        for radio in ["umts", "lte"] {
            let network = format!("{NETWORK},radio={radio}");
            let load = |world: &str, n: &str| {
                let fixed =
                    ["load", PAGE, "--device", "zero", "--no-noise", "--json", "--protocol", "h2"];
                let own = ["--network", &network, "--world", world, "-n", n];
                let arguments: Vec<&str> = fixed.iter().chain(&own).copied().collect();
                let ran = desk.run(&arguments);
                assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
                let visits = ran.out.lines().map(|line| serde_json::from_str(line).unwrap());
                visits.collect::<Vec<Value>>()
            };
            // A packet's position in a cycle of discontinuous reception is random: medians, of visits with
            // independent draws.
            let (sim, emu) = (load("sim", "41"), load("emu", "5"));
            let differ = |measure: fn(&Value) -> f64| {
                let (sim, emu) = (median(&sim, measure), median(&emu, measure));
                assert!((emu / sim - 1.0).abs() < 0.1, "{radio}: simulated {sim}, emulated {emu}");
            };
            differ(|visit| visit["plt_ms"].as_f64().unwrap());
            differ(|visit| visit["radio"]["energy_uj"].as_f64().unwrap());
            assert!(emu.iter().all(|visit| visit["radio"]["promotions"] == 1), "{emu:?}");
        }
    }

    /// The kernel's windows, its retransmissions as seen on the wire, and the radio, on one page.
    #[test]
    fn a_report_shows_what_lay_below_an_emulated_load() {
        if !possible() {
            return;
        }
        let desk = Desk::new();
        let ran = desk.farlink(&format!(
            "load {PAGE}+7s --network {NETWORK},loss=2%,radio=umts --protocol h2 --world emu -n 1 --json --report r.html"
        ));
        let visit: Value = serde_json::from_str(&ran.ok()).unwrap();
        let report = desk.read("r.html");
        let windows = report_rows(&report, "windows-0");
        assert!((10..=1200).contains(&windows.len()), "{windows:?}");
        assert!(!report_rows(&report, "resent-0").is_empty(), "{visit}");
        let stays = report_rows(&report, "stays-0");
        assert!(stays.iter().any(|stay| stay.contains("FACH to DCH")), "{stays:?}");
    }

    /// Any user can sample the kernel's connections; root sees every segment as well, also with two networks of
    /// equal addresses emulated side by side.
    #[test]
    fn root_traces_the_kernels_connections_by_segment() {
        if !possible() {
            return;
        }
        let desk = Desk::new();
        let arms = ["--protocol", "h1,h2", "-n", "1", "-j", "2", "--world", "emu"];
        loads(&desk, &[&arms[..], &["--trace", "tcp=t.jsonl"]].concat());
        for arm in ["h1", "h2"] {
            let text = desk.read(&format!("t.{arm}.jsonl"));
            let lines: Vec<Value> =
                text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
            let of = |trigger: &str| {
                let servers = |line: &&Value| line["end"] == "server" && line["trigger"] == trigger;
                lines.iter().filter(servers).collect::<Vec<_>>()
            };
            let (looks, probes) = (of("look"), of("probe"));
            assert!(looks.len() > 10, "{}", looks.len());
            if emu::Privilege::available() == emu::Privilege::Rootless {
                assert!(probes.is_empty());
                continue;
            }
            // An acknowledgement of at least every other of 140 segments.
            assert!((70..400).contains(&probes.len()), "{}", probes.len());
            let largest =
                |samples: &[&Value]| samples.iter().map(|line| line["cwnd"].as_u64()).max();
            // Samples see the last growth, too; a segment, the state before it.
            assert!(largest(&probes) <= largest(&looks));
            assert!(probes.iter().all(|line| line["rto_ns"].is_null()));
            let at = lines.iter().filter_map(|line| line["at_ns"].as_u64());
            assert!(at.is_sorted());
        }
    }

    /// Pings and beacons go on for 20 seconds before the visit: the radio is on its dedicated channel when it begins.
    #[test]
    fn background_traffic_is_the_same_in_both_worlds() {
        if !possible() {
            return;
        }
        let desk = Desk::new();
        let load = |world: &str| -> Value {
            let load = format!(
                "load {PAGE} --network {NETWORK},radio=umts --device zero --no-noise --json -n 1 --protocol h2 \
                 --traffic ping:every=1s,size=320B+beacon:every=500ms --world {world}"
            );
            serde_json::from_str(&desk.farlink(&load).ok()).unwrap()
        };
        let (sim, emu) = (load("sim"), load("emu"));
        for visit in [&sim, &emu] {
            let radio = &visit["radio"];
            assert_eq!(radio["promotions"], 0, "{visit}");
            assert_eq!(radio["states"].as_array().unwrap().len(), 1, "{radio}");
        }
        for field in ["plt_ms", "bytes_up", "bytes_down"] {
            let [sim, emu] = [&sim, &emu].map(|visit| visit[field].as_f64().unwrap());
            assert!((emu / sim - 1.0).abs() < 0.1, "{field}: simulated {sim}, emulated {emu}");
        }
    }

    #[test]
    fn an_emulated_visit_tells_what_a_simulated_one_does() {
        if !possible() {
            return;
        }
        let desk = Desk::new();
        let visits = loads(&desk, &["--protocol", "h2", "-n", "1", "--world", "emu"]);
        let [visit] = &visits[..] else { panic!("{visits:?}") };
        assert_eq!((&visit["world"], &visit["objects"]), (&"emu".into(), &21.into()), "{visit}");
        let emulation = &visit["emulation"];
        assert!(emulation["late_p99_ns"].as_u64().unwrap() < 1_000_000, "{emulation}");
        let down = &visit["links"][1];
        assert_eq!(down["name"], "down");
        assert_eq!(down["configured_bit_per_s"], 10_000_000);
        let delivered = down["delivered_bit_per_s"].as_f64().unwrap();
        assert!((delivered / 1e7 - 1.0).abs() < 0.01, "{delivered}");
        assert_eq!(visit["connections"], 1);
        assert!(visit["bytes_down"].as_u64().unwrap() > 200_000, "{visit}");
        assert!(visit["trace_digest"].is_null());
    }

    /// The machine has TAP devices and veth; the load is to use the former.
    #[test]
    fn loads_over_tap_devices_are_those_over_veth_and_say_so() {
        if !possible() || !has_tap() {
            return;
        }
        let desk = Desk::new();
        let text = |command: &mut Command| {
            let ran = Ran::new(&command.output().unwrap());
            assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
            ran.out
        };
        let fixed = ["load", PAGE, "--network", NETWORK, "--device", "zero", "--no-noise"];
        let arguments = [&fixed[..], &["--protocol", "h2", "-n", "3", "--world", "emu"]].concat();
        let with_json = [&arguments[..], &["--json"]].concat();
        let median = |command: &mut Command| {
            let out = text(command);
            let visits: Vec<Value> =
                out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
            let mut plts = plts(&visits);
            plts.sort_by(f64::total_cmp);
            plts[1]
        };
        let veth = median(&mut desk.command(&with_json));
        let tap = median(desk.command(&with_json).env("FARLINK_WIRE", "tap"));
        assert!((tap / veth - 1.0).abs() < 0.05, "{tap} ms over TAP, {veth} ms over veth");
        let note = "the emulator's wires were TAP devices";
        assert!(text(desk.command(&arguments).env("FARLINK_WIRE", "tap")).contains(note));
        assert!(!text(&mut desk.command(&arguments)).contains(note));
    }

    fn anybody_may_open_tun() -> bool {
        let mode = std::fs::metadata("/dev/net/tun").map_or(0, |it| it.permissions().mode());
        let may = mode & 0o006 == 0o006;
        if !may {
            println!("skipped: only root may open /dev/net/tun here (chmod 0666 /dev/net/tun)");
        }
        may
    }

    /// Root drops its privileges for it; any other tester is an ordinary user.
    #[test]
    fn an_ordinary_user_loads_over_tap_devices() {
        if !possible() || !has_tap() || !anybody_may_open_tun() {
            return;
        }
        let desk = Desk::new();
        let program = desk.path("farlink");
        std::fs::copy(crate::common::program(), &program).unwrap();
        std::fs::set_permissions(desk.path(""), Permissions::from_mode(0o777)).unwrap();
        let load = format!("load synthetic:4x2KB --network {NETWORK} --world emu -n 1");
        let mut command = match emu::Privilege::available() {
            emu::Privilege::Root => {
                let mut command = Command::new("setpriv");
                let nobody = ["--reuid", "65534", "--regid", "65534", "--clear-groups", "--"];
                command.args(nobody).arg(&program);
                command
            }
            emu::Privilege::Rootless => Command::new(&program),
        };
        command.args(load.split_whitespace()).current_dir(desk.path(""));
        let output = command.env("HOME", desk.path("")).env("FARLINK_WIRE", "tap").output();
        let ran = Ran::new(&output.expect("the command can be started"));
        if ran.out.contains("not on time") || ran.err.contains("not on time") {
            println!("skipped: too much else runs for an emulator without priority");
            return;
        }
        assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
        assert!(ran.out.contains("the emulator's wires were TAP devices"), "{}", ran.out);
    }

    /// Two arms over one network, in real time.
    fn experiment(repetitions: u32) -> String {
        format!(
            "format = 1\nname = \"emulated\"\nrepetitions = {repetitions}\nworld = \"emu\"\n\n\
             [page]\nname = \"synthetic:4x2KB\"\n\n\
             [network]\ndown = \"10mbit\"\nup = \"5mbit\"\nrtt = \"20ms\"\nqueue = \"100pkt\"\n\n\
             [stack]\nprotocol = [\"h1\", \"h2\"]\n"
        )
    }

    /// `farlink ARGUMENTS`, with its temporary files beside the desk's own and a marker on all its processes.
    fn marked(desk: &Desk, arguments: &str, marker: &str) -> Command {
        let arguments: Vec<&str> = arguments.split_whitespace().collect();
        let mut command = desk.command(&arguments);
        std::fs::create_dir_all(desk.path("tmp")).unwrap();
        command.env("TMPDIR", desk.path("tmp")).env("FARLINK_TEST_MARKER", marker);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    fn assert_nothing_left(desk: &Desk, marker: &str, before: &Traces) {
        assert_gone(marker, before);
        let files: Vec<_> = std::fs::read_dir(desk.path("tmp")).unwrap().flatten().collect();
        assert!(files.is_empty(), "temporary files: {files:?}");
    }

    /// Checks that the store is readable and consistent: a journey with its visits, a visit with its emulation. A
    /// run killed before it had created its tables leaves a file without any.
    fn assert_whole(desk: &Desk) {
        let store = desk.sqlite("farlink.sqlite");
        let text = |sql: &str| store.query_row(sql, [], |row| row.get::<_, String>(0)).unwrap();
        let count = |sql: &str| store.query_row(sql, [], |row| row.get::<_, u64>(0)).unwrap();
        assert_eq!(text("PRAGMA integrity_check"), "ok");
        if count("SELECT count(*) FROM sqlite_schema") == 0 {
            return;
        }
        let journeys = count("SELECT count(*) FROM journey WHERE failure IS NULL");
        assert_eq!(count("SELECT count(*) FROM visit"), journeys);
        assert_eq!(count("SELECT count(*) FROM emulation"), journeys);
    }

    /// Kills a run repeatedly, at pseudo-random times, and then lets it finish.
    fn killed(times: u32, repetitions: u32) {
        if !possible() {
            return;
        }
        let desk = Desk::new();
        desk.put("e.toml", experiment(repetitions));
        let marker = format!("farlink-run-killed-{}-{times}", std::process::id());
        let before = traces(&marker);
        let mut seen = 0;
        for round in 0..times {
            let mut run = marked(&desk, "run e.toml -j 2", &marker).spawn().unwrap();
            std::thread::sleep(Duration::from_millis(u64::from(round * 7919 % 1500)));
            seen += traces(&marker).processes;
            // Fails if the run has finished.
            let _ = run.kill();
            run.wait().unwrap();
            assert_nothing_left(&desk, &marker, &before);
            if desk.path("farlink.sqlite").exists() {
                assert_whole(&desk);
            }
        }
        assert!(seen > times as usize, "what is left would have been seen: {seen}");
        assert_eq!(desk.farlink("run e.toml -j 2").code, 0);
        assert_whole(&desk);
        // This shows that there are tables now.
        assert_eq!(journeys(&desk.path("farlink.sqlite")), 2 * u64::from(repetitions));
    }

    #[test]
    fn a_killed_run_leaves_nothing_and_a_whole_store() {
        killed(4, 5);
    }

    #[test]
    #[ignore = "the same, at 20 times"]
    fn a_run_killed_at_many_times_leaves_nothing_and_a_whole_store() {
        killed(20, 40);
    }

    fn in_a_row(times: usize, environment: &[(&str, &str)]) {
        if !possible() {
            return;
        }
        let desk = Desk::new();
        let marker = format!("farlink-load-in-a-row-{}-{times}{environment:?}", std::process::id());
        let before = traces(&marker);
        let load = format!(
            "load synthetic:4x2KB --network {NETWORK} --world emu -n 1 --protocol h2 --json"
        );
        let mut late = 0;
        for _ in 0..times {
            let mut load = marked(&desk, &load, &marker);
            load.envs(environment.iter().copied()).stdout(Stdio::piped());
            let ran = load.output().unwrap();
            // A shared machine may halt for seconds. A load that was late in each attempt fails with that message,
            // and leaves nothing either.
            let was_late = String::from_utf8_lossy(&ran.stdout).contains("was not on time in");
            assert!(ran.status.success() || was_late, "{ran:?}");
            late += usize::from(was_late);
            assert_nothing_left(&desk, &marker, &before);
        }
        assert!(late <= times / 10, "{late} of {times} loads were late each time they were tried");
    }

    #[test]
    fn three_loads_in_a_row_leave_nothing() {
        in_a_row(3, &[]);
    }

    #[test]
    fn three_loads_in_a_row_over_tap_devices_leave_nothing() {
        if has_tap() {
            in_a_row(3, &[("FARLINK_WIRE", "tap")]);
        }
    }

    #[test]
    #[ignore = "the same, a hundred times"]
    fn a_hundred_loads_in_a_row_leave_nothing() {
        in_a_row(100, &[]);
    }

    #[test]
    fn an_interrupted_run_ends_in_order_leaves_nothing_and_goes_on() {
        if !possible() {
            return;
        }
        let desk = Desk::new();
        desk.put("e.toml", experiment(6));
        let marker = format!("farlink-run-interrupted-{}", std::process::id());
        let before = traces(&marker);
        let mut run = marked(&desk, "run e.toml -j 1", &marker).spawn().unwrap();
        while journeys(&desk.path("farlink.sqlite")) < 2 {
            assert_eq!(run.try_wait().unwrap(), None, "it ended before it was stopped");
            std::thread::sleep(Duration::from_millis(5));
        }
        let kill = Command::new("kill").args(["-INT", &run.id().to_string()]).status();
        assert!(kill.expect("there is a kill command").success());
        assert_eq!(run.wait().unwrap().code(), Some(130));
        assert_nothing_left(&desk, &marker, &before);
        assert_whole(&desk);
        let stored = journeys(&desk.path("farlink.sqlite"));
        assert!((2..12).contains(&stored), "{stored}");
        let ran = desk.farlink("run e.toml");
        assert_eq!(ran.code, 0, "{}", ran.err);
        let said = format!("resuming run 1: {stored} of 12 journeys stored");
        assert!(ran.err.contains(&said), "{}", ran.err);
        assert_whole(&desk);
    }
}
