//! Network namespaces: held by a descriptor, entered by threads, and made for programs.
//!
//! A namespace lives as long as this process holds its descriptor or a thread is in it. A thread that has entered one stays: sockets
//! that it opens belong there, and so do the programs that it starts and its accesses below `/proc/sys/net`.

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::thread::{self, JoinHandle};

use nix::errno::Errno;
use nix::fcntl::{OFlag, open};
use nix::sched::{CloneFlags, setns, unshare};
use nix::sys::stat::Mode;
use nix::unistd::{Gid, Pid, Uid, getegid, geteuid, getpid, getppid};

use crate::Error;
use crate::sandbox::RunAs;

/// Size of a new namespace's own table of TCP connections; without it the table is shared by the whole machine. To list the connections of
/// one namespace the kernel walks the table, which takes a millisecond for the machine's. Kernels before 6.1 have only the shared one.
const CHILD_TABLE: &str = "/proc/sys/net/ipv4/tcp_child_ehash_entries";
const CONNECTIONS: &str = "512";

/// A network namespace.
#[derive(Debug)]
pub struct NetNamespace {
    file: File,
}

impl NetNamespace {
    /// Creates an empty namespace.
    pub fn new() -> Result<NetNamespace, Error> {
        thread::spawn(|| {
            unshare(CloneFlags::CLONE_NEWNET)
                .map_err(Error::system("failed to make a network namespace"))?;
            // The first one only gives the second a connection table of its own.
            if std::fs::write(CHILD_TABLE, CONNECTIONS).is_ok() {
                unshare(CloneFlags::CLONE_NEWNET)
                    .map_err(Error::system("failed to make a network namespace"))?;
            }
            let file = File::open("/proc/thread-self/ns/net")
                .map_err(Error::io("failed to open a network namespace"))?;
            Ok(NetNamespace { file })
        })
        .join()
        .map_err(|_| Error::Panicked("namespace"))?
    }

    /// Path by which another process can open it while this one lives.
    pub(crate) fn path(&self) -> Result<PathBuf, Error> {
        // Not by `std::process::id`: /proc may be that of another PID namespace.
        let own = std::fs::canonicalize("/proc/self").map_err(Error::io("failed to read /proc"))?;
        Ok(own.join("fd").join(self.file.as_raw_fd().to_string()))
    }

    /// Starts a program inside.
    pub fn start(&self, command: &mut Command, run_as: RunAs) -> Result<Child, Error> {
        let file = self.file.try_clone().map_err(Error::io("failed to copy a descriptor"))?;
        let enter = move || Ok(setns(&file, CloneFlags::CLONE_NEWNET)?);
        // SAFETY: one system call.
        unsafe { command.pre_exec(enter) };
        run_as.assume(command)?;
        let name = command.get_program().display().to_string();
        command.spawn().map_err(Error::io(format!("failed to start {name}")))
    }

    /// Runs `job` inside, on a new thread.
    pub fn spawn<T: Send + 'static>(
        &self,
        job: impl FnOnce() -> Result<T, Error> + Send + 'static,
    ) -> Result<JoinHandle<Result<T, Error>>, Error> {
        let file = self.file.try_clone().map_err(Error::io("failed to copy a descriptor"))?;
        Ok(thread::spawn(move || {
            setns(file, CloneFlags::CLONE_NEWNET)
                .map_err(Error::system("failed to enter a network namespace"))?;
            job()
        }))
    }

    /// Runs `job` inside and waits for it.
    pub fn run<T: Send + 'static>(
        &self,
        job: impl FnOnce() -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        self.spawn(job)?.join().map_err(|_| Error::Panicked("namespace"))?
    }
}

// Starts a program in its own network namespace, with or without root.
//
// The child gets a new network namespace. Root keeps its user namespace, and with it the right to real-time scheduling; any other user
// becomes root of a new user namespace, which suffices to create interfaces, routes and packet sockets inside. Nothing outlives the
// child: the kernel kills it with its parent, and the namespaces vanish with it.
//
// Source: user_namespaces(7), network_namespaces(7), capabilities(7).

/// `CAP_NET_ADMIN`, `CAP_NET_RAW` and `CAP_SYS_ADMIN` (`include/uapi/linux/capability.h`): required by namespaces and packet sockets.
const NEEDED_CAPABILITIES: u64 = 1 << 12 | 1 << 13 | 1 << 21;

/// The exit code of a process whose parent is gone; there is no reader.
pub(crate) const ORPHANED: i32 = 125;

/// Privileges of the child outside of its namespaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Privilege {
    /// The privileges of the caller, which must be root.
    Root,
    /// None: it is root inside only.
    Rootless,
}

impl Privilege {
    /// `Root` if the caller is effectively root: in many containers root lacks the capabilities.
    pub fn available() -> Privilege {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let capable = effective_capabilities(&status) & NEEDED_CAPABILITIES == NEEDED_CAPABILITIES;
        if Uid::effective().is_root() && capable { Privilege::Root } else { Privilege::Rootless }
    }
}

/// The effective set in the text of `/proc/PID/status`; empty if it is not given.
fn effective_capabilities(status: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    line.and_then(|digits| u64::from_str_radix(digits.trim(), 16).ok()).unwrap_or_default()
}

/// Makes `command` run in new namespaces once it is spawned.
pub fn isolated(command: &mut Command, privilege: Privilege) -> &mut Command {
    let isolation = Isolation::new(privilege, CloneFlags::CLONE_NEWNET);
    let enter = move || isolation.enter().map_err(io::Error::from);
    // SAFETY: `Isolation::enter` may be called between fork and exec.
    unsafe { command.pre_exec(enter) }
}

/// Moves a forked child into new namespaces.
pub(crate) struct Isolation {
    flags: CloneFlags,
    maps: Option<IdMaps>,
    parent: Pid,
}

impl Isolation {
    /// Prepares it in the future parent.
    pub(crate) fn new(privilege: Privilege, namespaces: CloneFlags) -> Isolation {
        let (flags, maps) = match privilege {
            Privilege::Root => (namespaces, None),
            Privilege::Rootless => {
                (namespaces | CloneFlags::CLONE_NEWUSER, Some(IdMaps::of_caller()))
            }
        };
        Isolation { flags, maps, parent: getpid() }
    }

    /// Enters the namespaces, and sets up death with the parent. Between fork and exec this makes system calls only (unshare, open, write, close,
    /// prctl, getppid, _exit), on strings that were allocated before the fork.
    pub(crate) fn enter(&self) -> Result<(), Errno> {
        unshare(self.flags)?;
        if let Some(maps) = &self.maps {
            maps.write()?;
        }
        // After the change of credentials, which may clear it (prctl(2), PR_SET_PDEATHSIG).
        die_with_parent()?;
        // A parent that died before that call sends nothing, and no process is left to report to.
        if getppid() != self.parent {
            // SAFETY: leaves at once.
            unsafe { libc::_exit(ORPHANED) }
        }
        Ok(())
    }
}

/// Asks the kernel to kill the caller when the thread that started it ends.
pub(crate) fn die_with_parent() -> Result<(), Errno> {
    // SAFETY: this option takes an integer and touches no memory of ours.
    Errno::result(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) }).map(drop)
}

/// Files below `/proc/self` that map one user and one group into a new user namespace.
pub(crate) struct IdMaps {
    files: [(CString, Vec<u8>); 3],
}

impl IdMaps {
    /// Maps the caller to root.
    fn of_caller() -> IdMaps {
        IdMaps::new((Uid::from_raw(0), geteuid()), (Gid::from_raw(0), getegid()))
    }

    /// Each pair is the identity inside and the one outside, which must be the process's own.
    pub(crate) fn new(user: (Uid, Uid), group: (Gid, Gid)) -> IdMaps {
        let file = |path: &str, line: String| {
            (CString::new(path).expect("the path holds no zero"), line.into_bytes())
        };
        IdMaps {
            files: [
                // Without this an unprivileged process may not map its group (user_namespaces(7)).
                file("/proc/self/setgroups", "deny".into()),
                file("/proc/self/uid_map", format!("{} {} 1", user.0, user.1)),
                file("/proc/self/gid_map", format!("{} {} 1", group.0, group.1)),
            ],
        }
    }

    /// System calls only.
    pub(crate) fn write(&self) -> Result<(), Errno> {
        for (path, line) in &self.files {
            let file = open(path.as_c_str(), OFlag::O_WRONLY, Mode::empty())?;
            nix::unistd::write(&file, line)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capabilities_are_read_from_the_status() {
        let status = "Name:\tx\nCapPrm:\t0\nCapEff:\t00000000a80425fb\nCapBnd:\tff\n";
        assert_eq!(effective_capabilities(status), 0xa804_25fb, "root in a container");
        assert_eq!(effective_capabilities(status) >> 21 & 1, 0);
        assert_eq!(effective_capabilities("CapEff: what"), 0);
    }
}
