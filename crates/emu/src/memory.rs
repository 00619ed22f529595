//! Memory that is faulted in before it is needed.
//!
//! The first touch of a page costs a fault; in a virtual machine that gives freed memory back to its host (free page
//! reporting) it also costs one in the host, which has to find and clear two megabytes: 5 ms were seen. An emulator
//! that idles while a radio is promoted, and then records the next packet, would be late by that much. So a thread that
//! has to be on time touches the memory that it will need at its start and keeps it.

use std::hint::black_box;

/// More than most workloads need: a page for each of 4,000 packets.
const RESERVE: usize = 16 << 20;
const PAGE: usize = 4096;

/// Makes the calling thread's next allocations come from touched memory, and the process keep freed memory.
pub fn reserve_memory() {
    keep_freed_memory();
    let mut reserve = vec![0_u8; RESERVE];
    for page in reserve.chunks_mut(PAGE) {
        page[0] = black_box(1);
    }
    drop(black_box(reserve));
}

/// Leaves freed memory in the thread's heap, whatever its size. Source: mallopt(3).
#[cfg(target_env = "gnu")]
fn keep_freed_memory() {
    // The maximum of this C library: half of a thread's heap.
    const LARGEST: libc::c_int = 32 << 20;
    // SAFETY: both set a number of the allocator's and touch no memory of ours.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, LARGEST);
        libc::mallopt(libc::M_TRIM_THRESHOLD, libc::c_int::MAX);
    }
}

/// Other allocators have no such settings; the reserve may be gone when it is needed.
#[cfg(not(target_env = "gnu"))]
fn keep_freed_memory() {}
