//! Three namespaces in a row: client - middle - server.
//!
//! ```text
//!   client                            middle                             server
//!   eth0 10.0.0.1  <--veth-->  client   | emulator |   server  <--veth-->  eth0 10.0.0.2
//! ```
//!
//! The middle has no addresses and routes nothing; the emulator carries each packet across. Both ends know each other's link address for good: an
//! ARP exchange would cost an emulated round trip. IPv6 is off, so that nothing but the experiment's packets is on the wire.

use std::io::Write;
use std::net::Ipv4Addr;
use std::process::{Command, Stdio};

use crate::{Error, NetNamespace};

/// One of the two ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Where connections come from.
    Client,
    /// Where they go.
    Server,
}

impl Side {
    /// Its address.
    pub const fn address(self) -> Ipv4Addr {
        match self {
            Side::Client => Ipv4Addr::new(10, 0, 0, 1),
            Side::Server => Ipv4Addr::new(10, 0, 0, 2),
        }
    }

    /// The other one.
    pub const fn peer(self) -> Side {
        match self {
            Side::Client => Side::Server,
            Side::Server => Side::Client,
        }
    }

    /// Its interface in the middle.
    pub(crate) const fn interface(self) -> &'static str {
        match self {
            Side::Client => "client",
            Side::Server => "server",
        }
    }

    const fn hardware_address(self) -> &'static str {
        match self {
            Side::Client => "02:00:00:00:00:01",
            Side::Server => "02:00:00:00:00:02",
        }
    }
}

/// The three namespaces. They vanish with it, and with them whatever a connection left behind.
#[derive(Debug)]
pub struct Testbed {
    client: NetNamespace,
    middle: NetNamespace,
    server: NetNamespace,
}

impl Testbed {
    /// Builds it; the program needs to be root, if only of its own user namespace (see [`isolated`](crate::isolated)).
    pub fn new() -> Result<Testbed, Error> {
        let testbed = Testbed {
            client: NetNamespace::new()?,
            middle: NetNamespace::new()?,
            server: NetNamespace::new()?,
        };
        for side in [Side::Client, Side::Server] {
            testbed.wire(side)?;
        }
        Ok(testbed)
    }

    /// The namespace of one end.
    pub fn namespace(&self, side: Side) -> &NetNamespace {
        match side {
            Side::Client => &self.client,
            Side::Server => &self.server,
        }
    }

    /// The namespace of the emulator.
    pub fn middle(&self) -> &NetNamespace {
        &self.middle
    }

    /// Sets a network sysctl at both ends, such as `ipv4/tcp_no_metrics_save`.
    pub fn set_sysctl(&self, name: &'static str, value: &'static str) -> Result<(), Error> {
        for side in [Side::Client, Side::Server] {
            self.namespace(side).run(move || write_sysctl(name, value))?;
        }
        Ok(())
    }

    /// Reads a network sysctl at one end, its fields separated by single blanks.
    pub fn sysctl(&self, side: Side, name: &'static str) -> Result<String, Error> {
        self.namespace(side).run(move || {
            let path = sysctl_path(name);
            let text = std::fs::read_to_string(&path)
                .map_err(Error::io(format!("failed to read {path}")))?;
            Ok(text.split_whitespace().collect::<Vec<_>>().join(" "))
        })
    }

    fn wire(&self, side: Side) -> Result<(), Error> {
        let namespace = self.namespace(side);
        let wire = side.interface();
        let path = namespace.path()?;
        self.middle.run(move || {
            write_sysctl("ipv6/conf/default/disable_ipv6", "1")?;
            ip(&format!(
                "link add {wire} type veth peer name eth0 netns {}\n\
                 link set {wire} up\n",
                path.display()
            ))
        })?;
        namespace.run(move || {
            write_sysctl("ipv6/conf/all/disable_ipv6", "1")?;
            let peer = side.peer();
            ip(&format!(
                "link set lo up\n\
                 link set eth0 address {} up\n\
                 addr add {}/24 dev eth0\n\
                 neigh add {} lladdr {} dev eth0 nud permanent\n",
                side.hardware_address(),
                side.address(),
                peer.address(),
                peer.hardware_address(),
            ))
        })
    }
}

fn sysctl_path(name: &str) -> String {
    format!("/proc/sys/net/{name}")
}

fn write_sysctl(name: &str, value: &str) -> Result<(), Error> {
    let path = sysctl_path(name);
    std::fs::write(&path, value).map_err(Error::io(format!("failed to set {path}")))
}

/// Feeds commands to `ip -batch`, in the calling thread's namespace.
fn ip(commands: &str) -> Result<(), Error> {
    let mut child = Command::new("ip")
        .args(["-batch", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(Error::io("failed to start `ip` (install iproute2)"))?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(commands.as_bytes()).map_err(Error::io("failed to write to `ip`"))?;
    }
    let output = child.wait_with_output().map_err(Error::io("failed to wait for `ip`"))?;
    if output.status.success() {
        return Ok(());
    }
    let message = String::from_utf8_lossy(&output.stderr).trim().replace('\n', "; ");
    Err(Error::Ip { message })
}
