//! Who knows which pages, networks, devices and browsers exist: the crates that hold them, not this one.

use crate::{NetworkSpec, PageRef};

/// Looks names up while an experiment is read, so that a wrong one is refused with its place.
pub trait Catalogue {
    /// Checks that the page can be loaded, or every page of a list. What comes from files has the digest of their contents.
    fn page(&self, spec: &str) -> Result<PageRef, Refusal>;
    /// Checks that the network is complete and known. One from a file has the digest of its contents.
    fn network(&self, network: &NetworkSpec) -> Result<Option<String>, Refusal>;
    /// Checks that the device profile is known. One from a file has the digest of its contents.
    fn device(&self, name: &str) -> Result<Option<String>, Refusal>;
    /// Checks that the browser policy is known.
    fn browser(&self, name: &str) -> Result<(), Refusal>;
    /// Checks that the mapping of priorities is known. One from a file has the digest of its contents.
    fn priorities(&self, name: &str) -> Result<Option<String>, Refusal>;
    /// Checks that the PAC file can be run. Gives the digest of its contents.
    fn pac(&self, path: &str) -> Result<Option<String>, Refusal>;
}

/// Why a name is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// One sentence without a full stop: "unknown device `deskop`; known: ...".
    pub message: String,
    /// What to do about it: "did you mean `desktop`?".
    pub hint: Option<String>,
}
