//! Counting allocator for tests of what code allocates and holds. Test-only dependency.
//!
//! Install it as the global allocator of a test program:
//!
//! ```
//! #[global_allocator]
//! static COUNTING: farlink_allocations::Counting = farlink_allocations::Counting;
//!
//! let before = farlink_allocations::count();
//! drop(std::hint::black_box(Box::new(7)));
//! assert_eq!(farlink_allocations::count() - before, 1);
//! ```

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicIsize, Ordering};

/// The system's allocator, counting each thread's allocations and the bytes that watched threads hold.
#[derive(Debug)]
pub struct Counting;

/// Bytes held by watched threads.
static HELD: AtomicIsize = AtomicIsize::new(0);

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
    static IS_WATCHED: Cell<bool> = const { Cell::new(false) };
}

/// Number of allocations by this thread so far.
pub fn count() -> u64 {
    COUNT.get()
}

/// Starts watching this thread: its allocations from now on count as held until they are freed.
pub fn watch() {
    IS_WATCHED.set(true);
}

/// Bytes held by watched threads, touched or not, without the allocator's overhead.
pub fn held_bytes() -> isize {
    HELD.load(Ordering::Relaxed)
}

fn hold(bytes: isize) {
    if IS_WATCHED.get() {
        HELD.fetch_add(bytes, Ordering::Relaxed);
    }
}

// SAFETY: every call is forwarded to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.set(COUNT.get() + 1);
        hold(layout.size() as isize);
        // SAFETY: the caller upholds the contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        hold(-(layout.size() as isize));
        // SAFETY: the caller upholds the contract.
        unsafe { System.dealloc(pointer, layout) }
    }
}
