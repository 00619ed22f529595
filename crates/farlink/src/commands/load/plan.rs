//! From the arguments of `farlink load` to a plan.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::str::FromStr;

use scenario::experiment::Catalogue;
use scenario::{
    BackgroundTraffic, ChoiceError, Clients, Discovery, Itinerary, KeepAlive, KnobError,
    Multiplexing, NetworkSpec, Nuisance, PrioritiesRef, Protocol, Push, Quic, Scenario, Security,
    Serving, Spacing, Tls, TrafficError, Transport, Udp, Unsent,
};
use scenario::{Order, Plan};

use lab::worlds::Worlds;
use tcp::SpecError;

use crate::args::{self, How, Load};
use crate::failure::Failure;

/// The plan that the arguments come to: a cell an arm.
pub fn plan(load: &Load, worlds: &Worlds) -> Result<Plan, Failure> {
    if load.repetitions == 0 {
        return Err(
            Failure::bad_input("-n 0 asks for no load at all").hint("give -n 1 or more".to_owned())
        );
    }
    if load.seed >= 1 << 63 {
        return Err(Failure::bad_input(format!("--seed {} is too large", load.seed))
            .hint("a seed is at most 9223372036854775807".to_owned()));
    }
    let common = common(load, worlds)?;
    let protocols: Vec<Protocol> = choices("--protocol", &load.how.protocol)?;
    let levels: Vec<Tls> = choices("--tls", &load.how.tls)?;
    let quic: Quic = knobs("--quic", load.how.quic.as_deref())?;
    let multiplexing: Multiplexing = knobs("--multiplexing", load.how.multiplexing.as_deref())?;
    let security: Security = knobs("--security", load.how.handshake.security.as_deref())?;
    let discovery = discovery(&load.how.discovery)?;
    let push: Option<Push> = load.how.order.push.as_deref().map(choice).transpose()?;
    let keep_alive: KeepAlive = knobs("--keep-alive", load.how.keep_alive.keep_alive.as_deref())?;
    let arms = protocols.iter().flat_map(|protocol| levels.iter().map(move |tls| (protocol, tls)));
    let cells = arms.map(|(protocol, tls)| {
        let mut scenario = common.clone();
        scenario.stack.protocol = *protocol;
        scenario.stack.tls = *tls;
        if protocol.is_quic() {
            scenario.quic = quic.clone();
            scenario.discovery = discovery;
        }
        if *tls != Tls::None {
            scenario.security = security.clone();
        }
        if protocol.is_multiplexed() {
            scenario.multiplexing = multiplexing.clone();
        }
        if protocol.keeps_alive() {
            scenario.keep_alive = keep_alive;
        }
        if protocol.pushes() {
            scenario.serving.push = push;
        }
        scenario
    });
    let cells: Vec<Scenario> = cells.collect();
    if load.how.quic.is_some() && !protocols.iter().any(|protocol| protocol.is_quic()) {
        return Err(Failure::bad_input("--quic turns nothing: no arm runs on QUIC")
            .hint("add --protocol h3-deployed or h3-matched".to_owned()));
    }
    if !keep_alive.is_usual() && !protocols.iter().any(|protocol| protocol.keeps_alive()) {
        return Err(Failure::bad_input(
            "--keep-alive turns nothing: no arm keeps connections of HTTP/1.1",
        )
        .hint("add --protocol h1 or h1-pipelined".to_owned()));
    }
    if push.is_some() && !protocols.iter().any(|protocol| protocol.pushes()) {
        return Err(Failure::bad_input("--push does nothing: no arm's servers push")
            .hint("add --protocol h2 or spdy".to_owned()));
    }
    if load.how.handshake.security.is_some() && levels.iter().all(|tls| *tls == Tls::None) {
        return Err(Failure::bad_input("--security turns nothing: no arm has TLS")
            .hint("add --tls tls12 or tls13".to_owned()));
    }
    if load.how.multiplexing.is_some() && !protocols.iter().any(|one| one.is_multiplexed()) {
        return Err(Failure::bad_input("--multiplexing turns nothing: no arm is h2 or SPDY")
            .hint("add --protocol h2 or spdy".to_owned()));
    }
    if load.how.discovery.is_asked_for() && !protocols.iter().any(|protocol| protocol.is_quic()) {
        let message = "--h3-discovery and --block-udp mean nothing: no arm runs on QUIC";
        return Err(
            Failure::bad_input(message).hint("add --protocol h3-deployed or h3-matched".to_owned())
        );
    }
    if let Some(contradiction) = cells.iter().find_map(Scenario::contradiction) {
        return Err(Failure::bad_input(contradiction));
    }
    let name = format!("{} over {}", load.page, load.how.network);
    Ok(Plan::new(&name, load.seed, load.repetitions, Order::Alternated, cells))
}

/// What all arms have in common.
fn common(load: &Load, worlds: &Worlds) -> Result<Scenario, Failure> {
    let (page, how) = (&load.page, &load.how);
    let network = NetworkSpec::parse(&how.network)
        .map_err(|error| Failure::bad_input(format!("--network {}: {error}", how.network)))?;
    let mut scenario = Scenario::new(page, network);
    scenario.page = lab::tour::page_ref(page);
    scenario.journey = journey(&how.journey)?;
    // A network that cannot be opened has none; it is refused when the scenario is prepared.
    scenario.network.base_digest =
        Catalogue::network(worlds.library(), &scenario.network).ok().flatten();
    scenario.stack.connections_per_host =
        at_least_one("--connections-per-host", how.connections_per_host)?;
    scenario.stack.connections_total = at_least_one("--connections-total", how.connections_total)?;
    scenario.stack.pipeline_depth = at_least_one("--pipeline-depth", how.pipeline_depth)?;
    scenario.transport = transport(how)?;
    scenario.world = choice(&how.world)?;
    scenario.release = choice(&how.release)?;
    scenario.clients = clients(how)?;
    scenario.client.program = choice(&how.client)?;
    scenario.client.device.clone_from(&how.device);
    scenario.client.device_digest = lab::tour::device_digest(&how.device);
    scenario.client.cpu_multiplier = multiplier(&how.cpu)?;
    scenario.client.browser.clone_from(&how.browser);
    scenario.client.view = choice(&how.view)?;
    scenario.request_heads = choice(&how.request_heads)?;
    scenario.traffic = traffic(&how.traffic)?;
    scenario.record = knobs("--record", how.recording.record.as_deref())?;
    let dns = &how.handshake.dns;
    scenario.resolution = dns
        .parse()
        .map_err(|error: KnobError| Failure::bad_input(format!("--dns {dns}: {error}")))?;
    let route = &how.route.route;
    scenario.route = route
        .parse()
        .map_err(|error: KnobError| Failure::bad_input(format!("--route {route}: {error}")))?;
    let blocked: BTreeSet<String> = how.block.iter().cloned().collect();
    scenario.client.blocked_hosts = blocked.into_iter().collect();
    scenario.server.origins = choice(&how.origins)?;
    scenario.hosting = choice(&how.hosting.hosting)?;
    scenario.server.workers = at_least_one("--workers", how.workers)?;
    let service = units::parse::duration(&how.service_time)
        .map_err(|error| Failure::bad_input(format!("--service-time: {error}")))?;
    scenario.server.service_time_ns = u64::try_from(service.as_nanos()).unwrap_or(u64::MAX);
    scenario.priorities = how.order.priorities.as_deref().map(priorities);
    scenario.serving = serving(&how.order)?;
    if how.no_nuisance {
        scenario.nuisance = Nuisance::Off;
    }
    Ok(scenario)
}

/// How many clients there are, and when each begins.
fn clients(how: &How) -> Result<Clients, Failure> {
    let (count, beside) = (how.clients, choice(&how.beside)?);
    if !(1..=Clients::MOST).contains(&count) {
        let message = format!("--clients {count}: there are 1 to {} of them", Clients::MOST);
        return Err(Failure::bad_input(message));
    }
    let start_spacing = Spacing::parse(&how.start_spacing)
        .map_err(|error| Failure::bad_input(format!("--start-spacing: {error}")))?;
    Ok(Clients { count, beside, start_spacing })
}

/// The way through the page, or the pages of a list.
fn journey(asked: &args::Journey) -> Result<Itinerary, Failure> {
    let args::Journey { times, page_order, pace, keeps } = asked;
    if !(1..=Itinerary::MOST_TIMES).contains(times) {
        let message = format!("--times {times}: it is from 1 to {}", Itinerary::MOST_TIMES);
        return Err(Failure::bad_input(message));
    }
    Ok(Itinerary {
        times: *times,
        order: knobs("--page-order", Some(page_order.as_str()))?,
        pace: knobs("--pace", Some(pace.as_str()))?,
        keeps: knobs("--keeps", Some(keeps.as_str()))?,
    })
}

/// All that is sent beside the page.
fn traffic(texts: &[String]) -> Result<BackgroundTraffic, Failure> {
    texts.iter().try_fold(BackgroundTraffic::default(), |traffic, text| {
        let more = text.parse().map_err(|error: TrafficError| {
            let hint = error.hint();
            Failure::bad_input(format!("--traffic {text}: {error}")).hint(hint)
        })?;
        Ok(traffic.and(more))
    })
}

/// TCP at both ends.
fn transport(how: &How) -> Result<Transport, Failure> {
    let bad = |option: &str, error: SpecError| Failure::bad_input(format!("{option}: {error}"));
    let tcp = how.tcp.parse().map_err(|error| bad("--tcp", error))?;
    let mut transport = Transport::both(tcp);
    if let Some(name) = &how.congestion {
        transport.set("cc", name).map_err(|error| bad("--congestion", error))?;
    }
    if let Some(window) = how.initial_window {
        let set = transport.set("iw", &window.to_string());
        set.map_err(|error| bad("--initial-window", error))?;
    }
    if let Some(client) = &how.client_tcp {
        transport.client = client.parse().map_err(|error| bad("--client-tcp", error))?;
    }
    Ok(transport)
}

/// A list of knobs.
fn knobs<K: FromStr<Err = KnobError>>(option: &str, typed: Option<&str>) -> Result<K, Failure> {
    let typed = typed.unwrap_or("");
    typed.parse().map_err(|error| Failure::bad_input(format!("{option}: {error}")))
}

/// How HTTP/3 is found.
fn discovery(asked: &args::Discovery) -> Result<Discovery, Failure> {
    let udp = if asked.block_udp { Udp::Blocked } else { Udp::Open };
    Ok(Discovery { h3: choice(&asked.h3_discovery)?, udp })
}

/// A mapping of resource types to priorities; whether there is such is seen when the scenario is prepared.
fn priorities(name: &str) -> PrioritiesRef {
    PrioritiesRef { name: name.to_owned(), digest: lab::tour::priorities_digest(name) }
}

/// How servers send.
fn serving(order: &args::Order) -> Result<Serving, Failure> {
    let bad = |option: &str, error: String| Failure::bad_input(format!("{option}: {error}"));
    let frame = order.frame.as_deref().map(Serving::parse_frame).transpose();
    let unsent = order.unsent.as_deref().map(Unsent::parse).transpose();
    Ok(Serving {
        scheduler: order.scheduler.as_deref().map(choice).transpose()?,
        frame_bytes: frame.map_err(|error| bad("--frame", error))?,
        unsent: unsent.map_err(|error| bad("--unsent", error))?,
        // That of the arms which have it.
        push: None,
    })
}

/// A list of names, none of them twice.
fn choices<T>(option: &str, texts: &[String]) -> Result<Vec<T>, Failure>
where
    T: FromStr<Err = ChoiceError> + PartialEq + Display,
{
    let mut chosen: Vec<T> = Vec::new();
    for text in texts {
        let one = choice(text)?;
        if chosen.contains(&one) {
            return Err(Failure::bad_input(format!("{option} names {one} twice"))
                .hint("name each arm once; -n says how often it is loaded".to_owned()));
        }
        chosen.push(one);
    }
    Ok(chosen)
}

fn choice<T: FromStr<Err = ChoiceError>>(text: &str) -> Result<T, Failure> {
    text.parse().map_err(|error: ChoiceError| {
        let hint = error.hint();
        Failure::bad_input(error).hint(hint)
    })
}

fn at_least_one(option: &str, value: Option<u32>) -> Result<Option<u32>, Failure> {
    match value {
        Some(0) => Err(Failure::bad_input(format!("{option} 0: it is at least 1"))),
        value => Ok(value),
    }
}

/// `4x`, `0.5x` or a bare number.
fn multiplier(text: &str) -> Result<f64, Failure> {
    let number = text.trim().trim_end_matches(['x', 'X']).parse::<f64>();
    number.ok().filter(|n| (0.001..=1000.0).contains(n)).ok_or_else(|| {
        Failure::bad_input(format!("`{text}` is not how many times slower a CPU is"))
            .hint("write --cpu 4x (0.001x to 1000x)".to_owned())
    })
}
