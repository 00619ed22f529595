//! `farlink replay`: loads of a recorded page with Chromium over an emulated network, from its own responses.
//!
//! Each load is `farlink record` inside `farlink shell --replay`: a recording of the replay. So it has times of its own, and
//! bodies to be compared with those of the first recording.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ::replay::ReplayProtocol;
use archive::{Exchange, RecordedLoad};
use clap::ValueEnum;
use net::Network;
use serde_json::{Value, json};
use statistics::Sample;
use tempfile::TempDir;

use super::emulated_shell::ShellReplayServer;
use super::{files, interrupt, output, recording};
use crate::args::{Replay, ShellReplay};
use crate::failure::{CliError, ExitCode};
use crate::show::table::Table;
use crate::show::units::{counted, span};

/// Version of the JSON format.
const FORMAT: u32 = 1;

/// Carries out `farlink replay`.
pub fn run(args: &Replay) -> Result<ExitCode, CliError> {
    for network in &args.network {
        Network::parse(network).map_err(CliError::bad_input)?;
    }
    if args.protocol.contains(&ReplayProtocol::Spdy) {
        let hint = "`farlink shell --replay-protocol spdy` serves it to other clients; `farlink load` simulates it";
        return Err(CliError::bad_input(
            "--protocol spdy: Chromium has not spoken SPDY since 2016",
        )
        .hint(hint.to_owned()));
    }
    if let Some(path) = &args.proof {
        files::check_place(path)?;
    }
    let recorded = recording::open(&args.recording)?.merged();
    // Refuses what cannot be replayed, and fits the recording once for all loads.
    ShellReplayServer::open(&shell(args))?;
    super::chromium().map_err(CliError::machine)?;
    let cancel = interrupt::flag()?;
    let (loads, failure) = load_all(args, &recorded, &cancel);
    if !loads.is_empty() {
        print(args, &recorded, &loads)?;
        if let Some(path) = &args.proof {
            let proof = proof(args, &recorded, &loads);
            files::write_whole(path, format!("{proof:#}\n").as_bytes())?;
        }
    }
    match failure {
        Some(failure) => Err(failure),
        None if is_cancelled(&cancel) => Ok(ExitCode::Interrupted),
        None => Ok(ExitCode::Success),
    }
}

/// The loads until one fails or Ctrl-C, and the failure.
fn load_all(
    args: &Replay,
    recorded: &RecordedLoad,
    cancel: &AtomicBool,
) -> (Vec<ReplayedLoad>, Option<CliError>) {
    let mut loads = Vec::new();
    for repetition in 0..args.repetitions {
        for arm in arms(args) {
            if is_cancelled(cancel) {
                return (loads, None);
            }
            let (number, all) = (repetition + 1, args.repetitions);
            anstream::eprintln!(
                "replaying {} over {}, {number} of {all}",
                recorded.url,
                arm.name()
            );
            match load(args, &recorded.url, arm, repetition) {
                Ok(Some(load)) => loads.push(load),
                Ok(None) => return (loads, None),
                Err(failure) => return (loads, Some(failure)),
            }
        }
    }
    (loads, None)
}

fn is_cancelled(cancel: &AtomicBool) -> bool {
    cancel.load(Ordering::Relaxed)
}

fn shell(args: &Replay) -> ShellReplay {
    ShellReplay {
        recording: Some(args.recording.clone()),
        protocol: args.protocol[0],
        how: args.how.clone(),
        proxy: args.proxy.clone(),
    }
}

/// A way of loading the page.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ReplayArm {
    /// From the servers, over this protocol.
    Direct(ReplayProtocol),
    /// Through the proxy: HTTP/2 between it and the browser.
    Proxy,
}

impl ReplayArm {
    fn name(self) -> &'static str {
        match self {
            ReplayArm::Direct(protocol) => protocol.name(),
            ReplayArm::Proxy => "proxy",
        }
    }

    /// Protocol of the servers. Behind the proxy they also speak what it prefers.
    fn of_servers(self) -> ReplayProtocol {
        match self {
            ReplayArm::Direct(protocol) => protocol,
            ReplayArm::Proxy => ReplayProtocol::H2,
        }
    }
}

/// The ways that the options name.
fn arms(args: &Replay) -> Vec<ReplayArm> {
    let direct = args.protocol.iter().copied().map(ReplayArm::Direct);
    direct.chain(args.proxy.config.as_ref().map(|_| ReplayArm::Proxy)).collect()
}

/// One load of the replay.
struct ReplayedLoad {
    arm: ReplayArm,
    load: RecordedLoad,
    /// The account of `farlink shell`.
    account: Value,
}

/// Runs one load; `None` if it was interrupted.
fn load(
    args: &Replay,
    url: &str,
    arm: ReplayArm,
    repetition: u32,
) -> Result<Option<ReplayedLoad>, CliError> {
    let folder = tempfile::Builder::new().prefix("farlink-replay-").tempdir();
    let folder: TempDir = folder.map_err(CliError::machine)?;
    let (file, account) = (folder.path().join("load.wacz"), folder.path().join("account.json"));
    let program = std::env::current_exe().map_err(CliError::machine)?;
    let mut command = Command::new(&program);
    command.arg("shell");
    for network in &args.network {
        command.args(["--network", network]);
    }
    let seed = args.seed.wrapping_add(repetition.into());
    command.args(["--seed", &seed.to_string()]).arg("--log").arg(&account);
    command
        .arg("--replay")
        .arg(&args.recording)
        .args(["--replay-protocol", arm.of_servers().name()]);
    command.args(options(args));
    if let (ReplayArm::Proxy, Some(config)) = (arm, &args.proxy.config) {
        command.arg("--proxy").arg(config).args(["--proxy-cache", &name_of(args.proxy.cache)]);
    }
    command.arg("--").arg(&program).args(["record", url, "--keep-credentials"]);
    command.args(["--timeout", &args.timeout.to_string()]).arg("--output").arg(&file);
    if args.no_sandbox {
        command.arg("--no-sandbox");
    }
    let ended = command.stdin(Stdio::null()).output().map_err(CliError::machine)?;
    match ended.status.code() {
        Some(0) => {}
        // Signals reach the whole group of a terminal.
        Some(130) => return Ok(None),
        _ => {
            let words = String::from_utf8_lossy(&ended.stderr);
            return Err(CliError::machine(format!("the load failed:\n{}", words.trim_end())));
        }
    }
    let text = std::fs::read(&account).map_err(CliError::machine)?;
    let account = serde_json::from_slice(&text).map_err(CliError::machine)?;
    Ok(Some(ReplayedLoad { arm, load: read_load(&file)?, account }))
}

/// The options of the replay, as `farlink shell` takes them.
fn options(args: &Replay) -> Vec<String> {
    let how = &args.how;
    let options = [
        ("--think", name_of(how.think)),
        ("--origins", name_of(how.origins)),
        ("--names", name_of(how.names)),
        ("--proxy-rtt", format!("{}ns", args.proxy.rtt.as_nanos())),
    ];
    let mut options: Vec<String> =
        options.into_iter().flat_map(|(name, value)| [name.to_owned(), value]).collect();
    if let Some(quic) = &how.quic {
        options.extend(["--quic".to_owned(), quic.to_string()]);
    }
    if how.deterministic {
        options.push("--deterministic".to_owned());
    }
    options
}

/// The name of a value on the command line.
fn name_of(value: impl ValueEnum) -> String {
    value.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}

fn read_load(path: &Path) -> Result<RecordedLoad, CliError> {
    let file = std::fs::read(path).map_err(CliError::machine)?;
    Ok(archive::read(&file).map_err(CliError::machine)?.merged())
}

/// Comparison of a load with the recording.
struct LoadComparison {
    requests: usize,
    connections: usize,
    /// Responses with a body that the recording has, too, under the same method and URL.
    compared: usize,
    /// Number of those with the same body.
    identical: usize,
}

impl LoadComparison {
    fn of(recorded: &RecordedLoad, load: &RecordedLoad) -> LoadComparison {
        let mut comparison = LoadComparison {
            requests: 0,
            connections: connections(load),
            compared: 0,
            identical: 0,
        };
        for exchange in load.exchanges.iter().filter(|exchange| !exchange.from_cache) {
            comparison.requests += 1;
            let Some(own) = body(exchange) else { continue };
            let same = recorded.exchanges.iter().filter(|other| is_same_request(exchange, other));
            let bodies: Vec<&[u8]> = same.filter_map(body).collect();
            if !bodies.is_empty() {
                comparison.compared += 1;
                comparison.identical += usize::from(bodies.contains(&own));
            }
        }
        comparison
    }
}

fn body(exchange: &Exchange) -> Option<&[u8]> {
    exchange.response.as_ref()?.body.as_deref()
}

fn is_same_request(one: &Exchange, other: &Exchange) -> bool {
    one.request.method == other.request.method && one.request.url == other.request.url
}

fn connections(load: &RecordedLoad) -> usize {
    let used = load.exchanges.iter().filter(|exchange| !exchange.from_cache);
    used.filter_map(|exchange| exchange.connection).collect::<BTreeSet<_>>().len()
}

fn print(args: &Replay, recorded: &RecordedLoad, loads: &[ReplayedLoad]) -> Result<(), CliError> {
    let mut table = Table::new(&[
        "protocol",
        "load time",
        "from",
        "to",
        "first paint",
        "requests",
        "connections",
        "missing",
        "similar",
        "same bodies",
    ]);
    table.left(0);
    let arms = arms(args);
    for arm in &arms {
        let of: Vec<&ReplayedLoad> = loads.iter().filter(|load| load.arm == *arm).collect();
        // The load with the most bodies that differ stands for all.
        let comparisons = of.iter().map(|load| LoadComparison::of(recorded, &load.load));
        let worst = comparisons.max_by_key(|it| it.compared - it.identical);
        let Some(comparison) = worst else { continue };
        let times = sample(&of, |load| load.loaded);
        let paints = sample(&of, |load| load.first_contentful_paint);
        let shown = |sample: &Option<Sample>, value: fn(&Sample) -> f64| {
            sample.as_ref().map_or_else(|| "-".to_owned(), |sample| span(value(sample) as u64))
        };
        let most = |name: &str| of.iter().map(|load| count(load, name)).max().unwrap_or_default();
        table.row([
            arm.name().to_owned(),
            shown(&times, Sample::median),
            shown(&times, |sample| sample.quantile(0.0)),
            shown(&times, |sample| sample.quantile(1.0)),
            shown(&paints, Sample::median),
            comparison.requests.to_string(),
            comparison.connections.to_string(),
            most("missing").to_string(),
            most("inexact").to_string(),
            format!("{} of {}", comparison.identical, comparison.compared),
        ]);
    }
    output::line(format!(
        "{} over {}, medians of {} in {}\n",
        recorded.url,
        args.network.join(" + "),
        counted(loads.len().div_ceil(arms.len()), "load"),
        loads.first().map_or("Chromium", |load| load.load.browser.as_str()),
    ))?;
    output::line(table)?;
    for load in loads {
        let account = &load.account;
        if account["valid"] == json!(false) {
            anstream::eprintln!(
                "warning: a load over {} is invalid: {}",
                load.arm.name(),
                account["invalid_because"].as_str().unwrap_or_default()
            );
        }
    }
    let mut told = BTreeSet::new();
    for load in loads {
        for entry in load.account["replay"]["listed"].as_array().into_iter().flatten() {
            let what = |name: &str| entry[name].as_str().unwrap_or_default().to_owned();
            if told.insert((what("outcome"), what("request"))) {
                anstream::eprintln!("note: {}: {}", what("outcome"), what("request"));
            }
        }
    }
    Ok(())
}

fn count(load: &ReplayedLoad, name: &str) -> u64 {
    load.account["replay"][name].as_u64().unwrap_or_default()
}

fn nanos(span: Option<Duration>) -> Option<u64> {
    span.map(|span| span.as_nanos() as u64)
}

/// A time of all loads that have it, in nanoseconds.
fn sample(
    loads: &[&ReplayedLoad],
    time: impl Fn(&RecordedLoad) -> Option<Duration>,
) -> Option<Sample> {
    Sample::new(loads.iter().filter_map(|load| Some(time(&load.load)?.as_nanos() as f64)))
}

fn proof(args: &Replay, recorded: &RecordedLoad, loads: &[ReplayedLoad]) -> Value {
    let load = |load: &ReplayedLoad| {
        let comparison = LoadComparison::of(recorded, &load.load);
        json!({
            "protocol": load.arm.name(),
            "loaded_ns": nanos(load.load.loaded),
            "first_contentful_paint_ns": nanos(load.load.first_contentful_paint),
            "largest_contentful_paint_ns": nanos(load.load.largest_contentful_paint),
            "requests": comparison.requests,
            "connections": comparison.connections,
            "compared_bodies": comparison.compared,
            "identical_bodies": comparison.identical,
            "account": load.account,
        })
    };
    json!({
        "format": FORMAT,
        "farlink": env!("CARGO_PKG_VERSION"),
        "recording": args.recording.display().to_string(),
        "url": recorded.url,
        "networks": args.network,
        "recorded": {"requests": recorded.exchanges.len(), "connections": connections(recorded)},
        "loads": loads.iter().map(load).collect::<Vec<_>>(),
    })
}
