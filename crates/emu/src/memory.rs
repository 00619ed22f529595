//! Memory of the emulator: faulted in before it is needed, and receive buffers that are reused.
//!
//! The first touch of a page costs a fault; in a virtual machine that gives freed memory back to its host (free page
//! reporting) it also costs one in the host, which has to find and clear two megabytes: 5 ms were seen. An emulator
//! that idles while a radio is promoted, and then records the next packet, would be late by that much. So a thread that
//! has to be on time touches the memory that it will need at its start and keeps it.

use std::collections::VecDeque;
use std::hint::black_box;

use bytes::{Bytes, BytesMut};

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

// Receive buffers that are reused once their contents are released: large frames are handed on without a copy.

/// Frames up to this size are copied: a whole buffer would be wasted on them.
const SMALL_BYTES: usize = 4096;
/// Maximum number of buffers remembered: the content of a queue of 16 MB.
const MOST: usize = 256;

/// One buffer to write to, and the buffers handed on.
#[derive(Debug)]
pub(crate) struct ReceiveBuffers {
    size: usize,
    current: BytesMut,
    /// The oldest first.
    handed_on: VecDeque<Bytes>,
}

impl ReceiveBuffers {
    /// Buffers of `size` bytes.
    pub(crate) fn new(size: usize) -> ReceiveBuffers {
        ReceiveBuffers { size, current: BytesMut::zeroed(size), handed_on: VecDeque::new() }
    }

    /// The buffer to write to.
    pub(crate) fn current(&mut self) -> &mut [u8] {
        &mut self.current
    }

    /// Hands on the first `len` bytes written.
    pub(crate) fn take(&mut self, len: usize) -> Bytes {
        if len <= SMALL_BYTES {
            return Bytes::copy_from_slice(&self.current[..len]);
        }
        let next = self.free();
        let written = std::mem::replace(&mut self.current, next).freeze();
        if self.handed_on.len() == MOST {
            self.handed_on.pop_front();
        }
        self.handed_on.push_back(written.clone());
        written.slice(..len)
    }

    /// The oldest buffer if no longer in use, otherwise a new one.
    fn free(&mut self) -> BytesMut {
        let oldest = self.handed_on.pop_front();
        let reused = oldest.and_then(|oldest| match oldest.try_into_mut() {
            Ok(buffer) => Some(buffer),
            Err(needed) => {
                self.handed_on.push_front(needed);
                None
            }
        });
        reused.unwrap_or_else(|| BytesMut::zeroed(self.size))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LARGE: usize = SMALL_BYTES + 1;

    fn write(buffers: &mut ReceiveBuffers, byte: u8, len: usize) -> Bytes {
        buffers.current()[..len].fill(byte);
        buffers.take(len)
    }

    #[test]
    fn what_is_needed_is_not_overwritten() {
        let mut buffers = ReceiveBuffers::new(LARGE + 10);
        let kept: Vec<Bytes> = (0..20).map(|byte| write(&mut buffers, byte, LARGE)).collect();
        for (byte, bytes) in (0..20).zip(&kept) {
            assert!(bytes.len() == LARGE && bytes.iter().all(|value| *value == byte));
        }
    }

    #[test]
    fn what_nobody_needs_is_used_again() {
        let mut buffers = ReceiveBuffers::new(LARGE + 10);
        let places: Vec<*const u8> =
            (0..10).map(|byte| write(&mut buffers, byte, LARGE).as_ptr()).collect();
        assert_eq!(places[0], places[2], "two buffers take turns");
        assert_eq!(buffers.current().len(), LARGE + 10, "all of it");
        assert_eq!(buffers.handed_on.len(), 1);
    }

    #[test]
    fn small_frames_leave_the_buffer_where_it_is() {
        let mut buffers = ReceiveBuffers::new(LARGE);
        let place = buffers.current().as_ptr();
        assert_eq!(write(&mut buffers, 7, 3), [7, 7, 7][..]);
        assert_eq!(buffers.current().as_ptr(), place);
    }
}
