//! Resolution of host names inside a sandbox: files that replace the machine's own.
//!
//! No name server is reachable inside, and some resolvers ask a daemon outside through a socket in the file system (systemd-resolved,
//! nscd), whose answers would lead nowhere. So names come from a hosts file alone.
//!
//! Source: hosts(5), resolv.conf(5), nsswitch.conf(5).

use std::fmt::Write;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Host names with their addresses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    entries: Vec<(String, IpAddr)>,
}

impl Names {
    /// Adds a name; a name may have several addresses.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, address: impl Into<IpAddr>) -> Names {
        self.entries.push((name.into(), address.into()));
        self
    }

    /// The text of `/etc/hosts` on a machine called `hostname`, which must know itself.
    pub(super) fn hosts(&self, hostname: &str) -> String {
        let loopback: [IpAddr; 2] = [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
        let own = loopback.map(|address| (format!("localhost {hostname}"), address));
        own.iter().chain(&self.entries).fold(String::new(), |mut text, (name, address)| {
            writeln!(text, "{address} {name}").expect("a string takes all");
            text
        })
    }
}

/// The text of `/etc/resolv.conf`: queries to a name server fail at once.
pub(super) const RESOLV_CONF: &str =
    "# There is no name server inside.\noptions timeout:1 attempts:1\n";

/// The text of `/etc/nsswitch.conf` with host names from the hosts file; the rest is unchanged.
pub(super) fn nsswitch(machine: &str) -> String {
    let others = machine.lines().filter(|line| !line.trim_start().starts_with("hosts:"));
    others.chain(["hosts: files dns"]).fold(String::new(), |text, line| text + line + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_hold_the_machine_itself_and_what_was_added() {
        let names = Names::default()
            .with("server.farlink", Ipv4Addr::new(10, 0, 0, 2))
            .with("server.farlink", Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 2));
        assert_eq!(
            names.hosts("box"),
            "127.0.0.1 localhost box\n::1 localhost box\n10.0.0.2 server.farlink\nfd00::2 server.farlink\n"
        );
    }

    #[test]
    fn daemons_are_not_asked_for_hosts() {
        let machine = "passwd: files systemd\nhosts: mymachines resolve [!UNAVAIL=return] files\n";
        assert_eq!(nsswitch(machine), "passwd: files systemd\nhosts: files dns\n");
        assert_eq!(nsswitch(""), "hosts: files dns\n");
    }
}
