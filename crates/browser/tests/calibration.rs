//! What Chromium's computing costs on this machine, and how well a device fitted to it explains it.

#![cfg(target_os = "linux")]

#[path = "support/chromium.rs"]
mod chromium;

#[path = "support/mod.rs"]
mod simulated;

use std::time::Duration;

use farlink_browser::Device;
use farlink_browser::calibrate::{self, Sample};
use farlink_browser::chromium::{Look, Settings};
use http_stack::client::Protocol;
use http_stack::tls::Security;
use page::Page;

const REPETITIONS: usize = 5;

/// A network that costs next to nothing.
const UNLIMITED: &str = "rtt=0ms,down=10gbit,up=10gbit,queue=100000pkt";

#[test]
#[ignore = "minutes of Chromium on a machine that does nothing else: run it by name, with --nocapture"]
fn a_device_explains_this_machine() {
    let Some(chromium) = chromium::installed() else { return };
    let pages = page::calibration_pages();
    let mut loads: Vec<(&Page, Protocol, Duration)> = Vec::new();
    let mut samples = Vec::new();
    for protocol in [Protocol::H1, Protocol::H2] {
        let stages: Vec<_> =
            pages.iter().map(|page| chromium::Stage::new(page, protocol)).collect();
        let scratch = chromium::Scratch::new("calibration");
        let mut running = chromium::start(&chromium, &scratch, &stages);
        let settings = Settings {
            look: Look { screenshot: false, ..Look::default() },
            ..chromium::settings()
        };
        for (stage, page) in stages.iter().zip(&pages) {
            // The least of several: what disturbs a load only ever makes it longer.
            let visits = (0..REPETITIONS).map(|_| {
                let visit = running.context().unwrap().visit(&stage.plan, &settings).unwrap();
                (visit.visited.plt.unwrap(), visit.visited.connections.len())
            });
            let (plt, connections) = visits.min().unwrap();
            samples.push(Sample::new(page, connections, plt));
            loads.push((page, protocol, plt));
        }
        running.close();
    }
    let device = calibrate::calibrate(&samples, "Chromium on the machine that it was measured on");
    println!("{}", device.to_toml("chromium-here"));
    let mut errors = (Vec::new(), Vec::new());
    for (page, protocol, plt) in loads {
        let measured = plt.as_secs_f64() * 1e3;
        let [fitted, desktop] = [device.clone(), simulated::device("desktop")]
            .map(|device| simulate(page, protocol, device).as_secs_f64() * 1e3);
        errors.0.push((fitted / measured - 1.0).abs());
        errors.1.push((desktop / measured - 1.0).abs());
        println!(
            "{:36} {protocol}: Chromium {measured:6.1} ms, fitted {fitted:6.1} ms, desktop {desktop:6.1} ms",
            page.name
        );
    }
    for (name, mut errors) in [("fitted", errors.0), ("desktop", errors.1)] {
        errors.sort_by(f64::total_cmp);
        let percent = |share: f64| errors[(share * (errors.len() - 1) as f64) as usize] * 100.0;
        println!("{name}: median error {:.0} %, p90 {:.0} %", percent(0.5), percent(0.9));
    }
}

fn simulate(page: &Page, protocol: Protocol, device: Device) -> Duration {
    let policy = farlink_browser::Policy::named("chrome").unwrap();
    let stage = simulated::Stage::serving(page, UNLIMITED, protocol, Security::Tls13);
    stage.visit(simulated::browser(policy, device)).plt.unwrap()
}
