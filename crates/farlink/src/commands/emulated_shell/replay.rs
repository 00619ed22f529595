//! A recording's servers at the far side of the network.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::path::Path;
use std::process::Command;
use std::sync::mpsc;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anstream::eprintln;
use archive::RecordedLoad;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use emu::sandbox::{HostNames, Supervisor};
use emu::{AccessSide, EmulatedTopology, Testbed};
use http_stack::h3;
use net::LinkConfig;
use page::Page;
use replay::{Replay, ReplayJournal, ReplaySettings};
use scenario::Quic;
use world::real;

use super::proxy::{self, ShellProxy};
use crate::args::{
    ProxyCache, ReplayNames, ReplayOptions, ReplayOrigins, ReplayProxy, ReplayThink, ShellReplay,
};
use crate::commands::{recording, since_1970};
use crate::failure::CliError;
use crate::show::units::counted;

/// Variables that tell `farlink record` inside which keys to trust, and which hosts speak HTTP/3. Chromium speaks it with an
/// authority of one's own only where it is told to.
pub const KEY_VARIABLE: &str = "FARLINK_REPLAY_KEY";
pub const H3_VARIABLE: &str = "FARLINK_REPLAY_H3";
/// Variable that tells it of a proxy: its address and port.
pub const PROXY_VARIABLE: &str = "FARLINK_REPLAY_PROXY";

/// Requests that were not exact, printed at the end; `--log` lists more.
const MOST_TOLD: usize = 10;

/// A recording, ready to be served.
pub struct ShellReplayServer {
    replay: Replay,
    /// Round trips to hosts beyond the network, by address.
    extra_rtt: BTreeMap<IpAddr, Duration>,
    names: ReplayNames,
    /// Round trip between the network's far end and all servers.
    proxy_rtt: Duration,
    proxy: Option<ShellProxy>,
}

impl ShellReplayServer {
    /// The recording that the options name.
    pub fn open(args: &ShellReplay) -> Result<Option<ShellReplayServer>, CliError> {
        let Some(path) = args.recording.as_deref() else {
            let usual = (ReplayOptions::default(), ReplayProxy::default());
            return match (&args.how, &args.proxy) == (&usual.0, &usual.1) {
                true => Ok(None),
                false => Err(CliError::bad_input(
                    "--think, --origins, --names, --quic, --deterministic and --proxy are for a replay",
                )
                .hint("name the recording: --replay FILE".to_owned())),
            };
        };
        let load = read(path)?;
        let thinks = args.how.think == ReplayThink::Recorded;
        let has_distances = args.how.origins == ReplayOrigins::Recorded;
        let page = match thinks || has_distances {
            true => {
                Some(testbed::fit::open(&path.display().to_string()).map_err(CliError::bad_input)?)
            }
            false => None,
        };
        let page = page.as_ref();
        let think = page.filter(|_| thinks).map(|page| think(&load, page)).unwrap_or_default();
        let settings = ReplaySettings {
            protocol: args.protocol,
            think,
            is_deterministic: args.how.deterministic,
            h3: h3_settings(args.how.quic.as_ref())?,
            now: since_1970(),
        };
        let replay = Replay::new(&load, settings)
            .map_err(|error| CliError::bad_input(format!("{}: {error}", path.display())))?;
        let distances = page.filter(|_| has_distances).map(|page| distances(&replay, page));
        let is_primed = args.proxy.cache == ProxyCache::Primed;
        let proxy = args.proxy.config.as_deref();
        let proxy = proxy.map(|path| ShellProxy::open(path, &load, is_primed)).transpose()?;
        Ok(Some(ShellReplayServer {
            replay,
            extra_rtt: distances.unwrap_or_default(),
            names: args.how.names,
            proxy_rtt: args.proxy.rtt,
            proxy,
        }))
    }

    /// The network with the way from its far end to the servers, where the proxy is if there is one, and links of their own to hosts farther
    /// away.
    pub fn topology(&self, topology: EmulatedTopology) -> EmulatedTopology {
        let link = |rtt: Duration| [LinkConfig::delay(rtt / 2), LinkConfig::delay(rtt / 2)];
        let resolver = IpAddr::from(AccessSide::Server.address());
        let hosts = self.replay.site().hosts.iter();
        let servers: BTreeSet<IpAddr> = hosts.map(|host| host.address).collect();
        let names = ["upstream/up", "upstream/down"];
        let topology = match (&self.proxy, self.proxy_rtt) {
            (None, Duration::ZERO) => topology,
            (None, rtt) => topology.stretched(servers, names, &link(rtt)),
            // The proxy's queries do not cross the network.
            (Some(_), rtt) => topology
                .proxied([resolver], ["names/up", "names/down"], &link(Duration::ZERO))
                .proxied(servers, names, &link(rtt)),
        };
        let farther = self.extra_rtt.iter().enumerate();
        farther.fold(topology, |topology, (number, (address, extra))| {
            let [up, down] = ["up", "down"].map(|way| format!("origin/{number}/{way}"));
            let link = || LinkConfig::delay(*extra / 2);
            topology.farther(*address, &up, link(), &down, link())
        })
    }

    /// The names of its hosts.
    pub fn names(&self, names: HostNames) -> HostNames {
        let names = names.asking(AccessSide::Server.address());
        let names = match &self.proxy {
            None => names,
            Some(_) => names.with(browser::Proxy::NAME, proxy::proxy_address().ip()),
        };
        match self.names {
            ReplayNames::Dns => names,
            ReplayNames::Hosts => {
                let hosts = self.replay.site().hosts.iter();
                hosts.fold(names, |names, host| names.with(host.name.clone(), host.address))
            }
        }
    }

    /// Makes programs trust its certificates, and tells `command` of them.
    pub fn trust(&self, supervisor: &Supervisor) -> Result<ReplayEnvironment, CliError> {
        let bundle = supervisor.trust(self.replay.authority()).map_err(CliError::machine)?;
        let mut variables = vec![
            (KEY_VARIABLE, STANDARD.encode(self.replay.key_sha256())),
            (H3_VARIABLE, self.replay.site().h3_names().collect::<Vec<_>>().join(",")),
        ];
        match bundle {
            Some(bundle) => {
                // OpenSSL, curl, Python's requests, Node.js.
                let users = [
                    "SSL_CERT_FILE",
                    "CURL_CA_BUNDLE",
                    "REQUESTS_CA_BUNDLE",
                    "NODE_EXTRA_CA_CERTS",
                ];
                variables.extend(users.map(|user| (user, bundle.display().to_string())));
            }
            None => eprintln!(
                "note: this machine has no bundle of certificates (package ca-certificates): programs will not trust \
                 those of the replay"
            ),
        }
        if self.proxy.is_some() {
            variables.push((PROXY_VARIABLE, proxy::proxy_address().to_string()));
            let users = ["http_proxy", "https_proxy", "HTTPS_PROXY"];
            variables.extend(users.map(|user| (user, proxy::proxy_url())));
        }
        Ok(ReplayEnvironment(variables))
    }

    /// Starts its servers, and the proxy in front of them.
    pub fn start(self, testbed: &Testbed) -> Result<RunningReplay, CliError> {
        let front = self
            .proxy
            .map(|proxy| (proxy, self.replay.issuer(), self.replay.authority().to_owned()));
        let addresses = self.replay.site().hosts.iter().filter_map(|host| match host.address {
            IpAddr::V4(address) => Some(address),
            IpAddr::V6(_) => None,
        });
        let addresses: Vec<_> = addresses.collect();
        testbed.add_server_addresses(addresses).map_err(CliError::machine)?;
        let journal = self.replay.journal();
        let (ready, readiness) = mpsc::channel();
        let replay = self.replay;
        let serve = move || {
            let resolver = AccessSide::Server.address().into();
            let config = real::Config::new(chance::RandomSource::new(1, 0));
            let ended = real::run(config, async {
                match replay.bind(resolver) {
                    Ok(bound) => {
                        // Whoever waits is told of the end of the program in another way.
                        let _ = ready.send(Ok(()));
                        bound.serve().await;
                    }
                    Err(error) => drop(ready.send(Err(error))),
                }
            });
            // A world that cannot begin drops `ready` unused, which is noticed below.
            drop(ended);
            Ok(())
        };
        testbed.namespace(AccessSide::Server).spawn(serve).map_err(CliError::machine)?;
        let started = readiness.recv();
        let started =
            started.map_err(|_| CliError::machine("the replay's servers did not start"))?;
        started.map_err(|error| {
            CliError::machine(format!("the replay's servers cannot listen: {error}"))
        })?;
        if let Some((proxy, issuer, authority)) = front {
            proxy.start(testbed, issuer, &authority)?;
            // What the proxy asked for earlier is no request of the command.
            *journal.lock().unwrap_or_else(PoisonError::into_inner) = ReplayJournal::default();
        }
        Ok(RunningReplay { journal })
    }
}

/// HTTP/3's servers with the knobs of `quic`.
fn h3_settings(quic: Option<&Quic>) -> Result<h3::settings::Server, CliError> {
    let mut settings = h3::settings::Server::default();
    let Some(quic) = quic else { return Ok(settings) };
    if quic.early_data.is_some() || quic.migrate_at_ns.is_some() {
        return Err(CliError::bad_input(format!(
            "--quic {quic}: a replay's servers have `cc` and `iw` only; 0rtt and migrate-at are the client's"
        )));
    }
    testbed::tour::set_quic_transport(&mut settings.transport, quic);
    Ok(settings)
}

/// Variables for the command.
pub struct ReplayEnvironment(Vec<(&'static str, String)>);

impl ReplayEnvironment {
    /// Sets them.
    pub fn set(&self, command: &mut Command) {
        command.envs(self.0.iter().map(|(name, value)| (*name, value.as_str())));
    }
}

/// Servers at work.
pub struct RunningReplay {
    journal: Arc<Mutex<ReplayJournal>>,
}

impl RunningReplay {
    /// Requests so far.
    pub fn journal(&self) -> ReplayJournal {
        self.journal.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Reports it: every request that was not exact, up to a number.
    pub fn tell(&self) {
        let journal = self.journal();
        let mut sentence = format!("replayed {}", counted(journal.exact as usize, "request"));
        if journal.inexact > 0 {
            sentence += &format!(", {} by a similar one", journal.inexact);
        }
        sentence += &format!("; {} missing", journal.missing);
        if journal.unknown_names > 0 {
            sentence += &format!(
                "; {} of unknown names",
                counted(journal.unknown_names as usize, "lookup")
            );
        }
        eprintln!("farlink: {sentence}");
        for entry in journal.listed.iter().take(MOST_TOLD) {
            let times =
                if entry.count > 1 { format!(" ({} times)", entry.count) } else { String::new() };
            eprintln!("farlink:   {}: {}{times}", entry.outcome, entry.request);
        }
        let rest = journal.listed.len().saturating_sub(MOST_TOLD) as u64 + journal.unlisted;
        if rest > 0 {
            eprintln!("farlink:   and {rest} more, which --log lists");
        }
    }
}

/// Reads a recording, and warns of what a replay lacks.
fn read(path: &Path) -> Result<RecordedLoad, CliError> {
    let load = recording::open(path)?.merged();
    let missing = load.missing_bodies();
    if missing > 0 {
        let shown = path.display();
        let responses = counted(missing, "response");
        eprintln!("warning: {shown}: {responses} without a body: they are replayed empty");
    }
    Ok(load)
}

/// Time that the server took for each exchange: that of the fitted page's object with the same request.
fn think(load: &RecordedLoad, page: &Page) -> Vec<Duration> {
    let mut known: BTreeMap<(&str, &str), Vec<Duration>> = BTreeMap::new();
    for object in page.objects.iter().rev() {
        known.entry((&object.method, &object.url)).or_default().push(object.think.value);
    }
    let requests = load.exchanges.iter().map(|exchange| &exchange.request);
    requests
        .map(|request| {
            let times = known.get_mut(&(request.method.as_str(), request.url.as_str()));
            times.and_then(Vec::pop).unwrap_or_default()
        })
        .collect()
}

/// Round trips beyond the network, as fitted.
fn distances(replay: &Replay, page: &Page) -> BTreeMap<IpAddr, Duration> {
    let extra = |name: &str| {
        let hosts = page.hosts.iter().filter(|host| host.name.eq_ignore_ascii_case(name));
        hosts.map(|host| host.extra_rtt.value).max().unwrap_or_default()
    };
    let hosts = replay.site().hosts.iter().map(|host| (host.address, extra(&host.name)));
    hosts.filter(|(_, extra)| !extra.is_zero()).collect()
}
