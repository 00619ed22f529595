//! Conditions of comparisons: page, network, servers, client, world.

use super::ValueKind::{Names, Number, Whole};
use super::read::{
    hosts, is_loader, megabits, milliseconds, multiplier, named, nanoseconds, or_empty, parsed,
    property, put, refused, uplink,
};
use super::{ColumnType, Need, Setting, row};
use crate::network::{duration_text, rate_text};
use crate::{
    Clients, CrossTraffic, Itinerary, NetworkSpec, Noise, Origins, PageRef, Program, Release,
    RequestHeaderMode, Scenario, Spacing, View, World,
};

const JOURNEY: &str = "Journey";
const NETWORK: &str = "Network";
const SERVERS: &str = "Servers";
const CLIENT: &str = "Client";
const WORLD: &str = "World";

/// The value of a network's property that is not set.
const PROFILE: &str = "as the profile";
const ONE_CHROMIUM: &[Need] = &[(
    is_loader,
    "one Chromium keeps a machine busy: several clients are loaders (client `loader`)",
)];

pub(super) const ROWS: &[Setting] = &[
    row(
        "page.name",
        "",
        "Page",
        "Page, list of pages or HAR file",
        |text, catalogue| {
            let page = catalogue.page(text)?;
            put(page, |s, v: PageRef| s.page = v)
        },
        |s| s.page.spec.clone(),
    )
    .column("page")
    .unlisted()
    .tried_with(["synthetic:1x1KB", "synthetic:2x1KB"]),
    row(
        "journey.times",
        "times",
        JOURNEY,
        "Number of passes over the page or list of pages in one journey (docs/journeys.md)",
        |text, _| parsed(text, |s, v| s.journey.times = v),
        |s| s.journey.times.to_string(),
    )
    .kind(Whole(1, Itinerary::MOST_TIMES as i64))
    .value("N", "1")
    .column("journey_times")
    .words("passes", "{} times", "")
    .number_of("", |s| Some(f64::from(s.journey.times))),
    row(
        "journey.order",
        "page-order",
        JOURNEY,
        "Order of a list's pages: listed, drawn (shuffled once for all repetitions) or drawn-anew (shuffled for each repetition)",
        |text, _| parsed(text, |s, v| s.journey.order = v),
        |s| s.journey.order.to_string(),
    )
    .value("ORDER", "listed")
    .column("journey_order")
    .words("order of pages", "{} pages", "")
    .meant(has_several_visits)
    .tried_with(["listed", "drawn-anew"]),
    row(
        "journey.pace",
        "pace",
        JOURNEY,
        "Start of the next visit: think=10s after the last one ends, or every=60s from start to start",
        |text, _| parsed(text, |s, v| s.journey.pace = v),
        |s| s.journey.pace.to_string(),
    )
    .value("PACE", "think=10s")
    .column("journey_pace")
    .words("pace", "pace {}", "")
    .meant(has_several_visits)
    .tried_with(["think=1s", "every=60s"]),
    row(
        "journey.keeps",
        "keeps",
        JOURNEY,
        "State kept between visits, comma-separated: connections, sessions (TLS), metrics (TCP), cache, names (DNS); or nothing",
        |text, _| parsed(text, |s, v| s.journey.keeps = v),
        |s| s.journey.keeps.to_string(),
    )
    .value("WHAT", "sessions,metrics")
    .repeated()
    .column("journey_keeps")
    .words("kept between visits", "keeping {}", "")
    .meant(has_several_visits)
    .tried_with(["sessions", "cache"]),
    row(
        "network",
        "network",
        NETWORK,
        "Network: a profile (`farlink networks`), a description (rtt=100ms,down=10mbit,up=5mbit,loss=1%,queue=64pkt), a profile with changes (cable,rtt=600ms), or a TOML file",
        |text, _| {
            let network = NetworkSpec::parse(text).map_err(refused)?;
            put(network, |s, v: NetworkSpec| s.network.overlay(&v))
        },
        |s| s.network.to_string(),
    )
    .value("NETWORK", "")
    .repeated()
    .unlisted()
    .tried_with(["3g,aqm=codel", "3g,aqm=pie"]),
    row(
        "network.base",
        "",
        NETWORK,
        "Profile or network file",
        |text, _| put(text.to_owned(), |s, v| s.network.base = Some(v)),
        |s| s.network.base.clone().unwrap_or_default(),
    )
    .within("network")
    .column("network_base")
    .words("network", "{}", "")
    .unset("custom")
    .tried_with(["3g", "cable"]),
    row(
        "network.rtt",
        "",
        NETWORK,
        "Round-trip propagation delay",
        |text, _| property("rtt", text),
        |s| or_empty(s.network.rtt_ns.map(duration_text)),
    )
    .cells(ColumnType::Number, |s| or_empty(s.network.rtt_ns.map(|ns| ns as f64 / 1e6)))
    .within("network")
    .column("rtt_ms")
    .words("RTT", "RTT {}", "")
    .unset(PROFILE)
    .number_of("ms", |s| s.network.rtt_ns.map(milliseconds))
    .tried_with(["10ms", "20ms"]),
    row(
        "network.down",
        "",
        NETWORK,
        "Rate towards the client",
        |text, _| property("down", text),
        |s| or_empty(s.network.down_bit_per_s.map(rate_text)),
    )
    .cells(ColumnType::Number, |s| rate_cell(s.network.down_bit_per_s))
    .within("network")
    .column("down_mbit_per_s")
    .words("rate down", "rate down {}", "")
    .unset(PROFILE)
    .number_of("Mbit/s", |s| megabits(s.network.down_bit_per_s))
    .tried_with(["1mbit", "unlimited"]),
    row(
        "network.up",
        "",
        NETWORK,
        "Rate towards the servers, or a fraction of the downlink's: down/2",
        |text, _| uplink(text),
        |s| or_empty(s.network.up_bit_per_s.map(rate_text)),
    )
    .cells(ColumnType::Number, |s| rate_cell(s.network.up_bit_per_s))
    .within("network")
    .column("up_mbit_per_s")
    .words("rate up", "rate up {}", "")
    .unset(PROFILE)
    .number_of("Mbit/s", |s| megabits(s.network.up_bit_per_s))
    .tried_with(["1mbit", "2mbit"]),
    row(
        "network.loss",
        "",
        NETWORK,
        "Packet loss probability, in each direction",
        |text, _| property("loss", text),
        |s| or_empty(s.network.loss_ratio.map(units::parse::ratio_text)),
    )
    .cells(ColumnType::Number, |s| or_empty(s.network.loss_ratio))
    .within("network")
    .column("loss")
    .words("loss", "loss {}", "")
    .unset(PROFILE)
    .number_of("%", |s| s.network.loss_ratio.map(|ratio| ratio * 100.0))
    .tried_with(["1%", "100%"]),
    row(
        "network.queue",
        "",
        NETWORK,
        "Queue of each direction",
        |text, _| property("queue", text),
        |s| or_empty(s.network.queue),
    )
    .within("network")
    .column("queue")
    .words("queue", "queue {}", "")
    .unset(PROFILE)
    .tried_with(["10pkt", "2bdp"]),
    row(
        "server.origins",
        "origins",
        SERVERS,
        "Distance of the hosts: equal, or recorded (each host's extra RTT from the HAR)",
        |text, _| named(text, |s, v| s.server.origins = v),
        |s| s.server.origins.to_string(),
    )
    .kind(Names(Origins::names, Origins::spellings))
    .value("WHAT", "equal")
    .column("origins")
    .words("origins", "{} origins", ""),
    row(
        "server.origin_addresses",
        "origin-addresses",
        SERVERS,
        "IP addresses of the page's hosts: separate, or one shared (then with one certificate and shared workers)",
        |text, _| named(text, |s, v| s.origin_addresses = v),
        |s| s.origin_addresses.to_string(),
    )
    .kind(Names(crate::OriginAddresses::names, crate::OriginAddresses::spellings))
    .value("WHICH", "separate")
    .column("origin_addresses")
    .words("origin addresses", "{} origin addresses", "{} addresses")
    .needs(&[
    (|s| s.server.origins != Origins::Recorded, "hosts on one machine are equally far away: use origin-addresses `separate`, or origins `equal`"),
    (is_loader, "Chromium must be told of each host's machine: origin-addresses `shared` is for farlink's own loader (client `loader`)"),
    ]),
    row(
        "server.workers",
        "workers",
        SERVERS,
        "Maximum concurrent requests per host (default: no limit)",
        |text, _| parsed(text, |s, v| s.server.workers = Some(v)),
        |s| or_empty(s.server.workers),
    )
    .kind(Whole(1, 1_000_000))
    .value("N", "")
    .column("server_workers")
    .words("server workers", "{} workers per host", "{} workers")
    .unset("unlimited"),
    row(
        "server.service_time",
        "service-time",
        SERVERS,
        "Server time per request, on top of the page's think time: 5ms",
        |text, _| put(nanoseconds(text)?, |s, v| s.server.service_time_ns = v),
        |s| duration_text(s.server.service_time_ns),
    )
    .value("TIME", "0ms")
    .cells(ColumnType::Whole, |s| s.server.service_time_ns.to_string())
    .column("service_time_ns")
    .words("service time", "service time {}", "")
    .number_of("ms", |s| Some(milliseconds(s.server.service_time_ns)))
    .tried_with(["1ms", "2ms"]),
    row(
        "client.program",
        "client",
        CLIENT,
        "Client program: loader (farlink's own) or chromium (world emu only)",
        |text, _| named(text, |s, v| s.client.program = v),
        |s| s.client.program.to_string(),
    )
    .kind(Names(Program::names, Program::spellings))
    .value("PROGRAM", "loader")
    .column("client")
    .words("client", "{}", ""),
    row(
        "client.device",
        "device",
        CLIENT,
        "Client CPU: zero, desktop, desktop-2013, bth2013-client, nexus7, or a device file",
        |text, catalogue| {
            let digest = catalogue.device(text)?;
            put((text.to_owned(), digest), |s, v| {
                (s.client.device, s.client.device_digest) = v;
            })
        },
        |s| s.client.device.clone(),
    )
    .value("DEVICE", "desktop")
    .column("device")
    .words("device", "device {}", "")
    .tried_with(["zero", "nexus7"]),
    row(
        "client.cpu",
        "cpu",
        CLIENT,
        "CPU slowdown of the client, relative to its device: 4x",
        |text, _| put(multiplier(text)?, |s, v| s.client.cpu_multiplier = v),
        |s| s.client.cpu_multiplier.to_string(),
    )
    .kind(Number)
    .value("TIMES", "1x")
    .column("cpu_multiplier")
    .words("CPU slowdown", "CPU slowdown {}", "")
    .number_of("times", |s| Some(s.client.cpu_multiplier))
    .tried_with(["2x", "4x"]),
    row(
        "client.browser",
        "browser",
        CLIENT,
        "Browser policy: chrome, chrome-2013, chrome-38, firefox, safari-ios9, spdy-20 (docs/browsers.md)",
        |text, catalogue| {
            catalogue.browser(text)?;
            put(text.to_owned(), |s, v| s.client.browser = v)
        },
        |s| s.client.browser.clone(),
    )
    .value("BROWSER", "chrome")
    .column("browser")
    .words("browser policy", "{}", "")
    .tried_with(["chrome", "firefox"]),
    row(
        "client.request_headers",
        "request-headers",
        CLIENT,
        "Request header fields: sized (a few, padded to the page's size with a cookie) or recorded (the HAR's, else the browser's; docs/heads.md)",
        |text, _| named(text, |s, v| s.request_headers = v),
        |s| s.request_headers.to_string(),
    )
    .kind(Names(RequestHeaderMode::names, RequestHeaderMode::spellings))
    .value("WHAT", "sized")
    .column("request_headers")
    .words("request headers", "request headers {}", "")
    .needs(&[(is_loader, "Chromium fills its requests' heads by itself: leave them `sized`, or load with farlink's own loader (client `loader`)")]),
    row(
        "client.view",
        "view",
        CLIENT,
        "Browser cache: cold, warm, both",
        |text, _| named(text, |s, v| s.client.view = v),
        |s| s.client.view.to_string(),
    )
    .kind(Names(View::names, View::spellings))
    .value("VIEW", "cold")
    .column("cache")
    .words("cache", "{} cache", ""),
    row(
        "client.block",
        "block",
        CLIENT,
        "Hosts to block, comma-separated",
        |text, _| put(hosts(text), |s, v| s.client.blocked_hosts = v),
        |s| s.client.blocked_hosts.join(","),
    )
    .value("HOSTS", "")
    .repeated()
    .cells(ColumnType::Text, |s| s.client.blocked_hosts.join(" "))
    .column("blocked_hosts")
    .words("blocked hosts", "without {}", "blocked: {}")
    .unset("none")
    .text_of(|s| s.client.blocked_hosts.join(", "))
    .tried_with(["a.example", "a.example,b.example"]),
    row(
        "clients",
        "clients",
        CLIENT,
        "Number of clients; they share the network's first hop, each behind its own radio (docs/radio.md)",
        |text, _| parsed(text, |s, v| s.clients.count = v),
        |s| s.clients.count.to_string(),
    )
    .kind(Whole(1, Clients::MOST as i64))
    .value("N", "1")
    .words("clients", "{} clients", "")
    .number_of("", |s| Some(f64::from(s.clients.count)))
    .needs(ONE_CHROMIUM),
    row(
        "cross_traffic",
        "cross-traffic",
        CLIENT,
        "Competing bulk transfer by a background client: none, download or upload",
        |text, _| named(text, |s, v| s.clients.cross_traffic = v),
        |s| s.clients.cross_traffic.to_string(),
    )
    .kind(Names(CrossTraffic::names, CrossTraffic::spellings))
    .value("WHAT", "none")
    .words("cross traffic", "cross traffic {}", "cross traffic: {}")
    .needs(ONE_CHROMIUM),
    row(
        "start_spacing",
        "start-spacing",
        CLIENT,
        "Time between the starts of clients: 500ms, or `drawn 500ms` for a random time up to twice that. The background client starts first",
        |text, _| put(Spacing::parse(text).map_err(refused)?, |s, v| s.clients.start_spacing = v),
        |s| s.clients.start_spacing.to_string(),
    )
    .value("TIME", "0ms")
    .words("start spacing", "start spacing {}", "spacing {}")
    .needs(ONE_CHROMIUM)
    .tried_with(["1ms", "2ms"]),
    row(
        "noise",
        "noise",
        WORLD,
        "Random jitter (start phase, server time, CPU, packet timing); without it and without loss, all repetitions are identical",
        |text, _| named(text, |s, v| s.noise = v),
        |s| s.noise.to_string(),
    )
    .kind(Names(Noise::names, Noise::spellings))
    .value("ON", "on")
    .words("noise", "noise {}", ""),
    row(
        "world",
        "world",
        WORLD,
        "World: sim (virtual time, simulated TCP) or emu (real time, the kernel's TCP over emulated links; Linux only, no root needed)",
        |text, _| named(text, |s, v| s.world = v),
        |s| s.world.to_string(),
    )
    .kind(Names(World::names, World::spellings))
    .value("WORLD", "sim")
    .words("world", "{}", ""),
    row(
        "release",
        "release",
        WORLD,
        "Packet release in the emulated world: single (each when due, as on a wire) or coalesced (in groups, up to 0.4 ms early or late, which saves CPU)",
        |text, _| named(text, |s, v| s.release = v),
        |s| s.release.to_string(),
    )
    .kind(Names(Release::names, Release::spellings))
    .value("HOW", "single")
    .words("release", "{} packets", "")
    .needs(&[(|s| s.world == World::Emu, "the simulated world has no emulator that could release packets together: use world `emu`, or release `single`")]),
    row(
        "traffic",
        "traffic",
        CLIENT,
        "Client traffic beside the page, joined by `+`: ping:every=3s[,size=84B] (echoed packets), beacon:every=10s[,size=1KB] (small HTTP requests; docs/radio.md)",
        |text, _| {
            let traffic = text.parse().map_err(|error: crate::TrafficError| {
                let hint = error.hint();
                crate::experiment::NameError { message: error.to_string(), hint }
            })?;
            put(traffic, |s, v| s.traffic = v)
        },
        |s| s.traffic.to_string(),
    )
    .value("KIND:every=TIME", "none")
    .repeated()
    .words("background traffic", "traffic {}", "")
    .tried_with(["ping:every=3s", "beacon:every=3s"]),
    row(
        "dns",
        "dns",
        NETWORK,
        "Name resolution: off (a hosts file), on (DNS over the network), or DNS settings: at=first-hop,think=1ms,hit=80%,miss=100ms,ask=a+aaaa,retry=chrome,prefetch=on (docs/tls.md)",
        |text, _| parsed(text, |s, v| s.resolution = v),
        |s| s.resolution.to_string(),
    )
    .value("DNS", "off")
    .repeated()
    .words("DNS", "DNS {}", "")
    .needs(&[(is_loader, "Chromium is told the hosts' addresses here and asks no DNS: use the client `loader`, or dns `off`")])
    .tried_with(["on", "hit=50%"]),
    row(
        "record",
        "record",
        JOURNEY,
        "Time series to record, comma-separated: windows, throughput, packets, radio, departures (default: none; world sim only; docs/store.md)",
        |text, _| parsed(text, |s, v| s.record = v),
        |s| s.record.to_string(),
    )
    .value("WHAT", "")
    .repeated()
    .words("recorded", "recording {}", "")
    .unset("nothing")
    .needs(&[(|s| !(s.record.needs_movements() && s.stack.protocol.is_quic()), "windows and departures are recorded of TCP: leave them out of `record` with h3-deployed or h3-matched")])
    .tried_with(["windows", "packets"]),
];

/// Mbit/s, or `unlimited`.
fn rate_cell(rate: Option<u64>) -> String {
    match rate {
        Some(rate) if rate == units::BitsPerSec::UNLIMITED.0 => "unlimited".to_owned(),
        rate => or_empty(rate.map(|rate| rate as f64 / 1e6)),
    }
}

/// Returns true if a journey has an order of pages, a pace and something to keep.
fn has_several_visits(scenario: &Scenario) -> bool {
    scenario.visits_each() > 1 && scenario.client.view == View::Cold
}
