//! The single-threaded executor: tasks in slots, ready ones in a FIFO queue, their wakers, and the latency of waking.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::Future;
use std::ops::Range;
use std::pin::Pin;
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Waker};
use std::time::Duration;

use chance::RandomStream;

use super::plan::NodeId;

pub(crate) type SimTask = Pin<Box<dyn Future<Output = ()>>>;

struct TaskSlot {
    generation: u32,
    node: NodeId,
    queued: bool,
    /// `None` while the task runs, and when the slot is free.
    task: Option<SimTask>,
}

struct Executor {
    slots: Vec<TaskSlot>,
    free: Vec<u32>,
    ready: VecDeque<TaskId>,
}

thread_local! {
    static EXECUTOR: RefCell<Executor> =
        const { RefCell::new(Executor { slots: Vec::new(), free: Vec::new(), ready: VecDeque::new() }) };
    static NODE: Cell<NodeId> = const { Cell::new(NodeId(0)) };
}

/// The node on which the running task lives.
pub(super) fn current_node() -> NodeId {
    NODE.get()
}

/// Starts a task on the current node.
pub(crate) fn spawn(task: SimTask) {
    spawn_on(current_node(), task);
}

/// Starts a task on `node`.
pub(super) fn spawn_on(node: NodeId, task: SimTask) {
    EXECUTOR.with_borrow_mut(|executor| {
        let slot = executor.free.pop().unwrap_or_else(|| {
            executor.slots.push(TaskSlot { generation: 0, node, queued: false, task: None });
            (executor.slots.len() - 1) as u32
        });
        let entry = &mut executor.slots[slot as usize];
        entry.node = node;
        entry.queued = true;
        entry.task = Some(task);
        let generation = entry.generation;
        executor.ready.push_back(TaskId { slot, generation });
    });
}

/// Queues a task to be run, unless it is done or already queued.
pub(super) fn wake(id: TaskId) {
    EXECUTOR.with_borrow_mut(|executor| {
        if let Some(slot) = executor.slots.get_mut(id.slot as usize)
            && slot.generation == id.generation
            && !slot.queued
        {
            slot.queued = true;
            executor.ready.push_back(id);
        }
    });
}

/// Runs one ready task; returns false if there is none.
pub(super) fn run_one() -> bool {
    let Some((id, node, task)) = EXECUTOR.with_borrow_mut(next_ready) else { return false };
    let Some(mut task) = task else { return true };
    NODE.set(node);
    let waker = waker(id);
    match task.as_mut().poll(&mut Context::from_waker(&waker)) {
        Poll::Ready(()) => {
            EXECUTOR.with_borrow_mut(|executor| executor.release(id));
            drop(task);
        }
        Poll::Pending => EXECUTOR.with_borrow_mut(|executor| {
            executor.slots[id.slot as usize].task = Some(task);
        }),
    }
    true
}

fn next_ready(executor: &mut Executor) -> Option<(TaskId, NodeId, Option<SimTask>)> {
    let id = executor.ready.pop_front()?;
    let slot = &mut executor.slots[id.slot as usize];
    if slot.generation != id.generation {
        return Some((id, slot.node, None));
    }
    slot.queued = false;
    Some((id, slot.node, slot.task.take()))
}

impl Executor {
    fn release(&mut self, id: TaskId) {
        let slot = &mut self.slots[id.slot as usize];
        slot.generation = slot.generation.wrapping_add(1);
        slot.queued = false;
        self.free.push(id.slot);
    }
}

/// Drops every task, including tasks spawned while others are dropped. Generations live on,
/// so that a leftover waker wakes nothing in the thread's next world.
pub(super) fn clear() {
    loop {
        let tasks: Vec<SimTask> = EXECUTOR.with_borrow_mut(|executor| {
            executor.ready.clear();
            executor.free.clear();
            for (index, slot) in executor.slots.iter_mut().enumerate() {
                slot.generation = slot.generation.wrapping_add(1);
                slot.queued = false;
                executor.free.push(index as u32);
            }
            // Slots are handed out from the low end, so that each world on this thread sees the
            // same ones.
            executor.free.reverse();
            executor.slots.iter_mut().filter_map(|slot| slot.task.take()).collect()
        });
        if tasks.is_empty() {
            return;
        }
        drop(tasks);
    }
}

// Wakers that are plain numbers.
//
// A task is named by (slot, generation), which fits the waker's data pointer: cloning and dropping
// cost nothing and nothing is counted. A waker may travel (`Waker` is `Send + Sync`) but only works
// on its own thread: on another it finds no such task, or at worst polls a task of that thread's own world once
// in vain.

/// A task: its slot and the number of earlier uses of that slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TaskId {
    pub(crate) slot: u32,
    pub(crate) generation: u32,
}

const _: () = assert!(size_of::<usize>() == 8, "a task's name needs a 64-bit pointer");

impl TaskId {
    fn to_pointer(self) -> *const () {
        let packed = (u64::from(self.generation) << 32) | u64::from(self.slot);
        std::ptr::without_provenance(packed as usize)
    }

    fn from_pointer(pointer: *const ()) -> TaskId {
        let packed = pointer.addr() as u64;
        TaskId { slot: packed as u32, generation: (packed >> 32) as u32 }
    }
}

static VTABLE: RawWakerVTable = RawWakerVTable::new(
    |pointer| RawWaker::new(pointer, &VTABLE),
    |pointer| wake(TaskId::from_pointer(pointer)),
    |pointer| wake(TaskId::from_pointer(pointer)),
    |_| {},
);

/// The waker of `task`.
#[allow(unsafe_code)]
pub(super) fn waker(task: TaskId) -> Waker {
    // SAFETY: the data pointer is a number and is never dereferenced; the four functions uphold
    // `RawWaker`'s contract: clone yields an equal waker, wake and wake_by_ref are safe to call from
    // any thread (they touch thread-local state only), and drop owns nothing.
    unsafe { Waker::from_raw(RawWaker::new(task.to_pointer(), &VTABLE)) }
}

// Wake-up latency of processes whose sockets are ready.
//
// A process that waits for its sockets is woken by the scheduler, some time after the packet came; when it runs, it sees everything that came
// meanwhile. Tasks of one node are one process. Left out: a process that is awake anyway notices at once.

/// The processes of all nodes.
#[derive(Default)]
pub(super) struct Wakes {
    /// Wake-up latency; none: no time at all.
    latency: Option<Range<Duration>>,
    /// By node.
    processes: Vec<Process>,
}

struct Process {
    chances: RandomStream,
    /// Tasks that run once it wakes.
    tasks: Vec<Waker>,
}

impl Process {
    fn of(node: usize) -> Process {
        Process { chances: crate::ambient::of_world(&format!("wake/{node}")), tasks: Vec::new() }
    }
}

impl Wakes {
    pub(super) fn taking(latency: Option<Range<Duration>>) -> Wakes {
        Wakes { latency, processes: Vec::new() }
    }

    /// Queues a task of `node` that has something to do. Returns the latency if that wakes its process.
    pub(super) fn schedule_wake(&mut self, node: NodeId, task: Waker) -> Option<Duration> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_survives_the_pointer() {
        let task = TaskId { slot: 0xdead_beef, generation: 0xffff_fffe };
        assert_eq!(TaskId::from_pointer(task.to_pointer()), task);
    }
}
