//! The process between farlink and the supervisor.

use nix::errno::Errno;
use nix::sched::CloneFlags;
use nix::sys::resource::{Resource, getrlimit};
use nix::sys::signal::{SigSet, SigmaskHow, sigprocmask};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{ForkResult, Pid, fork};

use crate::Privilege;
use crate::isolate::{Isolation, die_with_parent};

/// Parameters of a forked child that becomes the warden.
pub(super) struct Warden {
    isolation: Isolation,
}

impl Warden {
    /// Prepares it in farlink.
    pub(super) fn new(privilege: Privilege) -> Warden {
        let namespaces =
            CloneFlags::CLONE_NEWNS | CloneFlags::CLONE_NEWNET | CloneFlags::CLONE_NEWPID;
        Warden { isolation: Isolation::new(privilege, namespaces) }
    }

    /// Splits a forked child in two: the warden, which never returns, and the future supervisor, which goes on to its exec. Makes
    /// system calls only.
    pub(super) fn part(&self) -> Result<(), Errno> {
        self.isolation.enter()?;
        // SAFETY: both sides make system calls only until one leaves and the other executes a program.
        match unsafe { fork() }? {
            ForkResult::Child => {
                die_with_parent()?;
                // Signals that farlink waits for itself are not blocked inside.
                sigprocmask(SigmaskHow::SIG_SETMASK, Some(&SigSet::empty()), None)
            }
            ForkResult::Parent { child } => watch(child),
        }
    }
}

/// Waits for the supervisor and exits with its status.
fn watch(supervisor: Pid) -> ! {
    // The warden ends with farlink, by SIGKILL; a terminal's signals are not for it.
    let _ = sigprocmask(SigmaskHow::SIG_SETMASK, Some(&SigSet::all()), None);
    close_all_descriptors();
    let code = loop {
        match waitpid(supervisor, None) {
            Ok(WaitStatus::Exited(_, code)) => break code,
            Ok(WaitStatus::Signaled(_, signal, _)) => break 128 + signal as i32,
            Ok(_) | Err(Errno::EINTR) => {}
            Err(_) => break 128,
        }
    };
    // SAFETY: leaves at once; what exit(3) would run belongs to farlink.
    unsafe { libc::_exit(code) }
}

/// Open descriptors here would look to others as if farlink were still using them.
fn close_all_descriptors() {
    // SAFETY: nothing in this process uses a descriptor any more.
    let closed = unsafe { libc::close_range(0, libc::c_uint::MAX, 0) } == 0;
    if !closed {
        // Linux before 5.9.
        let limit = getrlimit(Resource::RLIMIT_NOFILE).map_or(0, |(soft, _)| soft);
        for descriptor in 0..libc::c_int::try_from(limit).unwrap_or(libc::c_int::MAX) {
            // SAFETY: as above.
            unsafe { libc::close(descriptor) };
        }
    }
}
