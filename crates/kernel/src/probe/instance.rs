//! An instance of the kernel's tracing, with its own buffers, filters and clock.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};

use super::event::NAMES;
use crate::{Error, monotonic};

/// Prefix of our instances.
const PREFIX: &str = "farlink-";
/// Mount points of tracefs.
const PLACES: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];
/// Kilobytes of buffer per processor: some 20,000 events.
const BUFFER_KB: u32 = 4096;

/// An instance that is in use.
pub(super) struct Instance {
    path: PathBuf,
    /// Held as long as the instance is in use.
    _lock: Flock<OwnedFd>,
}

impl Instance {
    /// Creates one that traces nothing yet, after removing abandoned ones. If tracefs is not mounted, the calling thread gets
    /// its own mount namespace.
    pub(super) fn new() -> Result<Instance, Error> {
        let instances = tracing()?.join("instances");
        remove_leftovers(&instances)?;
        loop {
            // The process id is for people: in another PID namespace it may belong to another process.
            let (process, now) = (std::process::id(), monotonic().as_nanos());
            let path = instances.join(format!("{PREFIX}{process}-{now}"));
            match fs::create_dir(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                result => result.map_err(Error::io(format!(
                    "failed to make {} (tracing needs root of the machine)",
                    path.display()
                )))?,
            }
            // Another process that looks for leftovers may have been faster.
            if let Ok(lock) = lock(&path)
                && path.exists()
            {
                return Ok(Instance { path, _lock: lock });
            }
        }
    }

    /// Starts to trace our events with source or destination among `ports`, or all.
    pub(super) fn start(&self, ports: &[u16]) -> Result<(), Error> {
        self.write("trace_clock", "mono")?;
        self.write("buffer_size_kb", &BUFFER_KB.to_string())?;
        let terms: Vec<String> =
            ports.iter().map(|port| format!("sport == {port} || dport == {port}")).collect();
        for name in NAMES {
            if !terms.is_empty() {
                self.write(&format!("events/tcp/{name}/filter"), &terms.join(" || "))?;
            }
            self.write(&format!("events/tcp/{name}/enable"), "1")?;
        }
        self.write("tracing_on", "1")
    }

    pub(super) fn stop(&self) -> Result<(), Error> {
        self.write("tracing_on", "0")
    }

    /// The trace, line by line; reading consumes it.
    pub(super) fn pipe(&self) -> Result<Pipe, Error> {
        let path = self.path.join("trace_pipe");
        let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(&path);
        Ok(Pipe(file.map_err(Error::io(format!("failed to open {}", path.display())))?))
    }

    fn write(&self, name: &str, value: &str) -> Result<(), Error> {
        let path = self.path.join(name);
        fs::write(&path, value).map_err(Error::io(format!(
            "failed to write `{value}` to {} (the kernel needs its tracepoints of TCP)",
            path.display()
        )))
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        // An instance that cannot be removed now is a leftover, which the next trace removes.
        let _ = fs::remove_dir(&self.path);
    }
}

/// The trace as it grows.
pub(super) struct Pipe(File);

impl Pipe {
    /// Appends all available data to `text`.
    pub(super) fn read_to(&mut self, text: &mut Vec<u8>) -> Result<(), Error> {
        match self.0.read_to_end(text) {
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => {
                Err(Error::io("failed to read a trace")(error))
            }
            // Data read before the pipe was empty has been appended.
            _ => Ok(()),
        }
    }
}

/// The directory of tracefs.
fn tracing() -> Result<PathBuf, Error> {
    let mounted = PLACES.iter().map(Path::new).find(|place| place.join("instances").is_dir());
    match mounted {
        Some(place) => Ok(place.to_owned()),
        None => mount_tracefs().map_err(Error::system(
            "failed to mount tracefs (tracing needs root of the machine, and a kernel with CONFIG_FTRACE)",
        )),
    }
}

fn mount_tracefs() -> Result<PathBuf, Errno> {
    const NONE: Option<&str> = None;
    unshare(CloneFlags::CLONE_NEWNS)?;
    // None of it must reach the machine's own mounts.
    mount(NONE, "/", NONE, MsFlags::MS_REC | MsFlags::MS_PRIVATE, NONE)?;
    mount(Some("tracefs"), PLACES[0], Some("tracefs"), MsFlags::empty(), NONE)?;
    Ok(PLACES[0].into())
}

/// Removes those of our instances that are not locked.
fn remove_leftovers(instances: &Path) -> Result<(), Error> {
    let entries = fs::read_dir(instances)
        .map_err(Error::io(format!("failed to read {}", instances.display())))?;
    let ours = entries
        .filter_map(Result::ok)
        .filter(|entry| entry.file_name().to_str().is_some_and(|name| name.starts_with(PREFIX)));
    for entry in ours {
        if let Ok(_lock) = lock(&entry.path()) {
            // Another process may be about to do the same.
            let _ = fs::remove_dir(entry.path());
        }
    }
    Ok(())
}

fn lock(path: &Path) -> io::Result<Flock<OwnedFd>> {
    let directory = OwnedFd::from(File::open(path)?);
    Flock::lock(directory, FlockArg::LockExclusiveNonblock).map_err(|(_, errno)| errno.into())
}
