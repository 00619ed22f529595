//! Prerequisites of emulations, and the trial of each.

use std::process::Command;
use std::{fmt, fs, io};

use nix::errno::Errno;
use nix::fcntl::{OFlag, open};
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use nix::sys::stat::Mode;

use super::{AttemptError, MissingPrerequisite, first_line, in_child};
use crate::namespace::Isolation;
use crate::{Privilege, Wire, isolated, packet_socket, realtime, tap};

/// A feature that an emulation needs or benefits from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capability {
    /// A recent enough kernel.
    Kernel,
    /// Root in a user namespace, without real root.
    UserNamespaces,
    /// Network, mount and PID namespaces.
    Namespaces,
    /// The `ip` program.
    Iproute2,
    /// Interfaces between namespaces.
    Veth,
    /// Raw access to their frames.
    PacketSockets,
    /// Interfaces whose other side is a descriptor, instead of veth and packet sockets.
    Tap,
    /// Precedence for the emulator over ordinary threads.
    RealTime,
    /// The congestion controls that stacks are compared with.
    CongestionControls,
    /// Events of the kernel's TCP.
    TcpTracing,
}

/// The first kernel with `PACKET_IGNORE_OUTGOING` (packet(7)).
const OLDEST_KERNEL: (u32, u32) = (4, 20);

impl Capability {
    /// All capabilities, required ones first.
    pub const ALL: [Capability; 10] = [
        Capability::Kernel,
        Capability::UserNamespaces,
        Capability::Namespaces,
        Capability::Iproute2,
        Capability::Veth,
        Capability::PacketSockets,
        Capability::Tap,
        Capability::RealTime,
        Capability::CongestionControls,
        Capability::TcpTracing,
    ];

    /// True if emulation over this wire is impossible without it.
    pub(crate) fn is_needed_for(self, wire: Wire) -> bool {
        match self {
            Capability::Kernel
            | Capability::UserNamespaces
            | Capability::Namespaces
            | Capability::Iproute2 => true,
            Capability::Veth | Capability::PacketSockets => wire == Wire::Veth,
            Capability::Tap => wire == Wire::Tap,
            Capability::RealTime | Capability::CongestionControls | Capability::TcpTracing => false,
        }
    }

    /// Capabilities that must work before this one can be tried.
    pub(super) fn takes(self) -> &'static [Capability] {
        match self {
            Capability::Namespaces => &[Capability::UserNamespaces],
            Capability::Veth => &[Capability::Namespaces, Capability::Iproute2],
            Capability::PacketSockets | Capability::Tap => &[Capability::Namespaces],
            _ => &[],
        }
    }

    /// Its purpose.
    pub fn purpose(self) -> &'static str {
        match self {
            Capability::Kernel => {
                "the emulator's packet sockets must not see what they send themselves"
            }
            Capability::UserNamespaces => "emulated networks without root",
            Capability::Namespaces => {
                "each emulation has a network, mounts and processes of its own"
            }
            Capability::Iproute2 => "sets interfaces and routes up inside",
            Capability::Veth => "the wires between the emulator and both ends",
            Capability::PacketSockets => "how the emulator takes packets and gives them back",
            Capability::Tap => {
                "the wires where veth or packet sockets lack; without time stamps of arrivals"
            }
            Capability::RealTime => "keeps packets on time while the machine is busy",
            Capability::CongestionControls => "what the kernel's TCP can be told to use",
            Capability::TcpTracing => {
                "every change of a congestion window; without it connections are sampled"
            }
        }
    }

    /// Tries it.
    pub(super) fn attempt(self) -> Result<String, MissingPrerequisite> {
        match self {
            Capability::Kernel => kernel(),
            Capability::UserNamespaces => user_namespaces(),
            Capability::Namespaces => namespaces(),
            Capability::Iproute2 => iproute2(),
            Capability::Veth => veth(),
            Capability::PacketSockets => packet_sockets(),
            Capability::Tap => tap_devices(),
            Capability::RealTime => real_time(),
            Capability::CongestionControls => congestion_controls(),
            Capability::TcpTracing => tcp_tracing(),
        }
    }
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Capability::Kernel => "kernel",
            Capability::UserNamespaces => "user namespaces",
            Capability::Namespaces => "network, mount and PID namespaces",
            Capability::Iproute2 => "iproute2",
            Capability::Veth => "virtual Ethernet (veth)",
            Capability::PacketSockets => "packet sockets",
            Capability::Tap => "TAP devices",
            Capability::RealTime => "real-time priority",
            Capability::CongestionControls => "congestion controls",
            Capability::TcpTracing => "kernel TCP tracing",
        })
    }
}

fn kernel() -> Result<String, MissingPrerequisite> {
    let release = read("/proc/sys/kernel/osrelease");
    let (major, minor) = OLDEST_KERNEL;
    match version(&release) {
        Some(version) if version < OLDEST_KERNEL => Err(MissingPrerequisite::new(
            format!("Linux {release} is older than {major}.{minor}"),
            "install a newer kernel",
        )),
        _ => Ok(format!("Linux {release}")),
    }
}

/// The first two numbers of a release such as `6.18.44-fc`.
fn version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(|n| n.parse().ok());
    Some((numbers.next()??, numbers.next()??))
}

fn user_namespaces() -> Result<String, MissingPrerequisite> {
    if Privilege::available() == Privilege::Root {
        return Ok("root needs none".into());
    }
    let enter = || Isolation::new(Privilege::Rootless, CloneFlags::empty());
    let isolation = enter();
    in_child(|| isolation.enter()).map(|()| "without root".into()).map_err(forbidden)
}

/// The lack behind a failure to create a user namespace, from the switches that forbid it.
fn forbidden(errno: Errno) -> MissingPrerequisite {
    let is = |path: &str, value: &str| read(path) == value;
    if is("/proc/sys/kernel/unprivileged_userns_clone", "0") {
        let switch = "kernel.unprivileged_userns_clone";
        return MissingPrerequisite::new(
            format!("{switch} is 0"),
            format!("sudo sysctl -w {switch}=1"),
        );
    }
    if is("/proc/sys/user/max_user_namespaces", "0") || errno == Errno::ENOSPC {
        let switch = "user.max_user_namespaces";
        let value = read("/proc/sys/user/max_user_namespaces");
        return MissingPrerequisite::new(
            format!("{switch} allows no more ({value})"),
            format!("sudo sysctl -w {switch}=15000"),
        );
    }
    if is("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1") {
        let switch = "kernel.apparmor_restrict_unprivileged_userns";
        return MissingPrerequisite::new(
            format!("{switch} is 1"),
            format!("sudo sysctl -w {switch}=0"),
        );
    }
    MissingPrerequisite::new(
        format!("the kernel refused one ({errno})"),
        "run farlink as root; in a container, start that with --privileged, or with \
         --cap-add SYS_ADMIN --cap-add NET_ADMIN --security-opt seccomp=unconfined \
         --security-opt apparmor=unconfined",
    )
}

fn namespaces() -> Result<String, MissingPrerequisite> {
    let all = CloneFlags::CLONE_NEWNET | CloneFlags::CLONE_NEWNS | CloneFlags::CLONE_NEWPID;
    let isolation = Isolation::new(Privilege::available(), all);
    match in_child(|| isolation.enter()) {
        Ok(()) => Ok("one of each".into()),
        Err(Errno::ENOSPC) => Err(MissingPrerequisite::new(
            "the limit of namespaces is reached",
            "sudo sysctl -w user.max_net_namespaces=15000 user.max_mnt_namespaces=15000 \
             user.max_pid_namespaces=15000",
        )),
        Err(errno) => Err(forbidden(errno)),
    }
}

fn iproute2() -> Result<String, MissingPrerequisite> {
    match first_line(Command::new("ip").arg("-Version")) {
        Ok(line) => Ok(line),
        Err(AttemptError::NotStarted(error)) if error.kind() == io::ErrorKind::NotFound => Err(
            MissingPrerequisite::new("there is no `ip` on PATH", "sudo apt-get install iproute2"),
        ),
        Err(AttemptError::NotStarted(error)) => Err(MissingPrerequisite::new(
            format!("`ip` cannot be run: {error}"),
            "sudo apt-get install iproute2",
        )),
        Err(AttemptError::Failed(line)) => Err(MissingPrerequisite::new(
            format!("`ip` fails: {line}"),
            "sudo apt-get install --reinstall iproute2",
        )),
    }
}

fn veth() -> Result<String, MissingPrerequisite> {
    let mut command = Command::new("ip");
    command.args(["link", "add", "farlink0", "type", "veth", "peer", "name", "farlink1"]);
    match first_line(isolated(&mut command, Privilege::available())) {
        Ok(_) => Ok("a pair of interfaces".into()),
        Err(AttemptError::NotStarted(error)) => Err(no_veth(&error.to_string())),
        Err(AttemptError::Failed(line)) => Err(no_veth(&line)),
    }
}

/// The lack behind an error message of `ip` if the kernel has no veth.
fn no_veth(complaint: &str) -> MissingPrerequisite {
    MissingPrerequisite::new(
        format!("`ip link add type veth` says: {complaint}"),
        "sudo modprobe veth (part of linux-modules-extra or kernel-modules-extra on some systems)",
    )
}

fn packet_sockets() -> Result<String, MissingPrerequisite> {
    let isolation = Isolation::new(Privilege::available(), CloneFlags::CLONE_NEWNET);
    let tried = in_child(|| {
        isolation.enter()?;
        packet_socket::attempt()
    });
    match tried {
        Ok(()) => Ok("with offloads and time stamps".into()),
        Err(Errno::EAFNOSUPPORT) => Err(MissingPrerequisite::new(
            "the kernel has none (CONFIG_PACKET)",
            "sudo modprobe af_packet",
        )),
        Err(errno) => Err(MissingPrerequisite::new(
            format!("the kernel refused one ({errno})"),
            "in a container, start it with --cap-add NET_RAW",
        )),
    }
}

fn tap_devices() -> Result<String, MissingPrerequisite> {
    let isolation = Isolation::new(Privilege::available(), CloneFlags::CLONE_NEWNET);
    let tried = in_child(|| {
        isolation.enter()?;
        tap::attempt()
    });
    tried.map(|()| "with offloads".into()).map_err(no_tap)
}

/// The lack behind a failure to open /dev/net/tun.
fn no_tap(errno: Errno) -> MissingPrerequisite {
    match errno {
        Errno::ENOENT | Errno::ENODEV | Errno::ENXIO => MissingPrerequisite::new(
            "there is no /dev/net/tun",
            "sudo modprobe tun; in a container, start it with --device /dev/net/tun",
        ),
        Errno::EACCES => MissingPrerequisite::new(
            "/dev/net/tun may not be opened",
            "sudo chmod 0666 /dev/net/tun",
        ),
        errno => MissingPrerequisite::new(
            format!("the kernel refused one ({errno})"),
            "in a container, start it with --device /dev/net/tun",
        ),
    }
}

fn real_time() -> Result<String, MissingPrerequisite> {
    in_child(|| if realtime::prioritise() { Ok(()) } else { Err(Errno::EPERM) })
        .map(|()| "SCHED_FIFO".into())
        .map_err(|_| {
            MissingPrerequisite::new(
                "SCHED_FIFO is not allowed",
                "run farlink as root, or add the line `* - rtprio 2` to /etc/security/limits.conf and log in again",
            )
        })
}

fn congestion_controls() -> Result<String, MissingPrerequisite> {
    let available = read("/proc/sys/net/ipv4/tcp_available_congestion_control");
    let missing: Vec<&str> = ["cubic", "bbr"]
        .into_iter()
        .filter(|name| !available.split_whitespace().any(|have| have == *name))
        .collect();
    if missing.is_empty() {
        return Ok(available);
    }
    let modules: Vec<String> = missing.iter().map(|name| format!("tcp_{name}")).collect();
    Err(MissingPrerequisite::new(
        format!("{} only, without {}", available, missing.join(", ")),
        format!("sudo modprobe -a {}", modules.join(" ")),
    ))
}

fn tcp_tracing() -> Result<String, MissingPrerequisite> {
    match in_child(open_tcp_probe) {
        Ok(()) => Ok("tcp_probe".into()),
        Err(Errno::EPERM | Errno::EACCES) => {
            Err(MissingPrerequisite::new("only root may", "run farlink as root"))
        }
        Err(errno) => Err(MissingPrerequisite::new(
            format!("the kernel offers no tcp_probe ({errno})"),
            "use a kernel with CONFIG_FTRACE",
        )),
    }
}

/// Opens the event's switch in a tracefs mounted for this process alone; system calls only.
fn open_tcp_probe() -> Result<(), Errno> {
    const NOTHING: Option<&str> = None;
    unshare(CloneFlags::CLONE_NEWNS)?;
    mount(NOTHING, "/", NOTHING, MsFlags::MS_PRIVATE | MsFlags::MS_REC, NOTHING)?;
    match mount(NOTHING, "/sys/kernel/tracing", Some("tracefs"), MsFlags::empty(), NOTHING) {
        // It is mounted for all processes.
        Ok(()) | Err(Errno::EBUSY) => {}
        Err(errno) => return Err(errno),
    }
    let switch = "/sys/kernel/tracing/events/tcp/tcp_probe/enable";
    open(switch, OFlag::O_WRONLY, Mode::empty()).map(drop)
}

/// Text of a file, trimmed; empty if there is no file.
fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_are_compared_by_number() {
        assert_eq!(version("6.18.44-fc-v595"), Some((6, 18)));
        assert_eq!(version("4.19.0"), Some((4, 19)));
        assert!(version("4.9.1").unwrap() < OLDEST_KERNEL);
        assert!(version("10.0").unwrap() > OLDEST_KERNEL);
        assert_eq!(version("weird"), None);
    }

    #[test]
    fn a_kernel_without_veth_is_told_to_load_it() {
        let lack = no_veth("Error: Unknown device type.");
        assert!(lack.why.contains("Unknown device type"));
        assert!(lack.remedy.starts_with("sudo modprobe veth"));
    }

    #[test]
    fn a_machine_without_tap_devices_is_told_what_lacks() {
        assert!(no_tap(Errno::ENOENT).remedy.starts_with("sudo modprobe tun"));
        assert!(no_tap(Errno::EACCES).remedy.contains("chmod 0666 /dev/net/tun"));
        assert!(no_tap(Errno::EPERM).remedy.contains("--device /dev/net/tun"));
    }

    #[test]
    fn limits_name_their_switch() {
        let lack = forbidden(Errno::ENOSPC);
        assert!(lack.remedy.contains("sysctl -w"), "{lack:?}");
    }
}
