//! Starts a program in a network of its own, with or without root.
//!
//! The child gets a new network namespace. Root keeps its user namespace, and with it the right to real-time scheduling; anybody else
//! becomes root of a new user namespace, which is enough to make interfaces, routes and packet sockets inside. Nothing outlives the
//! child: the kernel ends it with its parent, and the namespaces with it.
//!
//! Source: user_namespaces(7), network_namespaces(7).

use std::ffi::CString;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

use nix::sched::{CloneFlags, unshare};
use nix::unistd::{Uid, getegid, geteuid};

/// Whose rights the child has outside of its namespaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Privilege {
    /// Those of the caller, who must be root.
    Root,
    /// None: it is root inside only.
    Rootless,
}

impl Privilege {
    /// Root where the caller is root.
    pub fn available() -> Privilege {
        if Uid::effective().is_root() { Privilege::Root } else { Privilege::Rootless }
    }
}

/// Makes `command` run in new namespaces once it is spawned.
pub fn isolated(command: &mut Command, privilege: Privilege) -> &mut Command {
    let id_maps = match privilege {
        Privilege::Root => None,
        Privilege::Rootless => Some(IdMaps::of_caller()),
    };
    let enter = move || {
        die_with_parent()?;
        match &id_maps {
            None => unshare(CloneFlags::CLONE_NEWNET)?,
            Some(maps) => {
                unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNET)?;
                maps.write()?;
            }
        }
        Ok(())
    };
    // SAFETY: between fork and exec only system calls are made (prctl, unshare, open, write, close), on strings that were
    // allocated before the fork.
    unsafe { command.pre_exec(enter) }
}

fn die_with_parent() -> io::Result<()> {
    // SAFETY: this option takes an integer and touches no memory of ours.
    let result = unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// What to write below `/proc/self` so that the caller is root in its new user namespace.
struct IdMaps {
    files: [(CString, Vec<u8>); 3],
}

impl IdMaps {
    fn of_caller() -> IdMaps {
        let file = |path: &str, line: String| {
            (CString::new(path).expect("the path holds no zero"), line.into_bytes())
        };
        IdMaps {
            files: [
                // Without this an unprivileged process may not map its group (user_namespaces(7)).
                file("/proc/self/setgroups", "deny".into()),
                file("/proc/self/uid_map", format!("0 {} 1", geteuid())),
                file("/proc/self/gid_map", format!("0 {} 1", getegid())),
            ],
        }
    }

    fn write(&self) -> io::Result<()> {
        use nix::fcntl::{OFlag, open};
        for (path, line) in &self.files {
            let file = open(path.as_c_str(), OFlag::O_WRONLY, nix::sys::stat::Mode::empty())?;
            nix::unistd::write(&file, line)?;
        }
        Ok(())
    }
}
