//! Starts a program in its own network namespace, with or without root.
//!
//! The child gets a new network namespace. Root keeps its user namespace, and with it the right to real-time scheduling; any other user
//! becomes root of a new user namespace, which suffices to create interfaces, routes and packet sockets inside. Nothing outlives the
//! child: the kernel kills it with its parent, and the namespaces vanish with it.
//!
//! Source: user_namespaces(7), network_namespaces(7), capabilities(7).

use std::ffi::CString;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

use nix::errno::Errno;
use nix::fcntl::{OFlag, open};
use nix::sched::{CloneFlags, unshare};
use nix::sys::stat::Mode;
use nix::unistd::{Gid, Pid, Uid, getegid, geteuid, getpid, getppid};

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
        // A parent that died before that call sends nothing, and there is nobody to report to.
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
