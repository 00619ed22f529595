//! How long a process takes to notice that its sockets have something for it.
//!
//! A process that waits for its sockets is woken by the scheduler, some time after the packet came; when it runs, it sees all that has come
//! meanwhile. Tasks of one node are one process. What is left out: a process that is awake anyway notices at once.

use std::ops::Range;
use std::task::Waker;
use std::time::Duration;

use chance::Stream;

use super::plan::NodeId;

/// The processes of all nodes.
#[derive(Default)]
pub(super) struct Wakes {
    /// How long waking up takes; none: no time at all.
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

    /// A task of `node` has something to do. If that wakes its process: after how long.
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
