//! A terminal for a program in its own session.

use std::os::unix::process::CommandExt;
use std::process::Command;

use nix::errno::Errno;
use nix::unistd::setsid;

/// Makes `command`, once spawned, the leader of a session whose controlling terminal is its standard input (setsid(2), `TIOCSCTTY`).
pub fn take_terminal(command: &mut Command) {
    let take = || {
        setsid()?;
        // SAFETY: this request takes an integer and touches no memory of ours.
        Errno::result(unsafe { libc::ioctl(libc::STDIN_FILENO, libc::TIOCSCTTY, 0) })?;
        Ok(())
    };
    // SAFETY: system calls only.
    unsafe { command.pre_exec(take) };
}
