use super::super::{NetworkSpec, Scenario, Tls, World};
use super::*;

fn read(text: &str) -> Route {
    text.parse().unwrap()
}

fn refusal(text: &str) -> String {
    text.parse::<Route>().unwrap_err().to_string()
}

#[test]
fn what_is_written_is_read() {
    let all = "caching-proxy:nokia-netty,rtt=50ms,rate=100mbit,upstream=8,upstream-total=64,keep-alive=off,workers=3,cache=0.6,compress=all";
    for text in [
        "direct",
        "direct,rtt=50ms",
        "proxy",
        "proxy,via=connect",
        "caching-proxy,cache=primed",
        "socks",
        "socks,rtt=50ms,rate=100mbit",
        all,
        "pep",
        "pep,rtt=20ms,near-rtt=2ms,channels=4,prefetch=off,leg-congestion=bbr,iw=32,bypass=a.test+b.test",
        "pep,prefetch=0",
        "pep,leg=tcp,channels=2",
        "pep,near-rtt=2ms,leg=quic,fec=10,prefetch=off,leg-congestion=reno",
        "proxy,at=first-hop",
        "caching-proxy:squid-3.1,cache=primed,at=hop.2",
        "caching-proxy,cache=0.6,at=first-hop/caching-proxy:nokia-netty,rtt=50ms,upstream=8,cache=primed",
        "proxy,upstream=4,at=first-hop/proxy,at=hop.1",
    ] {
        assert_eq!(read(text).to_string(), text);
        assert_eq!(read(text).is_usual(), text == "direct");
    }
    assert_eq!(read(" proxy : apache , rtt = 0.05s ").to_string(), "proxy:apache,rtt=50ms");
    assert_eq!(read("caching-proxy,cache=60%"), read("caching-proxy,cache=0.6"));
}

#[test]
fn anything_else_is_refused() {
    for (text, says) in [
        ("caching", "did you mean `caching-proxy`?"),
        ("proxy:apach", "did you mean `apache`?"),
        ("direct:apache", "the route `direct` has no proxy of HTTP"),
        ("pep:apache", "the route `pep` has no proxy of HTTP"),
        ("socks:apache", "the route `socks` has no proxy of HTTP"),
        ("socks,via=connect", "reads none"),
        ("socks,cache=primed", "reads none"),
        ("pep,via=connect", "nobody asks a PEP"),
        ("proxy,channels=2", "use the route `pep`"),
        ("pep,prefetch=on", "off, or how many levels"),
        ("pep,leg-congestion=fast", "cubic, reno, bbr"),
        ("pep,leg=udp", "tcp or quic"),
        ("pep,fec=10", "use leg=quic"),
        ("pep,leg=tcp,fec=10", "use leg=quic"),
        ("pep,leg=quic,fec=64", "1 to 63"),
        ("pep,leg=quic,channels=2", "channels are TCP's"),
        ("proxy,leg=quic", "use the route `pep`"),
        ("pep,bypass=a.test+", "hosts of the page"),
        ("direct,workers=1", "no proxy to be set"),
        ("proxy,cache=primed", "use `caching-proxy`"),
        ("caching-proxy,cache=warm", "cold, primed, or the share"),
        ("proxy,compress=br", "off, on or all"),
        ("direct,compress=on", "the direct route has no proxy"),
        ("proxy,rtt=1ms,rtt=2ms", "set twice"),
        ("proxy,rtt=50", "a time of 0ms to 60s"),
        ("proxy,upstream=0", "from 1 to 10000"),
        ("proxy,delay=1ms", "there are rtt, rate and loss;"),
        ("direct,at=first-hop", "no proxy to be set"),
        ("proxy,at=hop.0", "first-hop, far-end, or a hop of the network"),
        ("proxy,at=s1", "first-hop, far-end, or a hop of the network"),
        ("proxy/proxy/proxy", "two proxies at the most"),
        ("direct/proxy", "a slash stands between two proxies"),
        ("proxy/socks", "a slash stands between two proxies"),
        ("proxy/pep", "a slash stands between two proxies"),
        ("proxy/proxy,via=connect", "leave via=connect out"),
        ("proxy,rtt=10ms/proxy", "write them behind the slash"),
        ("proxy/proxy,cache=primed", "use `caching-proxy`"),
    ] {
        let error = refusal(text);
        assert!(error.contains(says), "{text}: {error}");
    }
}

#[test]
fn a_proxy_has_what_is_typed_else_what_it_is_like() {
    let of = |route: &str, protocol| read(route).resolved(protocol);
    assert_eq!(of("proxy:mod_spdy", Protocol::Spdy).workers, Some(10));
    assert_eq!(of("proxy:mod_spdy", Protocol::H1).workers, None);
    assert_eq!(of("proxy:mod_spdy,workers=3", Protocol::H1).workers, Some(3));
    assert_eq!(of("proxy:apache", Protocol::H1).keep_alive, Some(false));
    assert_eq!(of("proxy", Protocol::H2), ProxySettings::default());
    assert!(ProxyPreset::all().len() >= 4);
}

#[test]
fn proxies_are_told_from_the_clients_on() {
    let route = read("caching-proxy:nokia-netty,at=first-hop/proxy:apache,rtt=10ms");
    let tiers = route.tiers();
    let likes: Vec<_> = tiers.iter().map(|tier| tier.like.as_deref().unwrap()).collect();
    assert_eq!(likes, ["nokia-netty", "apache"]);
    assert_eq!((tiers[0].caches(), tiers[1].caches(), route.has_cache()), (true, false, true));
    assert_eq!(
        (route.stretch.rtt_ns, tiers[0].resolved(Protocol::H1).upstream),
        (Some(10_000_000), Some(10))
    );
    let note = route.note().unwrap();
    assert!(note.contains("at the far end of the network's first hop; it asks for all"), "{note}");
    assert!(read("direct").tiers().is_empty() && read("pep").tiers().is_empty());
    let places = |of_network| {
        ["first-hop", "hop.1", "far-end"]
            .map(|at| read(&format!("proxy,at={at}")).settings.at.hops(of_network))
    };
    assert_eq!(places(1), [Some(1), None, Some(1)]);
    assert_eq!(places(3), [Some(1), Some(2), Some(3)]);
}

#[test]
fn emulated_proxies_stand_at_the_far_end() {
    let mut scenario = Scenario::new("synthetic:1x1KB", NetworkSpec::default());
    (scenario.stack.protocol, scenario.stack.tls) = (Protocol::H1, Tls::None);
    *scenario.route = read("proxy,at=first-hop");
    assert_eq!(scenario.contradiction(), None);
    scenario.world = World::Emu;
    assert!(scenario.contradiction().unwrap().contains("leave `at` out"));
}

#[test]
fn what_no_proxy_can_do_is_refused() {
    let refused = |route: &str, protocol, tls| {
        let mut scenario = Scenario::new("synthetic:1x1KB", NetworkSpec::default());
        (*scenario.route, scenario.stack.protocol, scenario.stack.tls) =
            (read(route), protocol, tls);
        scenario.contradiction()
    };
    assert_eq!(refused("proxy", Protocol::Spdy, Tls::Tls12), None);
    assert_eq!(refused("direct,rtt=50ms", Protocol::H3Deployed, Tls::Tls13), None);
    assert_eq!(refused("socks", Protocol::H1, Tls::None), None);
    assert_eq!(refused("socks", Protocol::Recorded, Tls::Tls13), None);
    for (route, protocol, tls, says) in [
        ("proxy", Protocol::H3Deployed, Tls::Tls13, "no QUIC"),
        ("proxy,via=connect", Protocol::H1, Tls::None, "TLS in them"),
        ("socks", Protocol::H3Deployed, Tls::Tls13, "SOCKS carries no QUIC"),
        ("caching-proxy,via=connect", Protocol::H1, Tls::Tls13, "hidden"),
        ("pep,leg=quic,leg-congestion=bbr", Protocol::H1, Tls::Tls13, "cannot run BBR"),
        ("proxy", Protocol::Recorded, Tls::Tls13, "one protocol"),
    ] {
        assert!(refused(route, protocol, tls).unwrap().contains(says), "{route}");
    }
}

#[test]
fn the_usual_route_is_not_written() {
    let mut scenario = Scenario::new("synthetic:1x1KB", NetworkSpec::default());
    assert!(!scenario.canonical().contains("route"));
    *scenario.route = read("proxy:apache,rtt=10ms");
    let text = scenario.canonical();
    assert!(text.ends_with(r#""route":"proxy:apache,rtt=10ms"}"#), "{text}");
    assert_eq!(Scenario::from_canonical(&text).unwrap(), scenario);
}

#[test]
fn what_a_pep_sees_is_a_fact() {
    let sight = |route: &str, protocol, tls| {
        let mut scenario = Scenario::new("synthetic:1x1KB", NetworkSpec::default());
        (*scenario.route, scenario.stack.protocol, scenario.stack.tls) =
            (read(route), protocol, tls);
        scenario.route.pep.sight(&scenario)
    };
    assert_eq!(sight("pep", Protocol::H1, Tls::Tls13), Sight::Secured);
    assert_eq!(sight("pep", Protocol::H1, Tls::None), Sight::Requests);
    assert_eq!(sight("pep", Protocol::H10, Tls::None), Sight::Requests);
    assert_eq!(sight("pep,prefetch=off", Protocol::H1, Tls::None), Sight::Unread);
    assert_eq!(sight("pep", Protocol::Spdy, Tls::None), Sight::Unread);
}

#[test]
fn the_leg_is_warm_and_otherwise_the_servers() {
    let servers = tcp::Config::parse("linux-3.2,cc=reno").unwrap();
    let leg = read("pep").pep.leg_tcp(&servers);
    assert_eq!((leg.initial_window, leg.slow_start_after_idle), (64, false));
    assert_eq!((leg.congestion, leg.generation), (servers.congestion, servers.generation));
    let leg = read("pep,iw=20,leg-congestion=bbr").pep.leg_tcp(&servers);
    assert_eq!(leg.to_string(), "linux-3.2,iw=20,cc=bbr,slow-start-after-idle=off");
}
