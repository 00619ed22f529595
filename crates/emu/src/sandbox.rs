//! The process tree of an emulation, which leaves nothing behind when its root ends, for whatever reason.
//!
//! ```text
//!   farlink          the user's process: holds a Sandbox
//!     warden         a fork of it in a new user (unless root), mount and network namespace; waits for its child, nothing else
//!       supervisor   the same executable as PID 1 of a new PID namespace: holds a Supervisor, builds testbeds, runs emulators
//!         node ...   the same or another executable, in the network namespace of one end: see NetNamespace::start
//! ```
//!
//! The warden is there because unshare(2) moves only the caller's children to a new PID namespace.
//!
//! The kernel ends it all: warden and supervisor die with their parents (`PR_SET_PDEATHSIG`), and all others with the PID namespace's first
//! process (pid_namespaces(7)). Mounts, interfaces and files exist in namespaces and in memory only; they vanish with the last
//! process in them. The one remaining race, a supervisor that misses its parent's death, is closed by the channel: the supervisor ends
//! when farlink's end of it is closed.
//!
//! Invariant: nothing that a sandbox makes has a name in the machine's own file system or network.

use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sched::CloneFlags;
use nix::sys::resource::{Resource, getrlimit};
use nix::sys::signal::{SigSet, SigmaskHow, sigprocmask};
use nix::sys::wait::{WaitStatus, wait, waitpid};
use nix::unistd::{ForkResult, Pid, fork, getpid, setsid};

use crate::namespace::{Isolation, ORPHANED, die_with_parent};
use crate::{Error, Privilege};

mod inside;
mod trust;

use inside::TemporaryFiles;
pub use inside::{HostNames, RunAs, receive_listener, send_listener};

// The sandbox as its owner sees it, from outside.

/// A running sandbox. Dropping it ends it, with everything in it.
///
/// The kernel also ends it when the *thread* that started it ends: start it on a thread that outlives it.
#[derive(Debug)]
pub struct Sandbox {
    warden: Child,
    channel: UnixStream,
}

impl Sandbox {
    /// Starts `supervisor` in a new sandbox, a program that calls [`Supervisor::enter`](Supervisor::enter) before anything else. Its standard
    /// streams, arguments, environment and directory are the command's own.
    pub fn start(mut supervisor: Command) -> Result<Sandbox, Error> {
        let (channel, far) =
            UnixStream::pair().map_err(Error::io("failed to make a socket pair"))?;
        let far = OwnedFd::from(far);
        supervisor.env(CHANNEL_VARIABLE, far.as_raw_fd().to_string());
        let warden = Warden::new(Privilege::available());
        let enter = move || {
            // The channel is the one descriptor that survives the exec, in this child alone.
            fcntl(&far, FcntlArg::F_SETFD(FdFlag::empty()))?;
            warden.part().map_err(io::Error::from)
        };
        // SAFETY: fcntl is a system call, and `Warden::part` may be called between fork and exec.
        unsafe { supervisor.pre_exec(enter) };
        let warden = supervisor.spawn().map_err(Error::io("failed to start a sandbox"))?;
        // The command is dropped here, and with it our copy of the far end: end of file on the channel means that the supervisor is gone.
        drop(supervisor);
        Ok(Sandbox { warden, channel })
    }

    /// The connection to the supervisor's [`channel`](Supervisor::channel).
    pub fn channel(&self) -> &UnixStream {
        &self.channel
    }

    /// The supervisor's exit status, if it has ended; 128 + N if signal N killed it.
    pub fn try_wait(&mut self) -> Result<Option<ExitStatus>, Error> {
        self.warden.try_wait().map_err(Error::io("failed to wait for a sandbox"))
    }

    /// Waits until the supervisor ends by itself.
    pub fn wait(&mut self) -> Result<ExitStatus, Error> {
        self.warden.wait().map_err(Error::io("failed to wait for a sandbox"))
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        // Fails only if it has ended already.
        let _ = self.warden.kill();
        let _ = self.warden.wait();
    }
}

// The sandbox as its first process sees it, from inside.

/// Environment variable with the descriptor of the supervisor's end of the channel.
const CHANNEL_VARIABLE: &str = "FARLINK_SANDBOX_CHANNEL";

/// The first process of a sandbox.
#[derive(Debug)]
pub struct Supervisor {
    channel: UnixStream,
    temporary: Option<TemporaryFiles>,
}

impl Supervisor {
    /// Makes the calling process the supervisor of the sandbox in which it was [started](Sandbox::start): mounts are private from
    /// here on, and `/proc` shows the sandbox's processes if the kernel permits it. Call it before any thread is started.
    pub fn enter() -> Result<Supervisor, Error> {
        let channel = inherited_channel()?;
        if getpid().as_raw() != 1 {
            return Err(Error::NotInSandbox);
        }
        // Again: the exec of a program that its user may not read clears it (prctl(2)).
        die_with_parent().map_err(Error::system("failed to bind the sandbox to its owner"))?;
        end_with(&channel)?;
        inside::make_private()?;
        inside::show_own_processes();
        Ok(Supervisor { channel, temporary: None })
    }

    /// The connection to the owner's [`channel`](Sandbox::channel).
    pub fn channel(&self) -> &UnixStream {
        &self.channel
    }

    /// Sets `names` for every process in the sandbox.
    pub fn set_names(&self, names: &HostNames) -> Result<(), Error> {
        inside::set_names(names)
    }

    /// Makes programs in the sandbox trust the authority of a PEM text, as far as they look for authorities where programs do.
    /// Returns the system's bundle, to which it was added, if there is one.
    pub fn trust(&self, authority: &str) -> Result<Option<PathBuf>, Error> {
        trust::add(authority)
    }

    /// A directory in memory for files of processes in the sandbox; it hides the machine's `/tmp`.
    pub fn temporary_directory(&mut self) -> Result<&Path, Error> {
        if self.temporary.is_none() {
            self.temporary = Some(TemporaryFiles::mount()?);
        }
        Ok(TemporaryFiles::PATH.as_ref())
    }

    /// Waits until any child process of the supervisor ends, its own or adopted: the first process of a
    /// namespace inherits all orphans. Not to be mixed with [`Child::wait`](std::process::Child::wait), which waits for a process that this may
    /// have reaped already.
    pub fn reap(&self) -> Result<Reaped, Error> {
        loop {
            let (pid, status) = match wait() {
                Ok(WaitStatus::Exited(pid, code)) => (pid, ExitStatus::from_raw(code << 8)),
                Ok(WaitStatus::Signaled(pid, signal, _)) => {
                    (pid, ExitStatus::from_raw(signal as i32))
                }
                Ok(_) | Err(Errno::EINTR) => continue,
                Err(errno) => {
                    return Err(Error::System { what: "failed to wait for a process", errno });
                }
            };
            return Ok(Reaped { id: pid.as_raw().cast_unsigned(), status });
        }
    }
}

/// A process that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reaped {
    /// Its id, as in [`Child::id`](std::process::Child::id).
    pub id: u32,
    /// Its exit status.
    pub status: ExitStatus,
}

/// Takes the channel over, so that no node inherits it or learns of it.
#[expect(clippy::disallowed_methods, reason = "the owner and its supervisor speak through it once")]
fn inherited_channel() -> Result<UnixStream, Error> {
    let number = std::env::var(CHANNEL_VARIABLE).map_err(|_| Error::NotInSandbox)?;
    let number: RawFd = number.parse().map_err(|_| Error::NotInSandbox)?;
    // SAFETY: the program has only just begun: no other thread reads the environment.
    unsafe { std::env::remove_var(CHANNEL_VARIABLE) };
    // SAFETY: the owner opened it for this process, which has not touched it before; a number that is not open fails below.
    let channel = unsafe { OwnedFd::from_raw_fd(number) };
    fcntl(&channel, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC)).map_err(|_| Error::NotInSandbox)?;
    Ok(UnixStream::from(channel))
}

/// Ends the process, and with it the sandbox, when the other end of the channel is closed.
fn end_with(channel: &UnixStream) -> Result<(), Error> {
    let channel = channel.try_clone().map_err(Error::io("failed to copy a descriptor"))?;
    std::thread::spawn(move || {
        // No events: a hang-up is always reported (poll(2)), and data is for another reader.
        let mut fds = [PollFd::new(channel.as_fd(), PollFlags::empty())];
        while poll(&mut fds, PollTimeout::NONE) == Err(Errno::EINTR) {}
        // SAFETY: leaves at once.
        unsafe { libc::_exit(ORPHANED) }
    });
    Ok(())
}

// The process between farlink and the supervisor.

/// Parameters of a forked child that becomes the warden.
struct Warden {
    isolation: Isolation,
}

impl Warden {
    /// Prepares it in farlink.
    fn new(privilege: Privilege) -> Warden {
        let namespaces =
            CloneFlags::CLONE_NEWNS | CloneFlags::CLONE_NEWNET | CloneFlags::CLONE_NEWPID;
        Warden { isolation: Isolation::new(privilege, namespaces) }
    }

    /// Splits a forked child in two: the warden, which never returns, and the future supervisor, which goes on to its exec. Makes
    /// system calls only.
    fn part(&self) -> Result<(), Errno> {
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
    // The system call itself, since musl's C library has no function for it.
    // SAFETY: nothing in this process uses a descriptor any more.
    let closed = unsafe { libc::syscall(libc::SYS_close_range, 0, libc::c_uint::MAX, 0) } == 0;
    if !closed {
        // Linux before 5.9.
        let limit = getrlimit(Resource::RLIMIT_NOFILE).map_or(0, |(soft, _)| soft);
        for descriptor in 0..libc::c_int::try_from(limit).unwrap_or(libc::c_int::MAX) {
            // SAFETY: as above.
            unsafe { libc::close(descriptor) };
        }
    }
}

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
