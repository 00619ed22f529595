//! Wakers that are plain numbers.
//!
//! A task is named by (slot, generation), which fits the waker's data pointer: cloning and dropping
//! cost nothing and nothing is counted. A waker may travel (`Waker` is `Send + Sync`) but only works
//! on its own thread: on another it finds no such task, or at worst polls a task of that thread's own world once
//! in vain.
#![allow(unsafe_code)]

use std::task::{RawWaker, RawWakerVTable, Waker};

use super::executor;

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
    |pointer| executor::wake(TaskId::from_pointer(pointer)),
    |pointer| executor::wake(TaskId::from_pointer(pointer)),
    |_| {},
);

/// The waker of `task`.
pub(super) fn waker(task: TaskId) -> Waker {
    // SAFETY: the data pointer is a number and is never dereferenced; the four functions uphold
    // `RawWaker`'s contract: clone yields an equal waker, wake and wake_by_ref are safe to call from
    // any thread (they touch thread-local state only), and drop owns nothing.
    unsafe { Waker::from_raw(RawWaker::new(task.to_pointer(), &VTABLE)) }
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
