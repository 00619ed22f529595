//! Catalogue of pages, networks, devices and browsers.

use std::path::Path;

use browser::{Device, Policy, Priorities};
use net::Network;
use pac::Script;

use super::Library;
use scenario::experiment::{Catalogue, Refusal};
use scenario::{NetworkSpec, PageRef, nearest};

impl Catalogue for Library {
    fn page(&self, spec: &str) -> Result<PageRef, Refusal> {
        self.open_page(spec).map_err(refuse)?;
        Ok(page_ref(spec))
    }

    fn network(&self, network: &NetworkSpec) -> Result<Option<String>, Refusal> {
        let refuse_network = |error: net::SpecError| {
            // The message's reader knows already that it is about the network.
            let message = error.to_string();
            refuse(message.strip_prefix("network: ").unwrap_or(&message).to_owned())
        };
        let opened = self.open_network(network).map_err(refuse_network)?;
        Ok(network_digest(network, &opened))
    }

    fn device(&self, name: &str) -> Result<Option<String>, Refusal> {
        let known = Device::all();
        Device::open(name).map(|_| device_digest(name)).map_err(|error| Refusal {
            message: error.to_string(),
            hint: did_you_mean(name, known.keys().map(String::as_str)),
        })
    }

    fn browser(&self, name: &str) -> Result<(), Refusal> {
        let known = Policy::all();
        Policy::named(name).map(drop).map_err(|error| Refusal {
            message: error.to_string(),
            hint: did_you_mean(name, known.keys().map(String::as_str)),
        })
    }

    fn priorities(&self, name: &str) -> Result<Option<String>, Refusal> {
        let known = Priorities::all();
        Priorities::open(name).map(|_| priorities_digest(name)).map_err(|error| Refusal {
            message: error.to_string(),
            hint: did_you_mean(name, known.keys().map(String::as_str)),
        })
    }

    fn pac(&self, path: &str) -> Result<Option<String>, Refusal> {
        // Its answers for a page are checked when the scenario is prepared.
        Script::open(path).map_err(|error| refuse(error.to_string()))?;
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

fn refuse(message: String) -> Refusal {
    Refusal { message, hint: None }
}

fn did_you_mean<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<String> {
    nearest(name, known).map(|name| format!("did you mean `{name}`?"))
}
