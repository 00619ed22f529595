//! Catalogue of pages, networks, devices and browsers, read once for all the journeys that use them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use browser::{Device, Policy, Priorities};
use net::{Network, NetworkSpecError};
use pac::PacScript;
use scenario::experiment::{Catalogue, NameError};
use scenario::{NetworkSpec, PageRef, Scenario, nearest};

use super::ready::{Contents, PreparedPages, Ready};

/// Resources that scenarios name. Prepared pages and networks are kept from journey to journey; nothing else is.
#[derive(Default)]
pub struct Library {
    pages: PreparedPages,
    networks: PreparedNetworks,
    /// Pages that patterns found, which are read when they are loaded.
    found: Mutex<BTreeSet<String>>,
}

impl Library {
    /// A library in which `name` is this page.
    ///
    /// # Errors
    /// If the page breaks an invariant.
    pub fn of_page(name: &str, page: page::Page) -> Result<Library, String> {
        let library = Library::default();
        library.pages.insert(name, page)?;
        Ok(library)
    }

    /// Checks that a scenario can be run, and prepares its page.
    ///
    /// # Errors
    /// An unknown page, network, device or browser, with the likely intended name.
    pub fn prepare(&self, scenario: &Scenario) -> Result<(), NameError> {
        self.page(&scenario.page.spec)?;
        self.ready(scenario).map_err(|message| NameError { message, hint: None })?;
        Catalogue::network(self, &scenario.network)?;
        self.device(&scenario.client.device)?;
        self.browser(&scenario.client.browser)?;
        if let Some(priorities) = &scenario.priorities {
            self.priorities(&priorities.name)?;
        }
        let refuse = |message: String| NameError { message, hint: None };
        let priorities = super::protocols::priorities(scenario).map_err(refuse)?;
        let contradiction =
            priorities.and_then(|it| super::protocols::contradiction(scenario, &it));
        contradiction.map_or(Ok(()), |message| Err(refuse(message.to_owned())))?;
        self.check_proxies(scenario).map_err(refuse)?;
        self.check_pep(scenario).map_err(refuse)
    }

    fn check_proxies(&self, scenario: &Scenario) -> Result<(), String> {
        if !scenario.route.has_proxy() {
            return Ok(());
        }
        let ready = self.ready(scenario)?;
        ready.arms(scenario)?;
        if let Some(surveyed) = ready.pac(scenario)? {
            surveyed.check(scenario)?;
        }
        super::route::check(scenario, &self.network_of(scenario)?)
    }

    fn check_pep(&self, scenario: &Scenario) -> Result<(), String> {
        if !scenario.route.has_pep() {
            return Ok(());
        }
        let (page, network) = (self.page_of(scenario)?, self.network_of(scenario)?);
        super::pep::check(scenario, &page, &network)
    }

    /// The network of a scenario, as simulated and emulated.
    ///
    /// # Errors
    /// If there is none of that name, or its description cannot be read.
    pub fn network_of(&self, scenario: &Scenario) -> Result<Network, String> {
        let network = self.open_network(&scenario.network).map_err(|error| error.to_string())?;
        Ok(super::varied((*network).clone(), scenario.noise))
    }

    /// The page of a scenario, read once; for a list all its pages together, as seen by their servers.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub fn page_of(&self, scenario: &Scenario) -> Result<Arc<page::Page>, String> {
        Ok(Arc::clone(&self.ready(scenario)?.page))
    }

    /// The page of one visit of the scenario: for a list, the one of this name.
    ///
    /// # Errors
    /// If it cannot be opened, or the list has no such page.
    pub fn visited(
        &self,
        scenario: &Scenario,
        name: Option<&str>,
    ) -> Result<Arc<page::Page>, String> {
        let (ready, spec) = (self.ready(scenario)?, &scenario.page.spec);
        let member = ready.member(name);
        let member =
            member.ok_or_else(|| format!("{spec} has no page `{}`", name.unwrap_or("")))?;
        Ok(Arc::clone(&member.page))
    }

    pub(crate) fn ready(&self, scenario: &Scenario) -> Result<Arc<Ready>, String> {
        let ready = self.pages.open(&scenario.page.spec, Contents::of(scenario))?;
        let (planned, found) = (&scenario.page.digest, &ready.digest);
        let changed = if !ready.names().eq(scenario.page.pages.iter().map(String::as_str)) {
            "the list has other pages than"
        } else if planned.is_some() && found.is_some() && planned != found {
            "the file is another one than"
        } else {
            return Ok(ready);
        };
        let spec = &scenario.page.spec;
        Err(format!("{spec}: {changed} when the journey was planned; run the experiment anew"))
    }

    pub(super) fn open_page(&self, spec: &str) -> Result<Arc<Ready>, String> {
        self.pages.open(spec, Contents::Any)
    }

    pub(super) fn open_network(
        &self,
        spec: &NetworkSpec,
    ) -> Result<Arc<Network>, net::NetworkSpecError> {
        self.networks.open(spec)
    }
}

impl Catalogue for Library {
    fn page(&self, spec: &str) -> Result<PageRef, NameError> {
        if !self.found.lock().unwrap_or_else(PoisonError::into_inner).contains(spec) {
            self.open_page(spec).map_err(refuse)?;
        }
        Ok(page_ref(spec))
    }

    fn pages_like(&self, pattern: &str) -> Result<Vec<String>, NameError> {
        // After a `#`, a star stands for pages of one list.
        let path = pattern.split_once('#').map_or(pattern, |(path, _)| path);
        if !path.contains('*') {
            return Ok(vec![pattern.to_owned()]);
        }
        let wrong = |error: glob::PatternError| refuse(format!("`{pattern}`: {error}"));
        let paths = glob::glob(pattern).map_err(wrong)?;
        let files = paths.filter_map(Result::ok).filter(|path| path.is_file());
        let names: Vec<String> = files.map(|path| path.display().to_string()).collect();
        if names.is_empty() {
            let hint = "paths are relative to the directory in which farlink runs".to_owned();
            return Err(NameError {
                message: format!("no file is like `{pattern}`"),
                hint: Some(hint),
            });
        }
        self.found.lock().unwrap_or_else(PoisonError::into_inner).extend(names.iter().cloned());
        Ok(names)
    }

    fn network(&self, network: &NetworkSpec) -> Result<Option<String>, NameError> {
        let refuse_network = |error: net::NetworkSpecError| {
            // The message's reader knows already that it is about the network.
            let message = error.to_string();
            refuse(message.strip_prefix("network: ").unwrap_or(&message).to_owned())
        };
        let opened = self.open_network(network).map_err(refuse_network)?;
        Ok(network_digest(network, &opened))
    }

    fn device(&self, name: &str) -> Result<Option<String>, NameError> {
        let known = Device::all();
        Device::open(name).map(|_| device_digest(name)).map_err(|error| NameError {
            message: error.to_string(),
            hint: did_you_mean(name, known.keys().map(String::as_str)),
        })
    }

    fn browser(&self, name: &str) -> Result<(), NameError> {
        let known = Policy::all();
        Policy::named(name).map(drop).map_err(|error| NameError {
            message: error.to_string(),
            hint: did_you_mean(name, known.keys().map(String::as_str)),
        })
    }

    fn priorities(&self, name: &str) -> Result<Option<String>, NameError> {
        let known = Priorities::all();
        Priorities::open(name).map(|_| priorities_digest(name)).map_err(|error| NameError {
            message: error.to_string(),
            hint: did_you_mean(name, known.keys().map(String::as_str)),
        })
    }

    fn pac(&self, path: &str) -> Result<Option<String>, NameError> {
        // Its answers for a page are checked when the scenario is prepared.
        PacScript::open(path).map_err(|error| refuse(error.to_string()))?;
        Ok(pac_digest(path))
    }
}

/// The digest of a PAC file.
pub fn pac_digest(path: &str) -> Option<String> {
    file_digest(path)
}

/// The digest of the file that holds a mapping of priorities; `None` for a named one.
pub fn priorities_digest(spec: &str) -> Option<String> {
    // The name of a mapping is not a file name, even if there is a file of that name.
    spec.ends_with(".toml").then(|| file_digest(spec)).flatten()
}

/// Reference to the page, or the list of pages, that `spec` names. Their existence is checked when the scenario
/// is prepared.
pub fn page_ref(spec: &str) -> PageRef {
    let list = page::is_list(spec).then(|| page::List::open(spec).ok()).flatten();
    let Some(page::List { pages }) = list else {
        return PageRef { digest: files_digest(page::files(spec)), ..PageRef::named(spec) };
    };
    let files = pages.iter().flat_map(|listed| page::files(&listed.spec));
    let digest = files_digest(std::iter::once(spec.into()).chain(files));
    let pages = pages.into_iter().map(|listed| listed.name).collect();
    PageRef { spec: spec.to_owned(), digest, pages }
}

/// The digest of the file that holds a device; `None` for a profile.
pub fn device_digest(spec: &str) -> Option<String> {
    // The name of a profile is not a file name, even if there is a file of that name.
    spec.ends_with(".toml").then(|| file_digest(spec)).flatten()
}

/// The digest of all files that the network described by `spec` was read from: its own, traces, lists of
/// losses, in the order of their use; `None` if there are none.
pub fn network_digest(spec: &NetworkSpec, network: &Network) -> Option<String> {
    // The name of a profile is not a file name, even if there is a file of that name.
    let base = spec.base.as_deref().filter(|base| base.ends_with(".toml"));
    files_digest(base.into_iter().chain(network.files()))
}

/// The digest of several files in their order; that of a single one is its own.
fn files_digest(files: impl IntoIterator<Item = impl AsRef<Path>>) -> Option<String> {
    let digests: Vec<String> = files.into_iter().filter_map(file_digest).collect();
    match digests.as_slice() {
        [] => None,
        [only] => Some(only.clone()),
        several => Some(blake3::hash(several.concat().as_bytes()).to_hex().to_string()),
    }
}

/// The digest of the file at `path`; `None` if there is none.
fn file_digest(path: impl AsRef<Path>) -> Option<String> {
    let contents = std::fs::read(path).ok()?;
    Some(blake3::hash(&contents).to_hex().to_string())
}

fn refuse(message: String) -> NameError {
    NameError { message, hint: None }
}

fn did_you_mean<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<String> {
    nearest(name, known).map(|name| format!("did you mean `{name}`?"))
}

// Networks read once, for all the journeys over them.
//
// A network can name files: itself, traces, lists of losses. They are read on the first use of a network;
// journeys share the contents even if a file is edited meanwhile.

/// Networks, keyed by scenarios' specifications.
#[derive(Default)]
pub(super) struct PreparedNetworks(Mutex<BTreeMap<String, Arc<Network>>>);

impl PreparedNetworks {
    /// The network of `spec`, read from its files on first use.
    pub(super) fn open(&self, spec: &NetworkSpec) -> Result<Arc<Network>, NetworkSpecError> {
        let text = spec.to_string();
        let mut networks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(network) = networks.get(&text) {
            return Ok(Arc::clone(network));
        }
        let network = Arc::new(Network::parse(&text)?);
        networks.insert(text, Arc::clone(&network));
        Ok(network)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_is_read_once() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("walk.txt");
        std::fs::write(&path, "1\n2\n").unwrap();
        let text = format!("rtt=20ms,up=1mbit,down.trace={}", path.display());
        let spec = NetworkSpec::parse(&text).unwrap();
        let networks = PreparedNetworks::default();
        let first = networks.open(&spec).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert!(Arc::ptr_eq(&first, &networks.open(&spec).unwrap()));
        assert!(PreparedNetworks::default().open(&spec).is_err(), "nobody else has read it");
    }
}
