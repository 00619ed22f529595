//! The conditions of a comparison in words: the meaning of a network's name, and other settings.

use std::fmt::Display;
use std::time::Duration;

use net::{Handover, Network, QueueLimit, Scheduler};
use scenario::{
    CrossTraffic, H3Discovery, Itinerary, Nuisance, Origins, Program, Release, RequestHeads,
    Scenario, Spacing, Udp, View,
};

use super::arms::Arm;
use super::units::{bytes, span};

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
    if down.scheduler != Scheduler::Fifo || up.scheduler != Scheduler::Fifo {
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
fn scheduler(scheduler: Scheduler) -> &'static str {
    match scheduler {
        Scheduler::Fifo => "one queue",
        Scheduler::RoundRobin => "round robin",
        Scheduler::ProportionalFair(_) => "proportional fair",
    }
}

/// Conditions other than page and network, of all arms or of those they concern. Defaults are left out, except for
/// the names that every result states. TLS is stated if it does not tell arms apart.
pub fn others(arms: &[Arm], tells_tls: bool) -> String {
    let scenario = arms[0].scenario();
    let client = &scenario.client;
    let mut parts = Vec::new();
    if tells_tls {
        parts.push(match scenario.stack.tls {
            scenario::Tls::None => "no TLS".to_owned(),
            scenario::Tls::Tls10 => "TLS 1.0 (modelled)".to_owned(),
            scenario::Tls::Tls12 => "TLS 1.2".to_owned(),
            scenario::Tls::Tls13 => "TLS 1.3".to_owned(),
        });
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
    for setting in arms.iter().flat_map(|arm| settings(arm.scenario())) {
        if !parts.contains(&setting) {
            parts.push(setting);
        }
    }
    parts.join(", ")
}

/// The settings that are not at their defaults.
fn settings(scenario: &Scenario) -> Vec<String> {
    let default = Scenario::new("", scenario.network.clone());
    let (stack, transport, server) = (&scenario.stack, &scenario.transport, &scenario.server);
    let mut parts = Vec::new();
    let mut tell = |differs: bool, text: String| parts.extend(differs.then_some(text));
    let (own, usual) = (&transport.client, &default.transport);
    tell(transport.server != usual.server, format!("TCP {}", transport.server));
    tell(*own != transport.server, format!("client's TCP {own}"));
    let limit = |n: Option<u32>| n.map_or_else(String::new, |n| n.to_string());
    let (host, total) = (stack.connections_per_host, stack.connections_total);
    tell(host.is_some(), format!("{} connections a host", limit(host)));
    tell(total.is_some(), format!("{} connections in all", limit(total)));
    let depth = stack.pipeline_depth;
    tell(depth.is_some(), format!("pipelines of {}", limit(depth)));
    let clients = scenario.clients;
    tell(clients.count > 1, format!("{} clients", clients.count));
    tell(
        clients.cross_traffic != CrossTraffic::None,
        format!("beside a client that {}s", clients.cross_traffic),
    );
    let spacing = clients.start_spacing;
    tell(spacing != Spacing::Together, format!("beginning {spacing} apart"));
    tell(server.origins == Origins::Recorded, "recorded origins".to_owned());
    tell(server.workers.is_some(), format!("{} workers a host", limit(server.workers)));
    tell(server.service_time_ns > 0, format!("service time {}", span(server.service_time_ns)));
    tell(!scenario.hosting.is_apart(), "one machine".to_owned());
    parts.extend(journey(scenario));
    let mut tell = |differs: bool, text: String| parts.extend(differs.then_some(text));
    let keep_alive = scenario.keep_alive;
    tell(!keep_alive.is_usual(), format!("keep-alive {keep_alive}"));
    tell(!scenario.route.is_usual(), format!("route {}", scenario.route));
    let blocked = &scenario.client.blocked_hosts;
    tell(!blocked.is_empty(), format!("without {}", blocked.join(", ")));
    tell(scenario.release == Release::Coalesced, "coalesced packets".to_owned());
    tell(!scenario.traffic.is_none(), format!("traffic {}", scenario.traffic));
    tell(!scenario.record.is_nothing(), format!("recording {}", scenario.record));
    tell(!scenario.security.is_usual(), format!("TLS with {}", scenario.security));
    tell(!scenario.resolution.is_by_hosts(), format!("DNS {}", scenario.resolution));
    tell(!scenario.quic.is_usual(), format!("QUIC with {}", scenario.quic));
    let (found, udp) = (scenario.discovery.h3, scenario.discovery.udp);
    tell(found != H3Discovery::PriorKnowledge, format!("HTTP/3 found by {found}"));
    tell(udp == Udp::Blocked, "UDP blocked".to_owned());
    let multiplexing = &scenario.multiplexing;
    tell(!multiplexing.is_usual(), format!("multiplexing with {multiplexing}"));
    let heads = scenario.request_heads;
    tell(heads != RequestHeads::default(), format!("request heads {heads}"));
    parts.extend(order(scenario));
    parts.extend((scenario.nuisance == Nuisance::Off).then(|| "nuisance off".to_owned()));
    parts
}

/// The way through several visits.
fn journey(scenario: &Scenario) -> Option<String> {
    let Itinerary { times, order, pace, keeps } = scenario.journey;
    let is_one = scenario.page.pages.is_empty() && times == 1;
    (!is_one).then(|| format!("{times} times through ({order}), {pace}, keeping {keeps}"))
}

/// The order of responses, if it is not at its default.
fn order(scenario: &Scenario) -> impl Iterator<Item = String> {
    let serving = scenario.serving;
    let told = [
        scenario.priorities.as_ref().map(|mapping| format!("priorities {}", mapping.name)),
        serving.scheduler.map(|scheduler| format!("scheduler {scheduler}")),
        serving.frame_bytes.map(|size| format!("frames of {}", bytes(size.into()))),
        serving.notsent_lowat.map(|limit| format!("{limit} unsent")),
        serving.push.map(|what| format!("push {what}")),
    ];
    told.into_iter().flatten()
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
