//! Identity of programs in a sandbox.
//!
//! A sandbox that was not made by root is a user namespace in which the caller is root. Programs other than farlink should run as the
//! caller instead: many behave differently as root, and browsers refuse to run. A second user namespace maps root back.

use std::os::unix::process::CommandExt;
use std::process::Command;

use nix::sched::{CloneFlags, unshare};
use nix::unistd::{Gid, Uid, getegid, geteuid};

use crate::Error;
use crate::isolate::IdMaps;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sandbox_has_one_identity_and_a_machine_many() {
        assert_eq!(single("         0       1000          1\n"), Some(1000));
        assert_eq!(single("         0          0 4294967295\n"), None);
        assert_eq!(single(""), None);
    }
}
