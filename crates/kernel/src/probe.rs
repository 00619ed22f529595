//! `tcp_probe`: the kernel reports each segment that reaches an established connection, with the sender's state before it is processed.
//!
//! A poll ([`diag`](crate::diag), [`ConnectionSnapshot`](crate::ConnectionSnapshot)) sees the state from time to time; a trace misses
//! nothing, to the microsecond. A trace needs root of the machine: tracing is not namespaced. So its events are those of the
//! whole machine, filtered by port, and two testbeds with the same addresses are told apart by their sockets' cookies
//! only ([`Connection`](crate::Connection)).
//!
//! Each trace is a separate instance, with its own buffers and filters; other tracing is not affected. The instance is locked while
//! it is in use (flock(2)) and removed at the end; one left behind by a killed process is no longer locked, and is removed by
//! the next trace. If tracefs is not mounted, it is mounted in a mount namespace of the tracing thread alone.
//!
//! Contents of a sample ([`tcp::Stats`]): `cwnd`, `ssthresh` (outside of a reduction at least three quarters of `cwnd`:
//! `tcp_current_ssthresh`), `srtt`, `peer_window_bytes`, `unacknowledged_bytes` (sent and not acknowledged; unsent data
//! is not reported), `in_flight` (that in full segments, including segments known to be lost or arrived),
//! `congestion_state`, `retransmitted_segments` (since the trace began). All else is zero or none.
//!
//! Source: Linux 6.18 `include/trace/events/tcp.h`, `Documentation/trace/ftrace.rst`.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};

use crate::{Error, monotonic};

mod event;

pub use event::Traced;
use event::{NAMES, ProbeEvent, collect};

// An instance of the kernel's tracing, with its own buffers, filters and clock.

/// Prefix of our instances.
const PREFIX: &str = "farlink-";
/// Mount points of tracefs.
const PLACES: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];
/// Kilobytes of buffer per processor: some 20,000 events.
const BUFFER_KB: u32 = 4096;

/// An instance that is in use.
struct Instance {
    path: PathBuf,
    /// Held as long as the instance is in use.
    _lock: Flock<OwnedFd>,
}

impl Instance {
    /// Creates one that traces nothing yet, after removing abandoned ones. If tracefs is not mounted, the calling thread gets
    /// its own mount namespace.
    fn new() -> Result<Instance, Error> {
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
    fn start(&self, ports: &[u16]) -> Result<(), Error> {
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

    fn stop(&self) -> Result<(), Error> {
        self.write("tracing_on", "0")
    }

    /// The trace, line by line; reading consumes it.
    fn pipe(&self) -> Result<TracePipe, Error> {
        let path = self.path.join("trace_pipe");
        let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(&path);
        Ok(TracePipe(file.map_err(Error::io(format!("failed to open {}", path.display())))?))
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
struct TracePipe(File);

impl TracePipe {
    /// Appends all available data to `text`.
    fn read_to(&mut self, text: &mut Vec<u8>) -> Result<(), Error> {
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

// A thread that reads a trace while it grows.

/// Interval between reads: the kernel's buffers hold several seconds of a busy link.
const PAUSE: Duration = Duration::from_millis(50);

/// Scope of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceScope {
    /// Connections from or to one of these ports; empty: all connections of the machine.
    pub ports: Vec<u16>,
    /// Payload of a full segment, the unit of `in_flight`.
    pub segment_bytes: u32,
}

/// A running trace.
#[derive(Debug)]
pub struct Probe {
    segment_bytes: u32,
    /// Dropped to stop it.
    stop: Sender<()>,
    thread: JoinHandle<Result<TraceLog, Error>>,
}

impl Probe {
    /// Starts a trace.
    ///
    /// # Errors
    /// If the caller is not root of the machine, or the kernel has no such tracepoints.
    pub fn start(wanted: TraceScope) -> Result<Probe, Error> {
        let segment_bytes = wanted.segment_bytes;
        let (stop, stopped) = mpsc::channel::<()>();
        let (ready, is_ready) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            let mut reader = match TraceReader::start(&wanted) {
                Ok(reader) => reader,
                Err(error) => {
                    // The caller is waiting for exactly this.
                    let _ = ready.send(Err(error));
                    return Ok(TraceLog::default());
                }
            };
            let _ = ready.send(Ok(()));
            while stopped.recv_timeout(PAUSE) == Err(RecvTimeoutError::Timeout) {
                reader.read()?;
            }
            reader.finish()
        });
        is_ready.recv().expect("the tracing thread says whether it could start")?;
        Ok(Probe { stop, thread, segment_bytes })
    }

    /// Ends the trace and removes its instance. Times count from `began`, on `CLOCK_MONOTONIC`.
    ///
    /// # Errors
    /// If the trace could not be read.
    pub fn finish(self, began: Duration) -> Result<Traced, Error> {
        drop(self.stop);
        let trace = self.thread.join().expect("the tracing thread does not panic")?;
        let motions = collect(&trace.events, began, self.segment_bytes);
        Ok(Traced { motions, lost: trace.lost })
    }
}

/// Data read so far.
#[derive(Default)]
struct TraceLog {
    events: Vec<ProbeEvent>,
    lost: u64,
}

struct TraceReader {
    /// Before the instance, which cannot be removed while its pipe is open.
    pipe: TracePipe,
    instance: Instance,
    /// The beginning of an incomplete line.
    rest: Vec<u8>,
    trace: TraceLog,
}

impl TraceReader {
    fn start(wanted: &TraceScope) -> Result<TraceReader, Error> {
        let instance = Instance::new()?;
        let pipe = instance.pipe()?;
        instance.start(&wanted.ports)?;
        Ok(TraceReader { pipe, instance, rest: Vec::new(), trace: TraceLog::default() })
    }

    fn read(&mut self) -> Result<(), Error> {
        self.pipe.read_to(&mut self.rest)?;
        let whole = self.rest.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
        let rest = self.rest.split_off(whole);
        let lines = std::mem::replace(&mut self.rest, rest);
        for line in String::from_utf8_lossy(&lines).lines() {
            self.trace.lost += event::lost(line).unwrap_or(0);
            self.trace.events.extend(event::parse(line));
        }
        Ok(())
    }

    fn finish(mut self) -> Result<TraceLog, Error> {
        self.instance.stop()?;
        self.read()?;
        Ok(self.trace)
    }
}
