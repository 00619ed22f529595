//! Lookup of pages, networks, devices and browsers, implemented by the crates that hold them.

use crate::{NetworkSpec, PageRef};

/// Checks names while an experiment is read, so that an unknown one is reported with its position.
pub trait Catalogue {
    /// Checks that the page, or every page of a list, can be loaded. Anything read from files has the digest of
    /// their contents.
    fn page(&self, spec: &str) -> Result<PageRef, Refusal>;
    /// Checks that the network is complete and known. One from a file has the digest of its contents.
    fn network(&self, network: &NetworkSpec) -> Result<Option<String>, Refusal>;
    /// Checks that the device profile is known. One from a file has the digest of its contents.
    fn device(&self, name: &str) -> Result<Option<String>, Refusal>;
    /// Checks that the browser policy is known.
    fn browser(&self, name: &str) -> Result<(), Refusal>;
    /// Checks that the mapping of priorities is known. One from a file has the digest of its contents.
    fn priorities(&self, name: &str) -> Result<Option<String>, Refusal>;
    /// Checks that the PAC file can be run. Returns the digest of its contents.
    fn pac(&self, path: &str) -> Result<Option<String>, Refusal>;
}

/// Refusal of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// One sentence without a full stop: "unknown device `deskop`; known: ...".
    pub message: String,
    /// Advice on fixing it: "did you mean `desktop`?".
    pub hint: Option<String>,
}
