//! Contradictions within a route, and between a route and the rest of a scenario.

use super::super::{Program, Protocol, Scenario, Tls, World};
use super::{PepSettings, ProxyPlace, ProxySettings, Route, RouteKind, Stretch, Via};

/// A forbidden combination, and the reason.
type RouteRule = (bool, &'static str);

impl Route {
    /// A setting that does not apply to the kind of route.
    pub(super) fn useless(&self) -> Option<&'static str> {
        let usual = ProxySettings::default();
        let turns_proxy = self.settings != usual;
        match self.kind {
            kind if kind != RouteKind::Pep && self.pep != PepSettings::default() => Some(
                "near-rtt, leg, fec, channels, prefetch, leg-congestion, iw and bypass are a PEP's: use the route `pep`",
            ),
            kind if self.pac.is_named() && !self.has_http_proxy() => Some(match kind {
                RouteKind::Socks => {
                    "a PAC file says what goes to a proxy of HTTP here: leave pac out, or use the route `proxy`"
                }
                _ => {
                    "a PAC file says what goes to a proxy of HTTP: use it with the route `proxy` or `caching-proxy`"
                }
            }),
            RouteKind::Direct if turns_proxy => Some(
                "the direct route has no proxy to be set: leave rtt, rate and loss alone, or use `proxy`",
            ),
            RouteKind::Pep if turns_proxy => Some(
                "nobody asks a PEP, which opens the connections that clients open: via, upstream, upstream-total, keep-alive, workers, cache, compress and at are those of `proxy`",
            ),
            RouteKind::Socks if turns_proxy => Some(
                "a proxy of SOCKS opens a connection for each of its clients', and reads none: via, upstream, upstream-total, keep-alive, workers, cache and compress are those of `proxy`",
            ),
            RouteKind::Pep if self.pep.fec.is_some() && !self.pep.is_over_quic() => Some(
                "parity goes below what repairs losses, which TCP does in the kernel: use leg=quic with fec",
            ),
            RouteKind::Pep if self.pep.is_over_quic() && self.pep.channels.is_some() => Some(
                "channels are TCP's: a leg of QUIC is one connection, in which nothing waits for what another stream has lost; leave channels out, or use leg=tcp",
            ),
            RouteKind::Proxy if self.settings.cache != usual.cache => {
                Some("this proxy has no cache: use `caching-proxy`")
            }
            _ => None,
        }
    }

    /// The reason why `behind` cannot stand behind this, with `more` routes behind it.
    pub(super) fn unchained(&self, behind: &Route, more: usize) -> Option<&'static str> {
        let are_proxies = self.has_http_proxy() && behind.has_http_proxy();
        let tunnels = [self, behind].iter().any(|route| route.settings.via == Via::Connect);
        first(&[
            (
                more > 0,
                "two proxies at the most stand between clients and hosts: leave the third out",
            ),
            (
                !are_proxies,
                "a slash stands between two proxies: each is `proxy` or `caching-proxy`",
            ),
            (
                tunnels,
                "proxies ask each other for resources: leave via=connect out, or one of the two proxies",
            ),
            (
                behind.pac.is_named(),
                "clients go by the PAC file, and speak with the first proxy: write pac in front of the slash",
            ),
            (
                self.stretch != Stretch::default(),
                "rtt, rate and loss are said of the way beyond the last proxy: write them behind the slash",
            ),
        ])
    }

    /// The reason why the route contradicts the rest of the scenario.
    pub(in super::super) fn contradiction(&self, scenario: &Scenario) -> Option<&'static str> {
        match self.kind {
            RouteKind::Direct => None,
            RouteKind::Proxy | RouteKind::CachingProxy => first(&self.proxy_rules(scenario)),
            RouteKind::Socks => first(&socks_rules(scenario)),
            RouteKind::Pep => first(&pep_rules(scenario)),
        }
    }

    fn proxy_rules(&self, scenario: &Scenario) -> [RouteRule; 10] {
        let stack = &scenario.stack;
        let (is_tunnel, workers) = (self.settings.via == Via::Connect, self.settings.workers);
        [
            (
                stack.protocol.is_quic(),
                "a proxy of HTTP carries no QUIC: use h1, h2 or spdy through it, or route `direct`",
            ),
            (
                is_tunnel && stack.tls == Tls::None,
                "browsers ask for tunnels to speak TLS in them: use via=connect with tls12 or tls13, or via=get",
            ),
            (
                is_tunnel && self.kind == RouteKind::CachingProxy,
                "what passes a tunnel is hidden from the proxy's cache: use via=get, or route `proxy`",
            ),
            (
                is_tunnel && (workers.is_some() || self.settings.upstream.is_some()),
                "a tunnel is no request that could wait for a worker or an upstream connection: leave workers and upstream out, or use via=get",
            ),
            (
                is_tunnel && self.compresses(),
                "what passes a tunnel is hidden from the proxy, which could not compress it: use via=get, or leave compress out",
            ),
            (
                self.compresses() && scenario.client.program == Program::Chromium,
                "the files that are made for a browser do not shrink as the page's own: use the client `loader`, or leave compress out",
            ),
            (
                stack.protocol == Protocol::Recorded && !is_tunnel,
                "a proxy speaks one protocol with its clients: name it instead of `recorded`",
            ),
            (
                !scenario.resolution.is_by_hosts(),
                "the proxy finds the hosts' addresses, and clients were told its own: use dns `off` with it",
            ),
            (
                scenario.serving.push.is_some(),
                "the proxy pushes nothing: leave push out, or use route `direct`",
            ),
            (
                scenario.world != World::Sim
                    && self.tiers().iter().any(|tier| tier.settings.at != ProxyPlace::FarEnd),
                "emulated proxies stand at the network's far end alone: leave `at` out, or use the world `sim`",
            ),
        ]
    }
}

fn socks_rules(scenario: &Scenario) -> [RouteRule; 2] {
    [
        (
            scenario.stack.protocol.is_quic(),
            "SOCKS carries no QUIC here, since UDP ASSOCIATE is left out: use h1, h2 or spdy through it, or route `direct`",
        ),
        (
            !scenario.resolution.is_by_hosts(),
            "the proxy finds the hosts' addresses, and clients were told its own: use dns `off` with it",
        ),
    ]
}

fn pep_rules(scenario: &Scenario) -> [RouteRule; 6] {
    let pep = &scenario.route.pep;
    let leg = pep.leg_tcp(scenario.transport.server.config()).congestion;
    [
        (
            pep.is_over_quic() && leg == congestion::Algorithm::Bbr,
            "QUIC cannot run BBR here: quinn paces by the window alone and not at the rate that BBR asks for; use leg-congestion=cubic or leg-congestion=reno with leg=quic",
        ),
        (
            scenario.stack.protocol.is_quic(),
            "a PEP splits TCP and lets QUIC pass as it is: use h1, h2 or spdy with it, or route `direct`",
        ),
        (
            !scenario.clients.is_one_alone(),
            "whose packet is whose cannot be told on a leg that several clients share: use one client with a PEP",
        ),
        (
            !scenario.resolution.is_by_hosts(),
            "names are not resolved beside a PEP here: use dns `off` with it",
        ),
        (
            !scenario.traffic.is_none(),
            "background traffic beside a PEP is not modelled: leave it out, or use route `direct`",
        ),
        (
            scenario.client.program == Program::Chromium,
            "a real Chromium is led through no PEP here: use the client `loader`, or another route",
        ),
    ]
}

/// The first rule that holds.
fn first(rules: &[RouteRule]) -> Option<&'static str> {
    rules.iter().find(|(holds, _)| *holds).map(|(_, why)| *why)
}
