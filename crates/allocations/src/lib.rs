//! An allocator that counts, for tests of what code allocates and holds. Nothing but tests names it.
//!
//! A test program makes it its own:
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

/// The system's allocator; it counts each thread's allocations, and what watched threads hold.
#[derive(Debug)]
pub struct Counting;

/// What watched threads hold.
static HELD: AtomicIsize = AtomicIsize::new(0);

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
    static IS_WATCHED: Cell<bool> = const { Cell::new(false) };
}

/// How often this thread has allocated.
pub fn count() -> u64 {
    COUNT.get()
}

/// From now on what this thread allocates is held until it gives it back.
pub fn watch() {
    IS_WATCHED.set(true);
}

/// Bytes that watched threads hold, touched or not, beside what an allocator adds.
pub fn held_bytes() -> isize {
    HELD.load(Ordering::Relaxed)
}

fn hold(bytes: isize) {
    if IS_WATCHED.get() {
        HELD.fetch_add(bytes, Ordering::Relaxed);
    }
}

// SAFETY: hands everything to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.set(COUNT.get() + 1);
        hold(layout.size() as isize);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        hold(-(layout.size() as isize));
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}
