//! The PAC file of a scenario's route, tried over its page before anything is loaded: what it names is where the proxy listens.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use browser::Arm;
use chance::Source;
use pac::{Choice, Engine, PacError, ProxyAt, Script, Surroundings, Word};
use scenario::{Program, Scenario, Tls};
use tls::{PLAN_START, Protocol, Security};

use super::ready::OTHER_PORTS;
use super::visitor;

/// So many requests are tried at the least, and as many again as it took until the last proxy was named: by then turns and chance have named all.
const LEAST_REQUESTS: usize = 1_000;
/// So many browsers are, where the file draws at random: it may draw once for each.
const LEAST_BROWSERS: usize = 64;
/// On so many ports the proxy can listen.
const MOST_PROXIES: usize = 256;

/// A PAC file, and what it names.
#[derive(Debug)]
pub(crate) struct Surveyed {
    pub(crate) script: Script,
    /// The proxies, as the file calls them.
    pub(crate) proxies: BTreeSet<ProxyAt>,
    /// Whether some requests go past them.
    pub(crate) goes_past: bool,
}

impl Surveyed {
    /// The ports, in their order.
    pub(crate) fn ports(&self) -> Vec<u16> {
        let ports: BTreeSet<u16> = self.proxies.iter().map(|at| at.port).collect();
        ports.into_iter().collect()
    }

    /// Checks that a real Chromium, if that is the client, finds where it is sent what it expects there: the file is its own affair then.
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
        let word = if over_tls { Word::Https } else { Word::Proxy };
        match self.proxies.iter().find(|at| at.word != word) {
            Some(ProxyAt { word: said, host, port }) => Err(format!(
                "the PAC file {name} says `{said} {host}:{port}`, and Chromium goes by the word: clients speak with the proxy here as `{word}` says"
            )),
            None => Ok(()),
        }
    }

    /// Whether this is new.
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

/// Files that were tried, by all that decides what they name.
#[derive(Default)]
pub(super) struct Surveys(Mutex<BTreeMap<String, Arc<Surveyed>>>);

/// What a file is asked, and what it can ask.
pub(super) struct Questions {
    /// The URLs of a page's objects, each with its host.
    pub(super) urls: Vec<(String, String)>,
    /// Where hosts are.
    pub(super) addresses: BTreeMap<String, IpAddr>,
}

impl Surveys {
    /// The scenario's file, if it has one, tried over what `asked` gives.
    pub(super) fn of(
        &self,
        scenario: &Scenario,
        asked: impl FnOnce() -> Questions,
    ) -> Result<Option<Arc<Surveyed>>, String> {
        let Some(path) = scenario.route.pac.path() else { return Ok(None) };
        let (stack, users) = (&scenario.stack, scenario.clients.users());
        let way = (scenario.route.settings.via, stack.tls, stack.protocol, scenario.hosting);
        let key = format!("{path} {:?} {way:?} {users}", scenario.pac_digest);
        let mut tried = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = tried.get(&key) {
            return Ok(Some(Arc::clone(known)));
        }
        let script = Script::open(path).map_err(|error| error.to_string())?;
        let surveyed = Arc::new(survey(script, &asked(), users)?);
        tried.insert(key, Arc::clone(&surveyed));
        Ok(Some(surveyed))
    }
}

fn survey(script: Script, asked: &Questions, users: u32) -> Result<Surveyed, String> {
    let is_drawn = script.text.contains("random");
    let found = Surveyed { script, proxies: BTreeSet::new(), goes_past: false };
    let mut trial = Trial { asked, found };
    trial.browse(visitor::address(0), 0, LEAST_REQUESTS)?;
    for user in 1..users {
        trial.browse(visitor::address(user), 0, 1)?;
    }
    let (mut browser, mut last_new) = (1, 0);
    while is_drawn && browser < LEAST_BROWSERS.max(4 * last_new) {
        if trial.browse(visitor::address(0), browser, 1)? {
            last_new = browser;
        }
        browser += 1;
    }
    Ok(trial.found)
}

/// A file that is tried.
struct Trial<'a> {
    asked: &'a Questions,
    found: Surveyed,
}

impl Trial<'_> {
    /// Has a browser at this address make all requests, again and again until there are so many and half of them have named nothing new. Whether any has.
    fn browse(&mut self, own: IpAddr, browser: usize, least: usize) -> Result<bool, String> {
        let known = self.asked.addresses.clone();
        let surroundings = Surroundings {
            resolve: Box::new(move |host| known.get(host).copied()),
            own,
            random: Source::new(0, browser as u64).stream("pac/survey"),
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

/// Gives the hosts of a page, which clients ask past the proxy by `past`, ports that the proxy does not ask them on, by `usual`. A port may serve both
/// where both speak HTTP/1 in clear text and the proxy's connections are kept like the clients'. Hosts that shared a port share the new one.
pub(super) fn make_way(past: &mut [Arm], usual: &[Arm], machines: &[usize], are_alike: bool) {
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

/// Whether a host is spoken to as a proxy speaks to hosts.
fn is_plain(arm: &Arm) -> bool {
    arm.security == Security::None && matches!(arm.protocol, Protocol::H10 | Protocol::H1)
}

/// What a reader of results must know.
pub(super) fn note(surveyed: &Surveyed) -> String {
    let ports = match surveyed.ports()[..] {
        [] => "no request to the proxy".to_owned(),
        [port] => format!("requests to the proxy's port {port}"),
        ref ports => format!("requests to {} ports of the proxy", ports.len()),
    };
    let past = if surveyed.goes_past { ", and some past it" } else { "" };
    format!("the PAC file {} sends {ports}{past}", surveyed.script.name)
}
