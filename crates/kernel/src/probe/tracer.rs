//! A thread that reads a trace while it grows.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

use super::collect::{Traced, collect};
use super::event::{self, Event};
use super::instance::{Instance, Pipe};
use crate::Error;

/// Interval between reads: the kernel's buffers hold several seconds of a busy link.
const PAUSE: Duration = Duration::from_millis(50);

/// Scope of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
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
    thread: JoinHandle<Result<Trace, Error>>,
}

impl Probe {
    /// Starts a trace.
    ///
    /// # Errors
    /// If the caller is not root of the machine, or the kernel has no such tracepoints.
    pub fn start(wanted: Wanted) -> Result<Probe, Error> {
        let segment_bytes = wanted.segment_bytes;
        let (stop, stopped) = mpsc::channel::<()>();
        let (ready, is_ready) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            let mut reader = match Reader::start(&wanted) {
                Ok(reader) => reader,
                Err(error) => {
                    // The caller is waiting for exactly this.
                    let _ = ready.send(Err(error));
                    return Ok(Trace::default());
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
struct Trace {
    events: Vec<Event>,
    lost: u64,
}

struct Reader {
    /// Before the instance, which cannot be removed while its pipe is open.
    pipe: Pipe,
    instance: Instance,
    /// The beginning of an incomplete line.
    rest: Vec<u8>,
    trace: Trace,
}

impl Reader {
    fn start(wanted: &Wanted) -> Result<Reader, Error> {
        let instance = Instance::new()?;
        let pipe = instance.pipe()?;
        instance.start(&wanted.ports)?;
        Ok(Reader { pipe, instance, rest: Vec::new(), trace: Trace::default() })
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

    fn finish(mut self) -> Result<Trace, Error> {
        self.instance.stop()?;
        self.read()?;
        Ok(self.trace)
    }
}
