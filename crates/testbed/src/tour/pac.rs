//! The PAC file of a scenario's route, evaluated over its page before anything is loaded: the proxy listens on
//! the ports that it names.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use browser::HostStack;
use chance::RandomSource;
use pac::{Choice, Engine, PacEnvironment, PacError, PacScript, ProxyAt, ProxyKeyword};
use scenario::{Program, Scenario, Tls};
use tls::{PLAN_START, Protocol, Security};

use super::ready::OTHER_PORTS;

/// Minimum number of trial requests; trials continue until the second half has named no new proxy: by then
/// rotation and randomness have named all.
const LEAST_REQUESTS: usize = 1_000;
/// Minimum number of trial browsers if the file uses randomness: it may draw once per browser.
const LEAST_BROWSERS: usize = 64;
/// Maximum number of ports of the proxy.
const MOST_PROXIES: usize = 256;

/// A PAC file, and the proxies that it names.
#[derive(Debug)]
pub(crate) struct Surveyed {
    pub(crate) script: PacScript,
    /// The proxies, as named in the file.
    pub(crate) proxies: BTreeSet<ProxyAt>,
    /// True if some requests bypass them.
    pub(crate) goes_past: bool,
}

impl Surveyed {
    /// The ports, in order.
    pub(crate) fn ports(&self) -> Vec<u16> {
        let ports: BTreeSet<u16> = self.proxies.iter().map(|at| at.port).collect();
        ports.into_iter().collect()
    }

    /// Checks that a real Chromium, if that is the client, can follow the file: it evaluates the file itself, so
    /// the proxy and the hosts must speak as the file says.
    ///
    /// # Errors
    /// One sentence.
    pub(super) fn check(&self, scenario: &Scenario) -> Result<(), String> {
        if scenario.client.program != Program::Chromium {
            return Ok(());
        }
        let name = &self.script.name;
        let over_tls = scenario.route.asks_proxy() && scenario.stack.tls != Tls::None;
        if over_tls && self.goes_past {
            return Err(format!(
                "the PAC file {name} says DIRECT, where Chromium asks for `http` resources in clear text and the hosts have TLS: use via=connect, tls none, or farlink's own loader (client `loader`)"
            ));
        }
        let word = if over_tls { ProxyKeyword::Https } else { ProxyKeyword::Proxy };
        match self.proxies.iter().find(|at| at.word != word) {
            Some(ProxyAt { word: said, host, port }) => Err(format!(
                "the PAC file {name} says `{said} {host}:{port}`, and Chromium goes by the word: clients speak with the proxy here as `{word}` says"
            )),
            None => Ok(()),
        }
    }

    /// Records a choice; returns true if it is new.
    fn note(&mut self, choice: Choice) -> Result<bool, String> {
        let is_new = match choice {
            Choice::Direct => !std::mem::replace(&mut self.goes_past, true),
            Choice::Proxy(at) => self.proxies.insert(at),
        };
        match self.proxies.len() > MOST_PROXIES {
            true => Err(format!(
                "the PAC file {} names more than {MOST_PROXIES} proxies, which is as many ports as the proxy listens on here",
                self.script.name
            )),
            false => Ok(is_new),
        }
    }
}

/// Evaluated files, keyed by everything that affects their answers.
#[derive(Default)]
pub(super) struct Surveys(Mutex<BTreeMap<String, Arc<Surveyed>>>);

/// Inputs of a file's evaluation.
pub(super) struct PacInputs {
    /// The URLs of a page's objects, each with its host.
    pub(super) urls: Vec<(String, String)>,
    /// Addresses of hosts.
    pub(super) addresses: BTreeMap<String, IpAddr>,
}

impl Surveys {
    /// The scenario's file, if it has one, evaluated over the input of `asked`.
    pub(super) fn of(
        &self,
        scenario: &Scenario,
        asked: impl FnOnce() -> PacInputs,
    ) -> Result<Option<Arc<Surveyed>>, String> {
        let Some(path) = scenario.route.pac.path() else { return Ok(None) };
        let (stack, users) = (&scenario.stack, scenario.clients.users());
        let way =
            (scenario.route.settings.via, stack.tls, stack.protocol, scenario.origin_addresses);
        let key = format!("{path} {:?} {way:?} {users}", scenario.pac_digest);
        let mut tried = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = tried.get(&key) {
            return Ok(Some(Arc::clone(known)));
        }
        let script = PacScript::open(path).map_err(|error| error.to_string())?;
        let surveyed = Arc::new(survey(script, &asked(), users)?);
        tried.insert(key, Arc::clone(&surveyed));
        Ok(Some(surveyed))
    }
}

fn survey(script: PacScript, asked: &PacInputs, users: u32) -> Result<Surveyed, String> {
    let is_drawn = script.text.contains("random");
    let found = Surveyed { script, proxies: BTreeSet::new(), goes_past: false };
    let mut trial = PacTrial { asked, found };
    trial.browse(super::course::address(0), 0, LEAST_REQUESTS)?;
    for user in 1..users {
        trial.browse(super::course::address(user), 0, 1)?;
    }
    let (mut browser, mut last_new) = (1, 0);
    while is_drawn && browser < LEAST_BROWSERS.max(4 * last_new) {
        if trial.browse(super::course::address(0), browser, 1)? {
            last_new = browser;
        }
        browser += 1;
    }
    Ok(trial.found)
}

/// Evaluation of a file.
struct PacTrial<'a> {
    asked: &'a PacInputs,
    found: Surveyed,
}

impl PacTrial<'_> {
    /// Lets a browser at this address make all requests, repeatedly until there are enough and half of them
    /// have named nothing new. Returns true if any has.
    fn browse(&mut self, own: IpAddr, browser: usize, least: usize) -> Result<bool, String> {
        let known = self.asked.addresses.clone();
        let surroundings = PacEnvironment {
            resolve: Box::new(move |host| known.get(host).copied()),
            own,
            random: RandomSource::new(0, browser as u64).stream("pac/survey"),
            now: PLAN_START,
        };
        let told = |error: PacError| error.to_string();
        let engine = Engine::start(&self.found.script, surroundings).map_err(told)?;
        let (mut requests, mut last_new) = (0, 0);
        while requests < least.max(2 * last_new) {
            for (url, host) in &self.asked.urls {
                requests += 1;
                if self.found.note(engine.find(url, host).map_err(told)?)? {
                    last_new = requests;
                }
            }
        }
        Ok(last_new > 0)
    }
}

/// Assigns ports to the hosts of a page so that clients can reach them past the proxy with `past`, while the
/// proxy uses `usual`. The two may share a port if both speak HTTP/1 in clear text and the proxy's connections
/// are kept like the clients'. Hosts that shared a port share the new one.
pub(super) fn make_way(
    past: &mut [HostStack],
    usual: &[HostStack],
    machines: &[usize],
    are_alike: bool,
) {
    let asked: BTreeSet<(usize, u16)> =
        machines.iter().copied().zip(usual.iter().map(|arm| arm.port)).collect();
    let mut taken: BTreeSet<(usize, u16)> =
        machines.iter().copied().zip(past.iter().map(|arm| arm.port)).collect();
    let mut moved: BTreeMap<(usize, u16), u16> = BTreeMap::new();
    for ((arm, usual), machine) in past.iter_mut().zip(usual).zip(machines) {
        let own = (*machine, arm.port);
        let serves_both = are_alike && is_plain(arm) && arm.port == usual.port;
        if serves_both || !asked.contains(&own) {
            continue;
        }
        arm.port = *moved.entry(own).or_insert_with(|| {
            let is_free = |port: &u16| {
                !asked.contains(&(*machine, *port)) && !taken.contains(&(*machine, *port))
            };
            (OTHER_PORTS..).find(is_free).unwrap_or(own.1)
        });
        taken.insert((*machine, arm.port));
    }
}

/// True if an arm equals that of a proxy to hosts: HTTP/1 in clear text.
fn is_plain(arm: &HostStack) -> bool {
    arm.security == Security::None && matches!(arm.protocol, Protocol::H10 | Protocol::H1)
}

/// A note for readers of results.
pub(super) fn note(surveyed: &Surveyed) -> String {
    let ports = match surveyed.ports()[..] {
        [] => "no request to the proxy".to_owned(),
        [port] => format!("requests to the proxy's port {port}"),
        ref ports => format!("requests to {} ports of the proxy", ports.len()),
    };
    let past = if surveyed.goes_past { ", and some past it" } else { "" };
    format!("the PAC file {} sends {ports}{past}", surveyed.script.name)
}
