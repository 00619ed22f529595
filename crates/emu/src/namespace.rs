//! Network namespaces, held by a descriptor and entered by threads.
//!
//! A namespace lives as long as this process holds its descriptor or a thread is in it. A thread that has entered one stays: sockets
//! that it opens belong there, and so do the programs that it starts and its accesses below `/proc/sys/net`.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::thread::{self, JoinHandle};

use nix::sched::{CloneFlags, setns, unshare};

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
