//! Wake-up latency of processes whose sockets are ready.
//!
//! A process that waits for its sockets is woken by the scheduler, some time after the packet came; when it runs, it sees everything that came
//! meanwhile. Tasks of one node are one process. Left out: a process that is awake anyway notices at once.

use std::ops::Range;
use std::task::Waker;
use std::time::Duration;

use chance::Stream;

use super::plan::NodeId;

/// The processes of all nodes.
#[derive(Default)]
pub(super) struct Wakes {
    /// Wake-up latency; none: no time at all.
    latency: Option<Range<Duration>>,
    /// By node.
    processes: Vec<Process>,
}

struct Process {
    chances: Stream,
    /// Tasks that run once it wakes.
    tasks: Vec<Waker>,
}

impl Process {
    fn of(node: usize) -> Process {
        Process { chances: crate::chances::of_world(&format!("wake/{node}")), tasks: Vec::new() }
    }
}

impl Wakes {
    pub(super) fn taking(latency: Option<Range<Duration>>) -> Wakes {
        Wakes { latency, processes: Vec::new() }
    }

    /// Queues a task of `node` that has something to do. Returns the latency if that wakes its process.
    pub(super) fn rouse(&mut self, node: NodeId, task: Waker) -> Option<Duration> {
        let Some(Range { start, end }) = self.latency else {
            task.wake();
            return None;
        };
        let index = usize::from(node.0);
        while self.processes.len() <= index {
            self.processes.push(Process::of(self.processes.len()));
        }
        let process = &mut self.processes[index];
        process.tasks.push(task);
        (process.tasks.len() == 1).then(|| start + process.chances.span(end - start))
    }

    /// The process of `node` wakes.
    pub(super) fn wake(&mut self, node: NodeId) {
        for task in self.processes[usize::from(node.0)].tasks.drain(..) {
            task.wake();
        }
    }
}
