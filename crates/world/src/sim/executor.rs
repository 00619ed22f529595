//! The single-threaded executor: tasks in slots, ready ones in a FIFO queue.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use super::plan::NodeId;
use super::waker::{TaskId, waker};

pub(crate) type Task = Pin<Box<dyn Future<Output = ()>>>;

struct Slot {
    generation: u32,
    node: NodeId,
    queued: bool,
    /// `None` while the task runs, and when the slot is free.
    task: Option<Task>,
}

struct Executor {
    slots: Vec<Slot>,
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
pub(crate) fn spawn(task: Task) {
    spawn_on(current_node(), task);
}

/// Starts a task on `node`.
pub(super) fn spawn_on(node: NodeId, task: Task) {
    EXECUTOR.with_borrow_mut(|executor| {
        let slot = executor.free.pop().unwrap_or_else(|| {
            executor.slots.push(Slot { generation: 0, node, queued: false, task: None });
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

fn next_ready(executor: &mut Executor) -> Option<(TaskId, NodeId, Option<Task>)> {
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
        let tasks: Vec<Task> = EXECUTOR.with_borrow_mut(|executor| {
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
