//! Contents of a sandbox: mounts, host names, the identity of programs, and sockets passed out of it.
//!
//! Source: mount_namespaces(7), mount(2).

use std::fmt::Write;
use std::io::{IoSlice, IoSliceMut};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpListener};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use nix::errno::Errno;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, unshare};
use nix::sys::socket::{ControlMessage, ControlMessageOwned, MsgFlags, recvmsg, sendmsg};
use nix::unistd::{Gid, Uid, getegid, geteuid};

use crate::Error;
use crate::namespace::IdMaps;

const NOTHING: Option<&str> = None;

/// Keeps later mounts out of the machine's mount namespace, and later mounts there out of this one.
pub(super) fn make_private() -> Result<(), Error> {
    mount(NOTHING, "/", NOTHING, MsFlags::MS_PRIVATE | MsFlags::MS_REC, NOTHING)
        .map_err(Error::system("failed to make the sandbox's mounts private"))
}

/// Mounts a `/proc` of the sandbox's own PID namespace. In a container whose `/proc` is partly hidden the kernel refuses this
/// (`mount_too_revealing`); the old one then stays, in which `/proc/self` still works.
pub(super) fn show_own_processes() {
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
    let _ = mount(Some("proc"), "/proc", Some("proc"), flags, NOTHING);
}

/// Files in memory, over the machine's directory for temporary files.
#[derive(Debug)]
pub(super) struct TemporaryFiles;

impl TemporaryFiles {
    /// The one directory for temporary files that every system has.
    pub(super) const PATH: &str = "/tmp";

    /// Hides the previous content.
    pub(super) fn mount() -> Result<TemporaryFiles, Error> {
        let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
        mount(Some("farlink"), TemporaryFiles::PATH, Some("tmpfs"), flags, Some("mode=1777"))
            .map_err(Error::system("failed to mount a tmpfs in the sandbox"))?;
        Ok(TemporaryFiles)
    }

    /// Restores the previous content. Files that are in use or mounted elsewhere stay as long as they are.
    pub(super) fn unmount(self) -> Result<(), Error> {
        umount2(TemporaryFiles::PATH, MntFlags::MNT_DETACH)
            .map_err(Error::system("failed to unmount a tmpfs in the sandbox"))
    }
}

/// Puts files of our own in place of those that configure name resolution.
pub(super) fn set_names(names: &HostNames) -> Result<(), Error> {
    let hostname = nix::unistd::gethostname().unwrap_or_default();
    let hosts = names.hosts(&hostname.to_string_lossy());
    // A machine without this file has glibc's defaults, which it keeps.
    let switch = nsswitch(&std::fs::read_to_string("/etc/nsswitch.conf").unwrap_or_default());
    let files = TemporaryFiles::mount()?;
    let replaced = replace("/etc/hosts", &hosts)
        .and_then(|_| replace("/etc/resolv.conf", &names.resolv_conf()))
        .and_then(|_| replace("/etc/nsswitch.conf", &switch));
    files.unmount()?;
    replaced.map(drop)
}

/// Mounts a file with this text over another; false if there is none: nothing can be mounted in its place, and its readers have defaults.
pub(super) fn replace(path: &str, text: &str) -> Result<bool, Error> {
    let name = Path::new(path).file_name().expect("the path names a file");
    let ours = Path::new(TemporaryFiles::PATH).join(name);
    std::fs::write(&ours, text)
        .map_err(Error::io(format!("failed to write {}", ours.display())))?;
    mount_over(&ours, path)
}

/// Mounts a file or directory of ours over `path`; false if there is nothing.
pub(super) fn mount_over(ours: &Path, path: &str) -> Result<bool, Error> {
    match mount(Some(ours), path, NOTHING, MsFlags::MS_BIND, NOTHING) {
        Ok(()) => Ok(true),
        Err(Errno::ENOENT) => Ok(false),
        Err(errno) => Err(Error::System { what: "failed to mount a file over one of /etc", errno }),
    }
}

// Resolution of host names inside a sandbox: files that replace the machine's own.
//
// No name server of the machine's is reachable inside, and some resolvers ask a daemon outside through a socket in the file system
// (systemd-resolved, nscd), whose answers would lead nowhere. So names come from a hosts file, and from a name server inside if
// there is one.
//
// Source: hosts(5), resolv.conf(5), nsswitch.conf(5).

/// Host names with their addresses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostNames {
    entries: Vec<(String, IpAddr)>,
    resolver: Option<IpAddr>,
}

impl HostNames {
    /// Adds a name; a name may have several addresses.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, address: impl Into<IpAddr>) -> HostNames {
        self.entries.push((name.into(), address.into()));
        self
    }

    /// Has a name server asked for all other names.
    #[must_use]
    pub fn asking(mut self, resolver: impl Into<IpAddr>) -> HostNames {
        self.resolver = Some(resolver.into());
        self
    }

    /// The text of `/etc/resolv.conf`; without a name server, queries fail at once.
    pub(super) fn resolv_conf(&self) -> String {
        match self.resolver {
            None => NO_RESOLVER.to_owned(),
            Some(resolver) => format!("nameserver {resolver}\n"),
        }
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

/// The text of `/etc/resolv.conf` without a name server.
const NO_RESOLVER: &str = "# There is no name server inside.\noptions timeout:1 attempts:1\n";

/// The text of `/etc/nsswitch.conf` with host names from the hosts file; the rest is unchanged.
pub(super) fn nsswitch(machine: &str) -> String {
    let others = machine.lines().filter(|line| !line.trim_start().starts_with("hosts:"));
    others.chain(["hosts: files dns"]).fold(String::new(), |text, line| text + line + "\n")
}

// Identity of programs in a sandbox.
//
// A sandbox that was not made by root is a user namespace in which the caller is root. Programs other than farlink should run as the
// caller instead: many behave differently as root, and browsers refuse to run. A second user namespace maps root back.

/// Identity of a program in a sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunAs {
    /// The sandbox's root, which may configure its network.
    Root,
    /// The user that started the sandbox, with the rights that it has outside. Files are the caller's own either way.
    Caller,
}

impl RunAs {
    /// Gives `command` this identity once it is spawned; steps that need the sandbox's root must come before.
    pub(crate) fn assume(self, command: &mut Command) -> Result<(), Error> {
        if self == RunAs::Root {
            return Ok(());
        }
        let (user, group) = (outside("/proc/self/uid_map")?, outside("/proc/self/gid_map")?);
        let (root, root_group) = (geteuid(), getegid());
        let (Some(user), Some(group)) = (user, group) else { return Ok(()) };
        if user == root.as_raw() {
            return Ok(());
        }
        let maps = IdMaps::new((Uid::from_raw(user), root), (Gid::from_raw(group), root_group));
        let assume = move || {
            unshare(CloneFlags::CLONE_NEWUSER)?;
            Ok(maps.write()?)
        };
        // SAFETY: unshare and `IdMaps::write` make system calls only.
        unsafe { command.pre_exec(assume) };
        Ok(())
    }
}

/// The outer id of the single id in this user namespace; `None` if this namespace has more than one, as the machine's own has.
fn outside(path: &str) -> Result<Option<u32>, Error> {
    let text =
        std::fs::read_to_string(path).map_err(Error::io(format!("failed to read {path}")))?;
    Ok(single(&text))
}

/// The second number of a map whose third is 1 (user_namespaces(7)).
fn single(map: &str) -> Option<u32> {
    let mut numbers = map.split_whitespace().map(str::parse::<u32>);
    match (numbers.next()?, numbers.next()?, numbers.next()?) {
        (Ok(_), Ok(outside), Ok(1)) => Some(outside),
        _ => None,
    }
}

// Sockets passed over a channel.
//
// A socket belongs to the network namespace in which it was created, regardless of its holder: a listener made inside and passed outside is the
// only way for a connection to leave a sandbox. Source: unix(7), `SCM_RIGHTS`.

/// Data sent along with a descriptor: there must be some.
const COMPANION: &[u8] = &[0];

/// Sends a listener; the sender keeps its own descriptor.
pub fn send_listener(channel: &UnixStream, listener: &TcpListener) -> Result<(), Error> {
    let descriptors = [listener.as_raw_fd()];
    let messages = [ControlMessage::ScmRights(&descriptors)];
    let data = [IoSlice::new(COMPANION)];
    sendmsg::<()>(channel.as_raw_fd(), &data, &messages, MsgFlags::MSG_NOSIGNAL, None)
        .map(drop)
        .map_err(Error::system("failed to pass a socket out of the sandbox"))
}

/// Receives a listener; `None` if the channel was closed instead.
pub fn receive_listener(channel: &UnixStream) -> Result<Option<TcpListener>, Error> {
    let what = "failed to receive a socket from the sandbox";
    let mut byte = [0; COMPANION.len()];
    let mut data = [IoSliceMut::new(&mut byte)];
    let mut control = nix::cmsg_space!(RawFd);
    let message = loop {
        let flags = MsgFlags::MSG_CMSG_CLOEXEC;
        match recvmsg::<()>(channel.as_raw_fd(), &mut data, Some(&mut control), flags) {
            Err(Errno::EINTR) => {}
            outcome => break outcome.map_err(Error::system(what))?,
        }
    };
    if message.bytes == 0 {
        return Ok(None);
    }
    let messages = message.cmsgs().map_err(Error::system(what))?;
    let descriptor = messages
        .flat_map(|message| match message {
            ControlMessageOwned::ScmRights(descriptors) => descriptors,
            _ => Vec::new(),
        })
        .next()
        .ok_or(Error::System { what, errno: Errno::EBADMSG })?;
    // SAFETY: the kernel has just opened it for this process.
    let descriptor = unsafe { OwnedFd::from_raw_fd(descriptor) };
    Ok(Some(TcpListener::from(descriptor)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_hold_the_machine_itself_and_what_was_added() {
        let names = HostNames::default()
            .with("server.farlink", Ipv4Addr::new(10, 0, 0, 2))
            .with("server.farlink", Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 2));
        assert_eq!(
            names.hosts("box"),
            "127.0.0.1 localhost box\n::1 localhost box\n10.0.0.2 server.farlink\nfd00::2 server.farlink\n"
        );
    }

    #[test]
    fn a_name_server_is_asked_if_there_is_one() {
        let names = HostNames::default();
        assert!(names.resolv_conf().contains("no name server"));
        let asking = names.asking(Ipv4Addr::new(10, 0, 0, 2));
        assert_eq!(asking.resolv_conf(), "nameserver 10.0.0.2\n");
    }

    #[test]
    fn daemons_are_not_asked_for_hosts() {
        let machine = "passwd: files systemd\nhosts: mymachines resolve [!UNAVAIL=return] files\n";
        assert_eq!(nsswitch(machine), "passwd: files systemd\nhosts: files dns\n");
        assert_eq!(nsswitch(""), "hosts: files dns\n");
    }

    #[test]
    fn a_sandbox_has_one_identity_and_a_machine_many() {
        assert_eq!(single("         0       1000          1\n"), Some(1000));
        assert_eq!(single("         0          0 4294967295\n"), None);
        assert_eq!(single(""), None);
    }

    #[test]
    fn a_listener_arrives_and_works() {
        let (near, far) = UnixStream::pair().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        send_listener(&near, &listener).unwrap();
        drop(listener);
        let received = receive_listener(&far).unwrap().expect("one was sent");
        assert_eq!(received.local_addr().unwrap(), address);
        drop(near);
        assert!(receive_listener(&far).unwrap().is_none());
    }
}
