//! The site of a page and its third parties: hosts of other registrable domains than the document's, by the Public Suffix List.

use crate::{HostId, Page};

impl Page {
    /// True if the host belongs to the document's site.
    pub fn is_own(&self, host: HostId) -> bool {
        self.site_of(host) == self.site_of(self.root().host)
    }

    /// Hosts that belong to other sites than the document's.
    pub fn third_parties(&self) -> Vec<String> {
        let others = (0..self.hosts.len() as u32).map(HostId).filter(|host| !self.is_own(*host));
        others.map(|host| self.hosts[host.0 as usize].name.clone()).collect()
    }

    fn site_of(&self, host: HostId) -> &str {
        let name = &self.hosts[host.0 as usize].name;
        psl::domain_str(name).unwrap_or(name)
    }
}
