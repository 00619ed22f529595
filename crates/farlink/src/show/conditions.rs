//! The conditions of a comparison in words: the meaning of a network's name, and other settings.

use std::fmt::Display;
use std::time::Duration;

use net::{Handover, LaneScheduling, Network, QueueLimit};
use scenario::settings::SETTINGS;
use scenario::{Itinerary, Program, Scenario, View};

use super::arms::Arm;

/// A network in figures: "9 Mbit/s down and up, RTT 170 ms, no loss, queue 1000 packets".
pub fn network(network: &Network) -> String {
    let (down, up) = (&network.down, &network.up);
    let mut told = format!(
        "{}, RTT {}, {}, queue {}",
        either(&down.rate, &up.rate),
        delay(network.rtt()),
        if down.loss.is_none() && up.loss.is_none() {
            "no loss".to_owned()
        } else {
            format!("loss {}", either(&down.loss, &up.loss))
        },
        either(queue(down.queue), queue(up.queue)),
    );
    if down.scheduler != LaneScheduling::Fifo || up.scheduler != LaneScheduling::Fifo {
        told +=
            &format!(" a client, {}", either(scheduler(down.scheduler), scheduler(up.scheduler)));
    }
    if let Some(handover) = down.handover {
        let Handover { every, least, most, .. } = handover;
        told += &format!(
            ", a handover of {} to {} every {} s",
            delay(least),
            delay(most),
            every.as_secs_f64()
        );
    }
    told
}

/// A scheduler's name.
fn scheduler(scheduler: LaneScheduling) -> &'static str {
    match scheduler {
        LaneScheduling::Fifo => "one queue",
        LaneScheduling::RoundRobin => "round robin",
        LaneScheduling::ProportionalFair(_) => "proportional fair",
    }
}

/// Settings that [`others`] always states, that the lines around it do, or that a journey states together.
const STATED: [&str; 13] = [
    "page.name",
    "journey.times",
    "journey.order",
    "journey.pace",
    "journey.keeps",
    "stack.protocol",
    "stack.tls",
    "client.view",
    "client.program",
    "client.device",
    "client.cpu",
    "client.browser",
    "world",
];

/// Conditions other than page and network, of all arms or of those they concern. Defaults are left out, except for
/// the names that every result states. TLS is stated if it does not tell arms apart.
pub fn others(arms: &[Arm], tells_tls: bool) -> String {
    let scenario = arms[0].scenario();
    let client = &scenario.client;
    let mut parts = Vec::new();
    if tells_tls {
        parts.push(scenario.stack.tls.title().to_owned());
    }
    if client.view != View::Both {
        parts.push(format!("{} cache", client.view));
    }
    let times = match client.cpu_multiplier {
        1.0 => String::new(),
        times => format!(" {times}x slower"),
    };
    match client.program {
        Program::Loader => {
            parts.push(format!("device {}{times}", client.device));
            parts.push(format!("browser {}", client.browser));
        }
        Program::Chromium => parts.push("a real Chromium".to_owned()),
    }
    let of_arm = |arm: &'_ Arm| journey(arm.scenario()).into_iter().chain(settings(arm.scenario()));
    for setting in arms.iter().flat_map(of_arm) {
        if !parts.contains(&setting) {
            parts.push(setting);
        }
    }
    parts.join(", ")
}

/// The settings that are not at their defaults.
fn settings(scenario: &Scenario) -> Vec<String> {
    let usual = Scenario::new("", scenario.network.clone());
    let own = SETTINGS.iter().filter(|it| it.within.is_none() && !STATED.contains(&it.key));
    let differing = own.filter(|it| it.is_meant(scenario) && it.differs(scenario, &usual));
    differing.map(|it| it.phrase(&it.text(scenario))).collect()
}

/// The way through several visits.
fn journey(scenario: &Scenario) -> Option<String> {
    let Itinerary { times, order, pace, keeps } = scenario.journey;
    let is_one = scenario.page.pages.is_empty() && times == 1;
    (!is_one).then(|| format!("{times} passes ({order}), {pace}, keeping {keeps}"))
}

/// A delay without needless figures: "170 ms", "0.5 ms".
pub fn delay(delay: Duration) -> String {
    let micros = (delay.as_nanos() + 500) / 1000;
    format!("{} ms", micros as f64 / 1000.0)
}

/// A queue's limit in words.
pub fn queue(limit: QueueLimit) -> String {
    match limit {
        QueueLimit::Packets(packets) => format!("{packets} packets"),
        other => other.to_string(),
    }
}

/// A value of both directions, or one of each.
fn either<T: Display + PartialEq>(down: T, up: T) -> String {
    match down == up {
        true => format!("{down} each way"),
        false => format!("{down} down and {up} up"),
    }
}

/// A probability in per cent.
pub fn percent(ratio: f64) -> String {
    format!("{} %", (ratio * 1e6).round() / 1e4)
}
