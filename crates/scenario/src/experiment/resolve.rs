//! From what was typed to a plan.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::axis::Scalar;
use super::grid::Grid;
use super::property::Property;
use super::raw::{
    RawClient, RawExperiment, RawGrid, RawJourney, RawNetwork, RawServer, RawStack, RawTransport,
    Varied,
};
use super::{Catalogue, ExperimentError, Problem, Refusal, Source};
use crate::plan::{Order, Plan};
use crate::{
    BackgroundTraffic, ChoiceError, Clients, Itinerary, Keeps, KnobError, NetworkSpec, Pace,
    PageOrder, PageRef, PrioritiesRef, Recording, Resolution, Route, Scenario, Security, Serving,
    Spacing, Stretch, Tcp, Transport, Unsent,
};

/// The experiment format that this version reads.
pub const FORMAT: i64 = 1;

/// The largest grid. A larger one is likelier a slip than a plan.
pub const MOST_CELLS: usize = 1_000_000;

/// The plan that `source` comes to.
pub fn resolve(source: &Source, catalogue: &dyn Catalogue) -> Result<Plan, ExperimentError> {
    check_format(source)?;
    let raw: RawExperiment =
        toml::from_str(source.text()).map_err(|error| untyped(source, &error))?;
    let header = Header::read(source, &raw)?;
    let cells = cells(source, &raw.into_grid(), catalogue)?;
    Ok(Plan::new(header.name, header.seed, header.repetitions, header.order, cells))
}

/// What is said once for the whole experiment.
struct Header {
    name: String,
    seed: u64,
    repetitions: u32,
    order: Order,
}

impl Header {
    fn read(source: &Source, raw: &RawExperiment) -> Result<Header, ExperimentError> {
        let seeds = 0..=i64::MAX;
        let counts = 1..=1_000_000;
        Ok(Header {
            name: once(source, &raw.name, text("name"))?.unwrap_or("experiment".to_owned()),
            seed: once(source, &raw.seed, integer("seed", seeds))?.unwrap_or(1) as u64,
            repetitions: once(source, &raw.repetitions, integer("repetitions", counts))?
                .unwrap_or(10) as u32,
            order: once(source, &raw.order, choice("order"))?.unwrap_or(Order::Alternated),
        })
    }
}

/// A key that is no axis.
pub fn once<T>(
    source: &Source,
    typed: &Option<Spanned<Scalar>>,
    read: impl Fn(&Scalar) -> Result<T, Problem>,
) -> Result<Option<T>, ExperimentError> {
    let Some(typed) = typed else { return Ok(None) };
    let fail = |problem| ExperimentError::at(source, typed.span(), problem);
    read(typed.get_ref()).map(Some).map_err(fail)
}

/// The grid. Stack and transport come last, so that the arms of one comparison lie side by side.
pub fn cells(
    source: &Source,
    raw: &RawGrid,
    catalogue: &dyn Catalogue,
) -> Result<Vec<Scenario>, ExperimentError> {
    let mut grid = Grid::new(source);
    vary_page(&mut grid, source, &raw.page.name, catalogue)?;
    vary_journey(&mut grid, &raw.journey)?;
    vary_network(&mut grid, source, &raw.network)?;
    vary_server(&mut grid, &raw.server)?;
    vary_client(&mut grid, &raw.client, catalogue)?;
    vary_clients(&mut grid, raw)?;
    grid.vary("nuisance", &raw.nuisance, choice("nuisance"), |s, v| s.nuisance = v)?;
    grid.vary("world", &raw.world, choice("world"), |s, v| s.world = v)?;
    grid.vary("release", &raw.release, choice("release"), |s, v| s.release = v)?;
    grid.vary("traffic", &raw.traffic, traffic, |s, v| s.traffic = v)?;
    grid.vary("dns", &raw.dns, knobs::<Resolution>("dns"), |s, v| s.resolution = v)?;
    grid.vary("record", &raw.record, knobs::<Recording>("record"), |s, v| s.record = v)?;
    vary_stretch(&mut grid, raw)?;
    vary_route(&mut grid, raw)?;
    vary_transport(&mut grid, &raw.transport)?;
    vary_stack(&mut grid, &raw.stack)?;
    grid.vary("transport.quic", &raw.transport.quic, knobs("transport.quic"), |s, v| {
        s.quic = v;
    })?;
    let multiplexing = &raw.stack.multiplexing;
    grid.vary("stack.multiplexing", multiplexing, knobs("stack.multiplexing"), |s, v| {
        s.multiplexing = v;
    })?;
    let keep_alive = &raw.server.keep_alive;
    grid.vary("server.keep_alive", keep_alive, knobs("server.keep_alive"), |s, v| {
        s.keep_alive = v;
    })?;
    vary_order(&mut grid, raw, catalogue)?;
    let mut cells = grid.into_cells();
    check_networks(source, &raw.network, &mut cells, catalogue)?;
    check_worlds(source, raw, &cells)?;
    Ok(cells)
}

/// Every scenario can be run by its world.
fn check_worlds(source: &Source, raw: &RawGrid, cells: &[Scenario]) -> Result<(), ExperimentError> {
    let Some(message) = cells.iter().find_map(Scenario::contradiction) else { return Ok(()) };
    let refusal = Refusal { message: message.to_owned(), hint: None };
    let typed = [
        ("server.scheduler", &raw.server.scheduler),
        ("server.frame", &raw.server.frame),
        ("server.unsent", &raw.server.unsent),
        ("server.push", &raw.server.push),
        ("client.priorities", &raw.client.priorities),
        ("transport.quic", &raw.transport.quic),
        ("server.keep_alive", &raw.server.keep_alive),
        ("server.hosting", &raw.server.hosting),
        ("stack.security", &raw.stack.security),
        ("route", &raw.route),
        ("record", &raw.record),
        ("dns", &raw.dns),
        ("stack.multiplexing", &raw.stack.multiplexing),
        ("stack.h3_discovery", &raw.stack.h3_discovery),
        ("stack.udp", &raw.stack.udp),
        ("release", &raw.release),
        ("journey.times", &raw.journey.times),
        ("journey.keeps", &raw.journey.keeps),
        ("client.program", &raw.client.program),
        ("stack.tls", &raw.stack.tls),
        ("stack.protocol", &raw.stack.protocol),
        ("world", &raw.world),
        ("clients", &raw.clients),
    ];
    let (key, span) = typed
        .into_iter()
        .find_map(|(key, typed)| Some((key, typed.as_ref()?.span())))
        .unwrap_or_default();
    let problem = Problem::Refused { key: key.into(), refusal };
    Err(ExperimentError::at(source, span, problem))
}

fn vary_page(
    grid: &mut Grid<'_>,
    source: &Source,
    name: &Varied,
    catalogue: &dyn Catalogue,
) -> Result<(), ExperimentError> {
    if name.is_none() {
        let example = "write [page] with name = \"synthetic:100x10KB\"";
        return Err(missing(source, "page.name", example));
    }
    let read = |scalar: &Scalar| {
        let spec = text("page.name")(scalar)?;
        catalogue
            .page(&spec)
            .map_err(|refusal| Problem::Refused { key: "page.name".into(), refusal })
    };
    grid.vary("page.name", name, read, |s, v: PageRef| s.page = v)
}

/// The way through the page, or the pages of a list.
fn vary_journey(grid: &mut Grid<'_>, raw: &RawJourney) -> Result<(), ExperimentError> {
    let times = integer("journey.times", 1..=i64::from(Itinerary::MOST_TIMES));
    grid.vary("journey.times", &raw.times, times, |s, v| s.journey.times = v as u32)?;
    let order = knobs::<PageOrder>("journey.order");
    grid.vary("journey.order", &raw.order, order, |s, v| s.journey.order = v)?;
    grid.vary("journey.pace", &raw.pace, knobs::<Pace>("journey.pace"), |s, v| {
        s.journey.pace = v;
    })?;
    let keeps = knobs::<Keeps>("journey.keeps");
    grid.vary("journey.keeps", &raw.keeps, keeps, |s, v| s.journey.keeps = v)
}

fn vary_network(
    grid: &mut Grid<'_>,
    source: &Source,
    raw: &RawNetwork,
) -> Result<(), ExperimentError> {
    let base = raw.get("base").cloned();
    grid.vary("network.base", &base, text("network.base"), |s, v| s.network.base = Some(v))?;
    let usual = NetworkSpec::KEYS.into_iter().filter(|key| raw.contains_key(*key));
    let others = raw.keys().map(|key| key.get_ref().as_str()).filter(|key| !is_usual(key));
    for key in usual.chain(others) {
        let full = format!("network.{key}");
        let typed = raw.get(key).cloned();
        if !is_usual(key) && !net::is_setting(key) {
            let span = raw.get_key_value(key).map(|(key, _)| key.span()).unwrap_or_default();
            let known = ["base"].into_iter().chain(NetworkSpec::KEYS).map(str::to_owned);
            let problem = Problem::UnknownKey { key: key.to_owned(), known: known.collect() };
            return Err(ExperimentError::at(source, span, problem));
        }
        let read =
            |scalar: &Scalar| Property::read(key, &text(&full)(scalar)?, raw.contains_key("down"));
        grid.vary(&full, &typed, read, |s, property| property.apply(&mut s.network))?;
    }
    Ok(())
}

/// `base`, or a property that a scenario knows by name.
fn is_usual(key: &str) -> bool {
    key == "base" || NetworkSpec::KEYS.contains(&key)
}

fn vary_stack(grid: &mut Grid<'_>, raw: &RawStack) -> Result<(), ExperimentError> {
    let count = |key| integer(key, 1..=10_000);
    grid.vary("stack.tls", &raw.tls, choice("stack.tls"), |s, v| s.stack.tls = v)?;
    let turned = knobs::<Security>("stack.security");
    grid.vary("stack.security", &raw.security, turned, |s, v| s.security = v)?;
    grid.vary(
        "stack.connections_per_host",
        &raw.connections_per_host,
        count("stack.connections_per_host"),
        |s, v| s.stack.connections_per_host = Some(v as u32),
    )?;
    grid.vary(
        "stack.connections_total",
        &raw.connections_total,
        count("stack.connections_total"),
        |s, v| s.stack.connections_total = Some(v as u32),
    )?;
    grid.vary(
        "stack.pipeline_depth",
        &raw.pipeline_depth,
        count("stack.pipeline_depth"),
        |s, v| s.stack.pipeline_depth = Some(v as u32),
    )?;
    grid.vary("stack.h3_discovery", &raw.h3_discovery, choice("stack.h3_discovery"), |s, v| {
        s.discovery.h3 = v;
    })?;
    grid.vary("stack.udp", &raw.udp, choice("stack.udp"), |s, v| s.discovery.udp = v)?;
    grid.vary("stack.protocol", &raw.protocol, choice("stack.protocol"), |s, v| {
        s.stack.protocol = v;
    })
}

/// Whole transports first, then the knobs that turn something in all of them, then the client's own.
fn vary_transport(grid: &mut Grid<'_>, raw: &RawTransport) -> Result<(), ExperimentError> {
    grid.vary("transport.tcp", &raw.tcp, tcp("transport.tcp"), |s, v| {
        s.transport = Transport::both(v);
    })?;
    grid.vary("transport.congestion", &raw.congestion, congestion, |s, v| {
        turn(s, "cc", &v);
    })?;
    grid.vary(
        "transport.initial_window_segments",
        &raw.initial_window_segments,
        integer("transport.initial_window_segments", 1..=1_000),
        |s, v| turn(s, "iw", &v.to_string()),
    )?;
    grid.vary(
        "transport.slow_start_after_idle",
        &raw.slow_start_after_idle,
        truth("transport.slow_start_after_idle"),
        |s, v| turn(s, "slow-start-after-idle", if v { "on" } else { "off" }),
    )?;
    grid.vary("transport.client_tcp", &raw.client_tcp, tcp("transport.client_tcp"), |s, v| {
        s.transport.client = v;
    })
}

/// A transport's text.
fn tcp(key: &'static str) -> impl Fn(&Scalar) -> Result<Tcp, Problem> {
    move |scalar| {
        let typed = text(key)(scalar)?;
        typed.parse().map_err(|source| Problem::Transport { key: key.to_owned(), source })
    }
}

/// The name of a congestion control.
fn congestion(scalar: &Scalar) -> Result<String, Problem> {
    let key = "transport.congestion";
    let name = text(key)(scalar)?;
    match Transport::default().set("cc", &name) {
        Ok(()) => Ok(name),
        Err(source) => Err(Problem::Transport { key: key.to_owned(), source }),
    }
}

/// A list of knobs.
fn knobs<K: FromStr<Err = KnobError>>(key: &'static str) -> impl Fn(&Scalar) -> Result<K, Problem> {
    move |scalar| {
        let typed = text(key)(scalar)?;
        typed.parse().map_err(|error: KnobError| {
            let refusal = Refusal { message: error.to_string(), hint: None };
            Problem::Refused { key: key.into(), refusal }
        })
    }
}

/// Turns a knob to a value that was checked.
fn turn(scenario: &mut Scenario, knob: &str, value: &str) {
    scenario.transport.set(knob, value).expect("the value was checked when it was read");
}

fn vary_client(
    grid: &mut Grid<'_>,
    raw: &RawClient,
    catalogue: &dyn Catalogue,
) -> Result<(), ExperimentError> {
    let device = |scalar: &Scalar| {
        let name = text("client.device")(scalar)?;
        let refused = |refusal| Problem::Refused { key: "client.device".into(), refusal };
        catalogue.device(&name).map_err(refused).map(|digest| (name, digest))
    };
    let browser = |scalar: &Scalar| {
        let name = text("client.browser")(scalar)?;
        let refused = |refusal| Problem::Refused { key: "client.browser".into(), refusal };
        catalogue.browser(&name).map_err(refused).map(|()| name)
    };
    grid.vary("client.program", &raw.program, choice("client.program"), |s, v| {
        s.client.program = v;
    })?;
    grid.vary("client.device", &raw.device, device, |s, v| {
        (s.client.device, s.client.device_digest) = v;
    })?;
    grid.vary("client.cpu", &raw.cpu, multiplier, |s, v| s.client.cpu_multiplier = v)?;
    grid.vary("client.browser", &raw.browser, browser, |s, v| s.client.browser = v)?;
    grid.vary(
        "client.request_heads",
        &raw.request_heads,
        choice("client.request_heads"),
        |s, v| s.request_heads = v,
    )?;
    grid.vary("client.view", &raw.view, choice("client.view"), |s, v| s.client.view = v)?;
    grid.vary("client.block", &raw.block, hosts, |s, v| s.client.blocked_hosts = v)
}

fn vary_clients(grid: &mut Grid<'_>, raw: &RawGrid) -> Result<(), ExperimentError> {
    let count = integer("clients", 1..=i64::from(Clients::MOST));
    let spacing = |scalar: &Scalar| {
        let typed = text("start_spacing")(scalar)?;
        Spacing::parse(&typed).map_err(|error| {
            let refusal = Refusal { message: error.to_string(), hint: None };
            Problem::Refused { key: "start_spacing".into(), refusal }
        })
    };
    grid.vary("clients", &raw.clients, count, |s, v| s.clients.count = v as u32)?;
    grid.vary("beside", &raw.beside, choice("beside"), |s, v| s.clients.beside = v)?;
    grid.vary("start_spacing", &raw.start_spacing, spacing, |s, v| s.clients.start_spacing = v)
}

fn vary_server(grid: &mut Grid<'_>, raw: &RawServer) -> Result<(), ExperimentError> {
    grid.vary("server.origins", &raw.origins, choice("server.origins"), |s, v| {
        s.server.origins = v;
    })?;
    grid.vary("server.hosting", &raw.hosting, choice("server.hosting"), |s, v| s.hosting = v)?;
    grid.vary("server.workers", &raw.workers, integer("server.workers", 1..=1_000_000), |s, v| {
        s.server.workers = Some(v as u32);
    })?;
    grid.vary("server.service_time", &raw.service_time, nanoseconds, |s, v| {
        s.server.service_time_ns = v;
    })
}

/// What lies between the network's far end and the hosts: of every route the same, but for one that says it itself.
fn vary_stretch(grid: &mut Grid<'_>, raw: &RawGrid) -> Result<(), ExperimentError> {
    let rtt = |scalar: &Scalar| {
        let key = "proxy_rtt";
        Stretch::parse_rtt(&text(key)(scalar)?).map_err(|error| value(key, scalar, error))
    };
    let rate = |scalar: &Scalar| {
        let key = "proxy_rate";
        Stretch::parse_rate(&text(key)(scalar)?).map_err(|error| value(key, scalar, error))
    };
    grid.vary("proxy_rtt", &raw.proxy_rtt, rtt, |s, v| s.route.stretch.rtt_ns = Some(v))?;
    grid.vary("proxy_rate", &raw.proxy_rate, rate, |s, v| {
        s.route.stretch.rate_bit_per_s = Some(v);
    })
}

fn vary_route(grid: &mut Grid<'_>, raw: &RawGrid) -> Result<(), ExperimentError> {
    grid.vary("route", &raw.route, knobs::<Route>("route"), |s, v| {
        let stretch = v.stretch.or(s.route.stretch);
        s.route = Route { stretch, ..v };
    })
}

/// In which order responses come: what the client asks for, and what servers make of it.
fn vary_order(
    grid: &mut Grid<'_>,
    raw: &RawGrid,
    catalogue: &dyn Catalogue,
) -> Result<(), ExperimentError> {
    let priorities = |scalar: &Scalar| {
        let name = text("client.priorities")(scalar)?;
        let refused = |refusal| Problem::Refused { key: "client.priorities".into(), refusal };
        let digest = catalogue.priorities(&name).map_err(refused)?;
        Ok(PrioritiesRef { name, digest })
    };
    let frame = |scalar: &Scalar| {
        let key = "server.frame";
        Serving::parse_frame(&text(key)(scalar)?).map_err(|error| value(key, scalar, error))
    };
    let unsent = |scalar: &Scalar| {
        let key = "server.unsent";
        Unsent::parse(&text(key)(scalar)?).map_err(|error| value(key, scalar, error))
    };
    let RawGrid { client, server, .. } = raw;
    grid.vary("client.priorities", &client.priorities, priorities, |s, v| {
        s.priorities = Some(v);
    })?;
    grid.vary("server.scheduler", &server.scheduler, choice("server.scheduler"), |s, v| {
        s.serving.scheduler = Some(v);
    })?;
    grid.vary("server.push", &server.push, choice("server.push"), |s, v| {
        s.serving.push = Some(v);
    })?;
    grid.vary("server.frame", &server.frame, frame, |s, v| s.serving.frame_bytes = Some(v))?;
    grid.vary("server.unsent", &server.unsent, unsent, |s, v| s.serving.unsent = Some(v))
}

/// Every network of the grid, whole.
fn check_networks(
    source: &Source,
    raw: &RawNetwork,
    cells: &mut [Scenario],
    catalogue: &dyn Catalogue,
) -> Result<(), ExperimentError> {
    let keys = ["base"].into_iter().chain(NetworkSpec::KEYS);
    let Some(first) = keys.into_iter().find_map(|key| raw.get(key)) else {
        let example = "write [network] with base = \"3g\", or with rtt, down and up";
        return Err(missing(source, "network", example));
    };
    let mut digests = BTreeMap::new();
    for cell in cells {
        let name = cell.network.to_string();
        let digest = match digests.get(&name) {
            Some(known) => Option::clone(known),
            None => catalogue.network(&cell.network).map_err(|refusal| {
                let problem = Problem::Refused { key: "network".into(), refusal };
                ExperimentError::at(source, first.span(), problem)
            })?,
        };
        cell.network.base_digest.clone_from(&digest);
        digests.insert(name, digest);
    }
    Ok(())
}

/// The format is read from the untyped table: a later format may hold keys that mean nothing here.
pub fn check_format(source: &Source) -> Result<(), ExperimentError> {
    let table = DeTable::parse(source.text()).map_err(|error| untyped(source, &error))?;
    let Some(format) = table.get_ref().get("format") else {
        return Err(missing(source, "format", "write format = 1 on the first line"));
    };
    let fail = |problem| Err(ExperimentError::at(source, format.span(), problem));
    let found = match format.get_ref() {
        DeValue::Integer(number) => number.as_str().parse::<i64>().unwrap_or(i64::MAX),
        _ => 0,
    };
    match found {
        FORMAT => Ok(()),
        n if n > FORMAT => fail(Problem::Newer { found: n, known: FORMAT }),
        _ => fail(Problem::Value {
            key: "format".into(),
            found: "not a format that ever was".into(),
            expected: "1".into(),
        }),
    }
}

/// An error of the TOML reader, with unknown keys told apart.
pub fn untyped(source: &Source, error: &toml::de::Error) -> ExperimentError {
    let message = error.message();
    let problem = unknown_key(message).unwrap_or_else(|| Problem::Syntax(message.to_owned()));
    ExperimentError::at(source, error.span().unwrap_or_default(), problem)
}

/// serde says "unknown field `a`, expected one of `b`, `c`", in these words since its first version.
fn unknown_key(message: &str) -> Option<Problem> {
    let names = message.strip_prefix("unknown field ")?;
    let mut quoted = names.split('`').skip(1).step_by(2).map(str::to_owned);
    Some(Problem::UnknownKey { key: quoted.next()?, known: quoted.collect() })
}

/// The error that a key is not there.
pub fn missing(source: &Source, key: &'static str, example: &'static str) -> ExperimentError {
    ExperimentError::at(source, 0..0, Problem::Missing { key, example })
}

/// The problem that a value is not what was expected.
pub fn value(key: &str, found: &Scalar, expected: impl Display) -> Problem {
    Problem::Value { key: key.to_owned(), found: found.to_string(), expected: expected.to_string() }
}

/// Reader of text in quotes.
pub fn text(key: &str) -> impl Fn(&Scalar) -> Result<String, Problem> {
    move |scalar| match scalar {
        Scalar::Text(text) if !text.is_empty() => Ok(text.clone()),
        other => Err(value(key, other, "text in quotes")),
    }
}

/// Reader of a whole number within `range`.
pub fn integer(key: &str, range: RangeInclusive<i64>) -> impl Fn(&Scalar) -> Result<i64, Problem> {
    move |scalar| match scalar {
        Scalar::Integer(number) if range.contains(number) => Ok(*number),
        other => {
            let expected = format!("a whole number from {} to {}", range.start(), range.end());
            Err(value(key, other, expected))
        }
    }
}

fn truth(key: &str) -> impl Fn(&Scalar) -> Result<bool, Problem> {
    move |scalar| match scalar {
        Scalar::Bool(truth) => Ok(*truth),
        other => Err(value(key, other, "true or false")),
    }
}

fn choice<T: FromStr<Err = ChoiceError>>(key: &str) -> impl Fn(&Scalar) -> Result<T, Problem> {
    move |scalar| {
        let name = text(key)(scalar)?;
        name.parse().map_err(|source| Problem::Choice { key: key.to_owned(), source })
    }
}

/// `"none"`, `"ping:every=3s"`.
fn traffic(scalar: &Scalar) -> Result<BackgroundTraffic, Problem> {
    let key = "traffic";
    let refuse = |source| Problem::Traffic { key: key.to_owned(), source: Box::new(source) };
    text(key)(scalar)?.parse().map_err(refuse)
}

/// `4`, `2.5` or `"4x"`.
fn multiplier(scalar: &Scalar) -> Result<f64, Problem> {
    let number = match scalar {
        Scalar::Integer(number) => Some(*number as f64),
        Scalar::Float(number) => Some(*number),
        Scalar::Text(text) => text.trim_end_matches('x').parse().ok(),
        Scalar::Bool(_) => None,
    };
    number
        .filter(|n| (0.0..=1e6).contains(n))
        .ok_or_else(|| value("client.cpu", scalar, "how many times slower: 4, 0.5 or \"4x\""))
}

/// Hosts separated by commas; an empty text is none.
fn hosts(scalar: &Scalar) -> Result<Vec<String>, Problem> {
    let Scalar::Text(text) = scalar else {
        return Err(value("client.block", scalar, "host names separated by commas, in quotes"));
    };
    let hosts: BTreeSet<&str> = text.split(',').map(str::trim).filter(|h| !h.is_empty()).collect();
    Ok(hosts.into_iter().map(str::to_owned).collect())
}

fn nanoseconds(scalar: &Scalar) -> Result<u64, Problem> {
    let typed = text("server.service_time")(scalar)?;
    let span = units::parse::duration(&typed)
        .map_err(|error| value("server.service_time", scalar, error))?;
    Ok(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX))
}
