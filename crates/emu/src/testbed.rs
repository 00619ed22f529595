//! Three namespaces in a row: client - middle - server. There may be several clients, each on its own wire, and
//! intermediaries between them and the server.
//!
//! ```text
//!   client                            middle                             server
//!   eth0 10.0.0.1  <--veth-->  client   | emulator |   server  <--veth-->  eth0 10.0.0.2
//!        fd00:fa::1                                                             fd00:fa::2
//!        default route -> server                            lo 10.1.0.0 ... 10.255.255.255
//!                                                              fd00:fa:1::/48
//! ```
//!
//! Without veth or packet sockets, each eth0 is a TAP device, and its other side a descriptor of the emulator (see [`Wire`]).
//!
//! The server's side answers for whole networks of addresses, so that each host of a page has its own. The middle has no addresses and routes
//! nothing; the emulator carries each packet across. Both ends have permanent entries for each other's link address: an
//! ARP exchange would cost an emulated round trip. Further clients are 10.0.0.3, 10.0.0.4 and so on; intermediaries between clients and server, on
//! wires of their own, have the addresses after the last of them.
//!
//! The near half of a split-connection proxy is the clients' route to all servers. TCP packets to a server's address are local there, by a
//! routing table for incoming packets; outgoing packets take the main table, and so reach the server. (This is what TPROXY does, without its mark.)

use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::process::{Command, Stdio};

use crate::hosts::HostId;
use crate::packet_socket::{self, PacketSocket};
use crate::tap::TapDevice;
use crate::wire::WireEnd;
use crate::{AccessSide, BetweenHosts, EmulatedTopology, Emulator, Error, NetNamespace, Wire};

/// The routing table of connections that are taken over by the near half.
const TPROXY_TABLE: u32 = 100;
/// Ethernet's MTU, and the minimum MTU of IPv6 (RFC 8200 section 5).
const ETHERNET_MTU: u32 = 1500;
const IPV6_LEAST_MTU: u32 = 1280;

/// The three namespaces. They vanish with it, together with all state that connections left behind.
#[derive(Debug)]
pub struct Testbed {
    middle: NetNamespace,
    /// Indexed by [`HostId`].
    ends: Vec<NetNamespace>,
    hosts: TestbedHosts,
    wiring: Wiring,
}

/// The hosts at the ends.
#[derive(Clone, Copy, Debug)]
struct TestbedHosts {
    clients: u32,
    between: BetweenHosts,
}

impl TestbedHosts {
    fn all(self) -> impl Iterator<Item = HostId> {
        HostId::all(self.clients + self.between.hosts())
    }

    /// True for an intermediary between clients and server.
    fn is_between(self, end: HostId) -> bool {
        end.user().is_some_and(|user| user >= self.clients)
    }

    fn near_half(self) -> Option<HostId> {
        self.between.halves(self.clients).map(|[near, _]| near)
    }

    /// TCP settings of a host.
    fn tcp(
        self,
        end: HostId,
        tcp: &Option<[kernel::KernelKnobs; 2]>,
        halves: &Option<kernel::KernelKnobs>,
    ) -> Option<kernel::KernelKnobs> {
        if self.between == BetweenHosts::Halves && self.is_between(end) {
            return halves.clone();
        }
        let side = if self.is_between(end) { AccessSide::Server } else { end.side() };
        tcp.as_ref().map(|sides| sides[side as usize].clone())
    }

    /// Hosts that a host talks to.
    fn peers(self, end: HostId) -> impl Iterator<Item = HostId> {
        self.all().filter(move |peer| {
            let is_across = peer.side() != end.side();
            *peer != end && (is_across || self.is_between(end) || self.is_between(*peer))
        })
    }
}

/// Configuration of a [`Testbed`].
#[derive(Clone, Debug)]
pub struct TestbedConfig {
    /// The largest packet, such as [`EmulatedTopology::mtu`]; at most Ethernet's. If it is too small for IPv6, there is no IPv6.
    pub mtu: u32,
    /// Number of clients, all with the same settings.
    pub clients: u32,
    /// Intermediary between them and the server; a proxy has the server's settings.
    pub between: BetweenHosts,
    /// TCP settings, first the client's, then the server's; `None` for the defaults of new namespaces.
    pub tcp: Option<[kernel::KernelKnobs; 2]>,
    /// TCP settings of the halves of a split-connection proxy.
    pub halves_tcp: Option<kernel::KernelKnobs>,
    /// Kind of wire; `None` for veth, or TAP devices if veth or packet sockets are missing.
    pub wire: Option<Wire>,
}

impl Default for TestbedConfig {
    fn default() -> TestbedConfig {
        let between = BetweenHosts::Nobody;
        TestbedConfig {
            mtu: ETHERNET_MTU,
            clients: 1,
            between,
            tcp: None,
            halves_tcp: None,
            wire: None,
        }
    }
}

impl Testbed {
    /// Builds it with Ethernet's MTU; requires root, if only of its own user namespace (see [`isolated`](crate::isolated)).
    pub fn new() -> Result<Testbed, Error> {
        Testbed::build(TestbedConfig::default())
    }

    /// Builds it for packets no larger than `mtu` and with these TCP settings, first the client's, then the server's.
    pub fn with_tcp(mtu: u32, settings: [kernel::KernelKnobs; 2]) -> Result<Testbed, Error> {
        Testbed::build(TestbedConfig { mtu, tcp: Some(settings), ..TestbedConfig::default() })
    }

    /// Builds it as `setup` specifies.
    ///
    /// # Errors
    /// If the kernel refuses namespaces, `ip` is not installed, or no wire can be laid.
    pub fn build(setup: TestbedConfig) -> Result<Testbed, Error> {
        let TestbedConfig { mtu, clients, between, tcp, halves_tcp, wire } = setup;
        let hosts = TestbedHosts { clients, between };
        let middle = NetNamespace::new()?;
        let ends = hosts.all().map(|_| NetNamespace::new());
        let ends = ends.collect::<Result<Vec<_>, Error>>()?;
        let wiring = Wiring::lay(wire, &middle, &ends)?;
        let testbed = Testbed { middle, ends, hosts, wiring };
        // All ends at once: most of the time is spent starting `ip`.
        let made = hosts.all().map(|end| {
            let settings = hosts.tcp(end, &tcp, &halves_tcp);
            let own = testbed.wiring.link_options();
            let commands = commands(end, hosts, mtu.min(ETHERNET_MTU), &own, settings.as_ref());
            testbed.ends[end.number()].spawn(move || {
                // No unsolicited traffic: no router solicitations, no link-local addresses.
                write_sysctl("ipv6/conf/default/accept_ra", "0")?;
                write_sysctl("ipv6/conf/eth0/addr_gen_mode", "1")?;
                // Programs may bind the addresses of the local networks, as they may with IPv4.
                write_sysctl("ipv6/ip_nonlocal_bind", "1")?;
                if let Some(settings) = settings {
                    settings.write_sysctls()?;
                }
                ip(&commands)
            })
        });
        for end in made.collect::<Vec<_>>() {
            end?.join().map_err(|_| Error::Panicked("testbed"))??;
        }
        Ok(testbed)
    }

    /// An emulator of `topology` between the two ends. Random losses and jitter are drawn from `source`, as in a simulation with the same
    /// one. Packets that arrive from now on wait until the emulator [runs](Emulator::run). Its clock begins now, and it releases packets
    /// [exactly](crate::Release::Exact) by default.
    ///
    /// # Errors
    /// If an interface is gone.
    pub fn emulator(
        &self,
        topology: EmulatedTopology,
        source: &chance::RandomSource,
    ) -> Result<Emulator, Error> {
        Emulator::new(self.wiring.emulator_ends(&self.middle, self.ends.len())?, topology, source)
    }

    /// Kind of its wires.
    pub fn wire(&self) -> Wire {
        self.wiring.wire()
    }

    /// The namespace of one end: the first client's, or the server's.
    pub fn namespace(&self, side: AccessSide) -> &NetNamespace {
        &self.ends[HostId::at(side, 0).number()]
    }

    /// The namespace of the client with this number.
    ///
    /// # Panics
    /// If there is none.
    pub fn client(&self, number: u32) -> &NetNamespace {
        &self.ends[HostId::client(number).number()]
    }

    /// The namespace of the proxy.
    ///
    /// # Panics
    /// If there is none.
    pub fn proxy(&self) -> &NetNamespace {
        let proxy = self.hosts.between.proxy(self.hosts.clients);
        &self.ends[proxy.expect("the testbed was set up with a proxy").number()]
    }

    /// Address of the proxy of a testbed with this number of clients.
    pub fn proxy_address(clients: u32) -> IpAddr {
        HostId::behind(clients).address().into()
    }

    /// The namespaces of the halves of a split-connection proxy: near, far.
    ///
    /// # Panics
    /// If there are none.
    pub fn halves(&self) -> [&NetNamespace; 2] {
        let halves = self.hosts.between.halves(self.hosts.clients);
        let halves = halves.expect("the testbed was set up with a proxy in two halves");
        halves.map(|half| &self.ends[half.number()])
    }

    /// The namespace of the emulator.
    pub fn middle(&self) -> &NetNamespace {
        &self.middle
    }

    /// The server side's address for the host with this index: 10.1.0.1, 10.1.0.2 and so on, as in the simulation.
    ///
    /// # Panics
    /// If there is none, after 16 million hosts.
    pub fn host_address(index: usize) -> IpAddr {
        let address = u32::from(Ipv4Addr::new(10, 1, 0, 1)).checked_add(index as u32);
        let address = address.map(Ipv4Addr::from).filter(|address| address.octets()[0] == 10);
        address.unwrap_or_else(|| panic!("host {index} has no address")).into()
    }

    /// The IPv6 counterpart: fd00:fa:1::1, fd00:fa:1::2 and so on.
    pub fn host_address_v6(index: usize) -> IpAddr {
        let first = u128::from(Ipv6Addr::new(0xfd00, 0xfa, 1, 0, 0, 0, 0, 1));
        Ipv6Addr::from(first + index as u128).into()
    }

    /// Gives the server's side further IPv4 addresses, such as those of the Internet.
    ///
    /// # Errors
    /// If `ip` refuses one.
    pub fn add_server_addresses(
        &self,
        addresses: impl IntoIterator<Item = Ipv4Addr>,
    ) -> Result<(), Error> {
        let is_own = |address: &Ipv4Addr| address.octets()[0] == 10;
        let addresses = addresses.into_iter().filter(|address| !is_own(address));
        let commands: String =
            addresses.map(|address| format!("route replace local {address} dev lo\n")).collect();
        self.namespace(AccessSide::Server).run(move || ip(&commands))
    }

    /// Sets a network sysctl at both ends, such as `ipv4/tcp_no_metrics_save`.
    pub fn set_sysctl(&self, name: &'static str, value: &'static str) -> Result<(), Error> {
        for side in AccessSide::BOTH {
            self.namespace(side).run(move || write_sysctl(name, value))?;
        }
        Ok(())
    }

    /// Reads a network sysctl at one end, its fields separated by single blanks.
    pub fn sysctl(&self, side: AccessSide, name: &'static str) -> Result<String, Error> {
        self.namespace(side).run(move || {
            let path = sysctl_path(name);
            let text = std::fs::read_to_string(&path)
                .map_err(Error::io(format!("failed to read {path}")))?;
            Ok(text.split_whitespace().collect::<Vec<_>>().join(" "))
        })
    }
}

/// Commands that configure one end; `own` are options of its interface. TCP settings carried by routes are on the routes to the other end.
fn commands(
    end: HostId,
    hosts: TestbedHosts,
    mtu: u32,
    own: &str,
    settings: Option<&kernel::KernelKnobs>,
) -> String {
    let link = settings.map(kernel::KernelKnobs::link_options).unwrap_or_default();
    let route = settings.map(kernel::KernelKnobs::route_options).unwrap_or_default();
    let has_v6 = mtu >= IPV6_LEAST_MTU;
    let mut commands = format!(
        "link set lo up\n\
         link set eth0 address {} mtu {mtu} {own} {link} up\n\
         addr add {}/24 dev eth0\n",
        end.hardware_address(),
        end.address(),
    );
    if has_v6 {
        commands += &format!("addr add {}/64 dev eth0 nodad\n", end.address_v6());
    }
    for peer in hosts.peers(end) {
        let addresses = peer.addresses().into_iter().filter(|address| has_v6 || address.is_ipv4());
        commands.extend(addresses.map(|address| {
            format!(
                "neigh add {address} lladdr {} dev eth0 nud permanent\n\
                 route add {address} dev eth0 {route}\n",
                peer.hardware_address()
            )
        }));
    }
    match end.side() {
        AccessSide::Client => {
            let near = hosts.near_half().filter(|_| !hosts.is_between(end));
            let next = near.unwrap_or(HostId::SERVER);
            commands += &format!("route add default via {} {route}\n", next.address());
            if has_v6 {
                commands += &format!("route add default via {} {route}\n", next.address_v6());
            }
            if hosts.near_half() == Some(end) {
                commands += &format!("rule add iif eth0 ipproto tcp lookup {TPROXY_TABLE}\n");
                commands.extend(
                    local_networks()
                        .map(|net| format!("route add local {net} dev lo table {TPROXY_TABLE}\n")),
                );
            }
        }
        AccessSide::Server => {
            commands.extend(local_networks().map(|net| format!("route add local {net} dev lo\n")));
            if has_v6 {
                commands += "route add local fd00:fa:1::/48 dev lo\n";
            }
        }
    }
    commands
}

/// 10.1.0.0/16, 10.2.0.0/15 ... 10.128.0.0/9: all of 10.0.0.0/8 but the wire's own 10.0.0.0/16.
fn local_networks() -> impl Iterator<Item = String> {
    (0..8).map(|bit| format!("10.{}.0.0/{}", 1 << bit, 16 - bit))
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

// Set-up of the wires of a testbed.

/// The interface at either end.
const INTERFACE: &str = "eth0";

/// All wires.
#[derive(Debug)]
enum Wiring {
    Veth,
    /// Indexed by [`HostId`].
    Tap(Vec<TapDevice>),
}

impl Wiring {
    /// Sets up the wires asked for; by default those that the machine supports, veth if possible.
    fn lay(
        asked: Option<Wire>,
        middle: &NetNamespace,
        ends: &[NetNamespace],
    ) -> Result<Wiring, Error> {
        match asked {
            Some(Wire::Veth) => veth(middle, ends),
            Some(Wire::Tap) => tap(ends),
            None => veth(middle, ends).or_else(|veth| {
                let both = |tap| Error::NoWire { veth: Box::new(veth), tap: Box::new(tap) };
                tap(ends).map_err(both)
            }),
        }
    }

    /// Kind of the wires.
    fn wire(&self) -> Wire {
        match self {
            Wiring::Veth => Wire::Veth,
            Wiring::Tap(_) => Wire::Tap,
        }
    }

    /// Options of the ends' interfaces, for `ip link set`.
    fn link_options(&self) -> String {
        match self {
            Wiring::Veth => String::new(),
            Wiring::Tap(_) => format!("txqueuelen {}", TapDevice::QUEUE),
        }
    }

    /// The emulator's ends of the wires to `hosts` hosts, by [`HostId`].
    fn emulator_ends(&self, middle: &NetNamespace, hosts: usize) -> Result<Vec<WireEnd>, Error> {
        match self {
            Wiring::Veth => middle.run(move || {
                let open = |end: HostId| PacketSocket::open(&end.interface()).map(WireEnd::Veth);
                HostId::all(hosts as u32 - 1).map(open).collect()
            }),
            Wiring::Tap(devices) => {
                devices.iter().map(|device| device.attach().map(WireEnd::Tap)).collect()
            }
        }
    }
}

/// A pair of interfaces for each end, once the emulator is known to be able to use them.
fn veth(middle: &NetNamespace, ends: &[NetNamespace]) -> Result<Wiring, Error> {
    let pair = |end: HostId| {
        let (wire, path) = (end.interface(), ends[end.number()].path()?);
        Ok(format!(
            "link add {wire} type veth peer name {INTERFACE} netns {}\n\
             link set {wire} arp off up\n",
            path.display()
        ))
    };
    let ends = HostId::all(ends.len() as u32 - 1);
    let commands: String = ends.map(pair).collect::<Result<_, Error>>()?;
    middle.run(move || {
        packet_socket::attempt().map_err(Error::system(packet_socket::REFUSED))?;
        write_sysctl("ipv6/conf/default/disable_ipv6", "1")?;
        ip(&commands)
    })?;
    Ok(Wiring::Veth)
}

/// A device at each end.
fn tap(ends: &[NetNamespace]) -> Result<Wiring, Error> {
    let devices = ends.iter().map(|end| end.run(|| TapDevice::create(INTERFACE)));
    Ok(Wiring::Tap(devices.collect::<Result<_, Error>>()?))
}
