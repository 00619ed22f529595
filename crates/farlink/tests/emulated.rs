//! `farlink load` and `farlink run` in the emulated world: the kernel's TCP over emulated links, in namespaces made without root.
//!
//! In real time, so nothing else should run beside them. Where namespaces cannot be made they are skipped visibly, but fail in CI.

mod common;

use common::Desk;
use serde_json::Value;

/// Everything here takes as long as it says, on an idle machine.
mod real_time {
    use super::*;

    /// A link on which a load takes long enough to be compared, without losses.
    const NETWORK: &str = "rtt=60ms,down=10mbit,up=5mbit,queue=100pkt";
    /// What takes a machine's own processor is not simulated: a page without compute.
    const PAGE: &str = "synthetic:20x10KB";

    /// Whether this machine can emulate at all.
    #[expect(clippy::disallowed_methods, reason = "CI says by it that nothing may be missing")]
    fn possible() -> bool {
        let possible = emu::diagnosis::missing().is_empty();
        if !possible {
            assert_ne!(std::env::var("CI").as_deref(), Ok("true"), "no namespaces in CI");
            eprintln!("skipped: no network namespaces can be made here (farlink doctor says why)");
        }
        possible
    }

    fn loads(desk: &Desk, extra: &[&str]) -> Vec<Value> {
        let fixed =
            ["load", PAGE, "--network", NETWORK, "--device", "zero", "--no-nuisance", "--json"];
        let arguments: Vec<&str> = fixed.iter().chain(extra).copied().collect();
        let ran = desk.run(&arguments);
        assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
        ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn plts(visits: &[Value]) -> Vec<f64> {
        let plt = |visit: &Value| visit["plt_ms"].as_f64().unwrap();
        visits.iter().map(plt).collect()
    }

    #[test]
    fn both_worlds_agree_on_a_page_load() {
        if !possible() {
            return;
        }
        let desk = Desk::new();
        for protocol in ["h1", "h2"] {
            let sim = plts(&loads(&desk, &["--protocol", protocol, "-n", "1"]))[0];
            let emu = loads(&desk, &["--protocol", protocol, "-n", "3", "--world", "emu"]);
            let mut emu = plts(&emu);
            emu.sort_by(f64::total_cmp);
            let error = (emu[1] / sim - 1.0).abs();
            assert!(error < 0.1, "{protocol}: simulated {sim} ms, emulated {emu:?}");
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
}
