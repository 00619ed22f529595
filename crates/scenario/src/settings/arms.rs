//! Compared alternatives: route, transport, stack, order of responses.

use super::ValueKind::{Names, Truth, Whole};
use super::read::{
    is_loader, megabits, milliseconds, named, or_empty, parsed, put, refused, tcp_knob,
};
use super::{ColumnType, Setting, row};
use crate::network::{duration_text, rate_text};
use crate::{
    H3Discovery, NotsentLowat, PrioritiesRef, Protocol, Push, Route, Scenario, Scheduler, Serving,
    Stretch, Tcp, Tls, Transport, Udp,
};

const NETWORK: &str = "Network";
const TRANSPORT: &str = "Transport";
const STACK: &str = "Stack";
const CLIENT: &str = "Client";
const SERVERS: &str = "Servers";

const NO_QUIC: &str = "no arm runs on QUIC";
const ADD_QUIC: &str = "add the protocol h3-deployed or h3-matched";
const TOLD_BEFOREHAND: &str = "Chromium is told beforehand who speaks HTTP/3: it believes no Alt-Svc of a certificate that only farlink knows; load with farlink's own loader (client `loader`), or leave h3-discovery prior-knowledge and UDP open";

pub(super) const ROWS: &[Setting] = &[
    row(
        "proxy_rtt",
        "",
        NETWORK,
        "Round-trip time beyond the proxy, for routes that do not set it",
        |text, _| {
            let rtt = Stretch::parse_rtt(text).map_err(refused)?;
            put(rtt, |s, v| s.route.stretch.rtt_ns = Some(v))
        },
        |s| or_empty(s.route.stretch.rtt_ns.map(duration_text)),
    )
    .within("route")
    .words("RTT beyond the proxy", "{} beyond", "")
    .number_of("ms", |s| Some(milliseconds(s.route.stretch.rtt_ns.unwrap_or(0))))
    .tried_with(["10ms", "20ms"]),
    row(
        "proxy_rate",
        "",
        NETWORK,
        "Rate beyond the proxy, for routes that do not set it",
        |text, _| {
            let rate = Stretch::parse_rate(text).map_err(refused)?;
            put(rate, |s, v| s.route.stretch.rate_bit_per_s = Some(v))
        },
        |s| or_empty(s.route.stretch.rate_bit_per_s.map(rate_text)),
    )
    .within("route")
    .words("rate beyond the proxy", "{} beyond", "")
    .unset("unlimited")
    .number_of("Mbit/s", |s| megabits(s.route.stretch.rate_bit_per_s))
    .tried_with(["1mbit", "2mbit"]),
    row(
        "proxy_loss",
        "",
        NETWORK,
        "Packet loss beyond the proxy, for routes that do not set it",
        |text, _| {
            let loss = Stretch::parse_loss(text).map_err(refused)?;
            put(loss, |s, v| s.route.stretch.loss_ratio = Some(v))
        },
        |s| or_empty(s.route.stretch.loss_ratio),
    )
    .within("route")
    .words("loss beyond the proxy", "{} beyond", "")
    .number_of("%", |s| Some(s.route.stretch.loss_ratio.unwrap_or(0.0) * 100.0))
    .tried_with(["1%", "2%"]),
    row(
        "route",
        "route",
        NETWORK,
        "Route to the page's hosts: direct, proxy, caching-proxy, socks or pep; with the product to imitate (apache, mod_spdy, squid-3.1, nokia-netty) and settings of the proxy and the network beyond: caching-proxy:nokia-netty,rtt=50ms,rate=100mbit,cache=primed; pep,channels=2,prefetch=off. at=first-hop moves the proxy to the first hop; `/` chains two: caching-proxy,at=first-hop/caching-proxy. proxy,pac=FILE selects a port or the direct route for each request by a PAC file (docs/routes.md)",
        |text, catalogue| {
            let route: Route = text.parse().map_err(refused)?;
            let pac_digest = match route.pac.path() {
                Some(path) => catalogue.pac(path)?,
                None => None,
            };
            put((route, pac_digest), |s, (v, pac_digest)| {
                let stretch = v.stretch.or(s.route.stretch);
                (*s.route, s.pac_digest) = (Route { stretch, ..v }, pac_digest);
            })
        },
        |s| s.route.to_string(),
    )
    .value("ROUTE", "direct")
    .repeated()
    .arm()
    .words("route", "route {}", "{}")
    .tried_with(["pep", "proxy"]),
    row(
        "transport.tcp",
        "tcp",
        TRANSPORT,
        "TCP at both ends: a generation (linux-2.6.32, linux-3.0, linux-3.2, linux-3.10, linux-6), optionally with knobs: linux-3.2,hz=250 (docs/transports.md)",
        |text, _| parsed(text, |s, v: Tcp| *s.transport = Transport::both(v)),
        |s| s.transport.server.to_string(),
    )
    .value("TCP", "linux-6")
    .repeated()
    .arm()
    .column("tcp_server")
    .words("TCP", "TCP {}", "{}")
    .tried_with(["linux-3.2", "linux-6,hz=250"]),
    row(
        "transport.congestion",
        "congestion",
        TRANSPORT,
        "Congestion control algorithm (default: the TCP generation's)",
        |text, _| tcp_knob("cc", text),
        |s| s.transport.server.knob("cc"),
    )
    .value("NAME", "")
    .arm()
    .within("transport.tcp")
    .column("congestion")
    .unlisted()
    .tried_with(["reno", "bbr"]),
    row(
        "transport.initial_window_segments",
        "initial-window",
        TRANSPORT,
        "Initial congestion window, in segments (default: the TCP generation's)",
        |text, _| tcp_knob("iw", text),
        |s| s.transport.server.knob("iw"),
    )
    .kind(Whole(1, 1_000))
    .value("SEGMENTS", "")
    .arm()
    .within("transport.tcp")
    .column("initial_window_segments")
    .unlisted(),
    row(
        "transport.slow_start_after_idle",
        "slow-start-after-idle",
        TRANSPORT,
        "Slow start after an idle period (default: the TCP generation's)",
        |text, _| tcp_knob("slow-start-after-idle", text),
        |s| s.transport.server.knob("slow-start-after-idle"),
    )
    .kind(Truth)
    .value("ON", "")
    .arm()
    .within("transport.tcp")
    .column("slow_start_after_idle")
    .unlisted(),
    row(
        "transport.client_tcp",
        "client-tcp",
        TRANSPORT,
        "TCP at the client, if different: linux-6,acks=windows-7",
        |text, _| parsed(text, |s, v: Tcp| s.transport.client = v),
        |s| match s.transport.client == s.transport.server {
            true => String::new(),
            false => s.transport.client.to_string(),
        },
    )
    .cells(ColumnType::Text, |s| s.transport.client.to_string())
    .value("TCP", "")
    .repeated()
    .arm()
    .column("tcp_client")
    .words("client TCP", "client TCP {}", "")
    .unset("the same")
    .tried_with(["linux-3.0", "linux-3.2"]),
    row(
        "stack.tls",
        "tls",
        STACK,
        "TLS version: none, tls10 (a model), tls12, tls13",
        |text, _| named(text, |s, v| s.stack.tls = v),
        |s| s.stack.tls.to_string(),
    )
    .kind(Names(Tls::names, Tls::spellings))
    .value("TLS", "tls13")
    .arm()
    .column("tls")
    .words("security", "{}", "")
    .text_of(|s| s.stack.tls.title().to_owned()),
    row(
        "stack.security",
        "security",
        STACK,
        "TLS settings: resume=session (never, 0rtt), chain=4KB, key=rsa-2048 (ed25519, ecdsa-p256), group=x25519mlkem768 (x25519), staple=1.5KB, records=4KB (dynamic), false-start=on (docs/tls.md)",
        |text, _| parsed(text, |s, v| s.security = v),
        |s| s.security.to_string(),
    )
    .value("KNOBS", "")
    .repeated()
    .arm()
    .only(|s| s.stack.tls != Tls::None, "no arm uses TLS", "add tls tls12 or tls13")
    .column("security")
    .words("TLS settings", "TLS with {}", "TLS {}")
    .unset("default")
    .tried_with(["chain=4KB", "chain=8KB"]),
    row(
        "stack.connections_per_host",
        "connections-per-host",
        STACK,
        "Maximum concurrent connections per host, for any protocol (default: the browser's)",
        |text, _| parsed(text, |s, v| s.stack.connections_per_host = Some(v)),
        |s| or_empty(s.stack.connections_per_host),
    )
    .kind(Whole(1, 10_000))
    .value("N", "")
    .arm()
    .column("connections_per_host")
    .words("connections per host", "{} connections per host", "{} conn./host")
    .unset("policy"),
    row(
        "stack.connections_total",
        "connections-total",
        STACK,
        "Maximum concurrent connections in total (default: the browser's)",
        |text, _| parsed(text, |s, v| s.stack.connections_total = Some(v)),
        |s| or_empty(s.stack.connections_total),
    )
    .kind(Whole(1, 10_000))
    .value("N", "")
    .arm()
    .column("connections_total")
    .words("connections in total", "{} connections in total", "{} conn. in total")
    .unset("policy"),
    row(
        "stack.pipeline_depth",
        "pipeline-depth",
        STACK,
        "Maximum requests in flight per connection with h1-pipelined (default: the browser's)",
        |text, _| parsed(text, |s, v| s.stack.pipeline_depth = Some(v)),
        |s| or_empty(s.stack.pipeline_depth),
    )
    .kind(Whole(1, 10_000))
    .value("N", "")
    .arm()
    .column("pipeline_depth")
    .words("pipeline depth", "pipelines of {}", "")
    .unset("policy"),
    row(
        "stack.h3_discovery",
        "h3-discovery",
        STACK,
        "Discovery of HTTP/3 support: prior-knowledge, alt-svc, https-record (docs/quic.md)",
        |text, _| named(text, |s, v| s.discovery.h3 = v),
        |s| s.discovery.h3.to_string(),
    )
    .kind(Names(H3Discovery::names, H3Discovery::spellings))
    .value("HOW", "prior-knowledge")
    .arm()
    .only(|s| s.stack.protocol.is_quic(), NO_QUIC, ADD_QUIC)
    .column("h3_discovery")
    .words("HTTP/3 discovery", "HTTP/3 discovery {}", "HTTP/3 by {}")
    .needs(&[
    (|s| s.discovery.h3 != H3Discovery::HttpsRecord || !s.resolution.is_by_hosts(), "HTTPS records come with names' addresses, and no names are resolved: add dns `on`, or use h3-discovery prior-knowledge or alt-svc"),
    (is_loader, TOLD_BEFOREHAND),
    ]),
    row(
        "stack.udp",
        "udp",
        NETWORK,
        "UDP to the servers: open, or blocked (all dropped, as some networks do); affects QUIC only",
        |text, _| named(text, |s, v| s.discovery.udp = v),
        |s| s.discovery.udp.to_string(),
    )
    .kind(Names(Udp::names, Udp::spellings))
    .value("HOW", "open")
    .arm()
    .only(|s| s.stack.protocol.is_quic(), NO_QUIC, ADD_QUIC)
    .column("udp")
    .words("UDP", "UDP {}", "")
    .needs(&[(is_loader, TOLD_BEFOREHAND)]),
    row(
        "stack.protocol",
        "protocol",
        STACK,
        "Protocol: h1.0, h1, h1-pipelined, h2, spdy (SPDY/3.1), spdy/3, spdy/2, h3-deployed (quinn's defaults; alias h3), h3-matched (QUIC configured like TCP), recorded (the HAR's)",
        |text, _| named(text, |s, v| s.stack.protocol = v),
        |s| s.stack.protocol.to_string(),
    )
    .kind(Names(Protocol::names, Protocol::spellings))
    .value("PROTOCOL", "h2")
    .arm()
    .column("protocol")
    .words("protocol", "{}", ""),
    row(
        "transport.quic",
        "quic",
        TRANSPORT,
        "QUIC settings for h3-deployed and h3-matched: cc=newreno,iw=32,0rtt=off,migrate-at=2s (docs/quic.md)",
        |text, _| parsed(text, |s, v| s.quic = v),
        |s| s.quic.to_string(),
    )
    .value("KNOBS", "")
    .repeated()
    .arm()
    .only(|s| s.stack.protocol.is_quic(), NO_QUIC, ADD_QUIC)
    .column("quic")
    .words("QUIC", "QUIC with {}", "QUIC {}")
    .unset("default")
    .needs(&[(|s| is_loader(s) || s.quic.migrate_at_ns.is_none(), "Chromium keeps its address: migrate-at moves farlink's own loader (client `loader`)")])
    .tried_with(["iw=20", "iw=32"]),
    row(
        "stack.multiplexing",
        "multiplexing",
        STACK,
        "Flow-control windows and settings of h2 and SPDY: stream-window=64KB,connection-window=64KiB,streams=8,header-table=0B,header-compression=off (docs/protocols.md)",
        |text, _| parsed(text, |s, v| s.multiplexing = v),
        |s| s.multiplexing.to_string(),
    )
    .value("KNOBS", "")
    .repeated()
    .arm()
    .only(
        |s| s.stack.protocol.is_multiplexed(),
        "no arm uses h2 or SPDY",
        "add the protocol h2 or spdy",
    )
    .column("multiplexing")
    .words("multiplexing", "multiplexing with {}", "multiplexing {}")
    .unset("Chrome's")
    .needs(&[(is_loader, "Chromium's windows and tables are its own: turn multiplexing's knobs for farlink's loader (client `loader`)")])
    .tried_with(["streams=8", "streams=9"]),
    row(
        "server.keep_alive",
        "keep-alive",
        SERVERS,
        "Idle timeout and request limit of HTTP/1.1 connections: idle=5s,requests=100 (default: 75 s, no limit; docs/browsers.md)",
        |text, _| parsed(text, |s, v| s.keep_alive = v),
        |s| s.keep_alive.to_string(),
    )
    .value("idle=TIME,requests=N", "")
    .repeated()
    .only(
        |s| s.stack.protocol.keeps_alive(),
        "no arm uses persistent HTTP/1.1 connections",
        "add the protocol h1 or h1-pipelined",
    )
    .column("keep_alive")
    .words("keep-alive", "keep-alive {}", "")
    .unset("default")
    .tried_with(["idle=5s", "requests=100"]),
    row(
        "client.priorities",
        "priorities",
        CLIENT,
        "Resource priorities that the client assigns and signals: chrome-2013, chrome, safari, equal, or a TOML file (default: the page's own, not signalled over HTTP/2 and HTTP/3; docs/priorities.md)",
        |text, catalogue| {
            let digest = catalogue.priorities(text)?;
            let mapping = PrioritiesRef { name: text.to_owned(), digest };
            put(mapping, |s, v| s.priorities = Some(v))
        },
        |s| or_empty(s.priorities.as_ref().map(|mapping| &mapping.name)),
    )
    .value("NAME", "")
    .arm()
    .column("priorities")
    .words("priorities", "priorities {}", "")
    .unset("the page's own")
    .needs(&[(is_loader, "Chromium has its own priorities: leave the mapping out, or use the client `loader`")])
    .tried_with(["chrome", "equal"]),
    row(
        "server.scheduler",
        "scheduler",
        SERVERS,
        "Scheduler of responses that share a connection: fifo, round-robin, strict (by SPDY's priority or RFC 9218's urgency), tree (RFC 7540), rfc9218 (default: strict over SPDY, round-robin over HTTP/2; docs/priorities.md)",
        |text, _| named(text, |s, v| s.serving.scheduler = Some(v)),
        |s| or_empty(s.serving.scheduler),
    )
    .kind(Names(Scheduler::names, Scheduler::spellings))
    .value("NAME", "")
    .arm()
    .column("scheduler")
    .words("scheduler", "scheduler {}", "{}")
    .unset("protocol's")
    .needs(&[
        (
            |s| !s.stack.protocol.is_h1(),
            "HTTP/1 answers in the order of requests: a scheduler needs a protocol that multiplexes (spdy, h2)",
        ),
        (
            |s| s.stack.protocol != Protocol::Recorded,
            "hosts of several protocols have no scheduler in common: name one protocol",
        ),
        (
            |s| !s.stack.protocol.is_spdy() || !schedules(s, &[Scheduler::Tree, Scheduler::Rfc9218]),
            "SPDY says three bits of a request's priority: scheduler strict reads them; tree and rfc9218 need h2",
        ),
        (
            |s| !s.stack.protocol.is_quic() || !schedules(s, &[Scheduler::Tree]),
            "HTTP/3 has no tree of dependencies (RFC 9114 appendix A.2.3): use rfc9218",
        ),
        (
            |s| {
                let reads = [Scheduler::Strict, Scheduler::Tree, Scheduler::Rfc9218];
                let sends = s.stack.protocol.is_spdy() || s.priorities.is_some() || !is_loader(s);
                sends || !schedules(s, &reads)
            },
            "the scheduler reads priorities that the client does not send: add priorities (chrome, safari, equal or a file)",
        ),
    ]),
    row(
        "server.push",
        "push",
        SERVERS,
        "Objects that servers push with a document: none, css, blocking (style sheets, and scripts requested before images), all (default: none; h2 and spdy only; docs/priorities.md)",
        |text, _| named(text, |s, v| s.serving.push = Some(v)),
        |s| or_empty(s.serving.push),
    )
    .kind(Names(Push::names, Push::spellings))
    .value("WHAT", "")
    .arm()
    .only(
        |s| s.stack.protocol.pushes(),
        "no arm supports server push",
        "add the protocol h2 or spdy",
    )
    .column("push")
    .words("pushed", "push {}", "")
    .unset("nothing")
    .needs(&[(is_loader, "Chromium refuses pushed responses since version 106: use the client `loader`")]),
    row(
        "server.frame",
        "frame",
        SERVERS,
        "Maximum payload of servers' DATA frames: 4KB (default: 16 KB less the response's head)",
        |text, _| {
            let size = Serving::parse_frame(text).map_err(refused)?;
            put(size, |s, v| s.serving.frame_bytes = Some(v))
        },
        |s| or_empty(s.serving.frame_bytes.map(|bytes| format!("{bytes}B"))),
    )
    .value("SIZE", "")
    .cells(ColumnType::Whole, |s| or_empty(s.serving.frame_bytes))
    .arm()
    .column("frame_bytes")
    .words("DATA frames", "frames of {}", "frames {}")
    .unset("default")
    .text_of(|s| or_empty(s.serving.frame_bytes.map(|bytes| format!("{bytes} B"))))
    .needs(&[(|s| !s.stack.protocol.is_h1() && !s.stack.protocol.is_quic(), "frames of a given size are HTTP/2's and SPDY's: use them with h2 or spdy")])
    .tried_with(["4KB", "8KB"]),
    row(
        "server.notsent_lowat",
        "notsent-lowat",
        SERVERS,
        "TCP_NOTSENT_LOWAT of the servers' sockets, whose unsent bytes can no longer be reordered: 64KB, or unlimited (default: 16 KiB)",
        |text, _| {
            let limit = NotsentLowat::parse(text).map_err(refused)?;
            put(limit, |s, v| s.serving.notsent_lowat = Some(v))
        },
        |s| or_empty(s.serving.notsent_lowat),
    )
    .value("SIZE", "")
    .arm()
    .column("notsent_lowat")
    .words("notsent lowat", "notsent lowat {}", "notsent lowat {}")
    .unset("default")
    .needs(&[(|s| !s.stack.protocol.is_quic(), "what lies unsent in TCP means nothing to QUIC: use it with a protocol over TCP")])
    .tried_with(["4KB", "8KB"]),
];

/// Returns true if servers have one of these schedulers.
fn schedules(scenario: &Scenario, schedulers: &[Scheduler]) -> bool {
    scenario.serving.scheduler.is_some_and(|scheduler| schedulers.contains(&scheduler))
}
