//! Attempts in child processes.

use std::io;
use std::process::{Command, Stdio};

use nix::errno::Errno;
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{ForkResult, fork};

/// Runs `job` in a forked child, which takes all changes to itself with it.
///
/// `job` makes system calls only: other threads' locks are held for ever in the child.
pub(super) fn in_child(job: impl FnOnce() -> Result<(), Errno>) -> Result<(), Errno> {
    // SAFETY: the child makes system calls only, and leaves by one.
    match unsafe { fork() }? {
        ForkResult::Child => {
            let code = job().err().map_or(0, |errno| errno as i32);
            // SAFETY: leaves at once; what exit(3) would run belongs to the parent. Linux's error numbers fit an exit code.
            unsafe { libc::_exit(code) }
        }
        ForkResult::Parent { child } => loop {
            match waitpid(child, None) {
                Ok(WaitStatus::Exited(_, 0)) => return Ok(()),
                Ok(WaitStatus::Exited(_, code)) => return Err(Errno::from_raw(code)),
                // A seccomp filter may kill instead of refusing (seccomp(2)).
                Ok(WaitStatus::Signaled(..)) => return Err(Errno::EPERM),
                Ok(_) | Err(Errno::EINTR) => {}
                Err(errno) => return Err(errno),
            }
        },
    }
}

/// Runs a program and returns the first line of its output, or of its error message.
pub(super) fn first_line(command: &mut Command) -> Result<String, Complaint> {
    let output = command.stdin(Stdio::null()).output().map_err(Complaint::NotStarted)?;
    let line = |bytes: &[u8]| {
        String::from_utf8_lossy(bytes).lines().next().unwrap_or_default().trim().to_owned()
    };
    match output.status.success() {
        true => Ok(line(&output.stdout)),
        false => Err(Complaint::Failed(line(&output.stderr))),
    }
}

/// Reason why a program failed.
#[derive(Debug)]
pub(super) enum Complaint {
    /// It does not exist, or may not be run.
    NotStarted(io::Error),
    /// Its error message.
    Failed(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_tell_what_failed() {
        assert_eq!(in_child(|| Ok(())), Ok(()));
        assert_eq!(in_child(|| Err(Errno::ENOSPC)), Err(Errno::ENOSPC));
        assert_eq!(
            in_child(|| nix::sys::signal::raise(nix::sys::signal::SIGKILL)),
            Err(Errno::EPERM)
        );
    }

    #[test]
    fn programs_are_quoted() {
        assert_eq!(first_line(Command::new("sh").args(["-c", "echo a; echo b"])).unwrap(), "a");
        let failed = first_line(Command::new("sh").args(["-c", "echo no >&2; exit 1"]));
        assert!(matches!(failed, Err(Complaint::Failed(line)) if line == "no"));
        let missing = first_line(&mut Command::new("/no/such/program"));
        assert!(matches!(missing, Err(Complaint::NotStarted(_))));
    }
}
