//! Resource limits of the process.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::disable_transparent_huge_pages;

/// Raises the limit of descriptors to its maximum: each connection takes one, and many systems begin with 1,024.
pub fn raise() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    // If it cannot be raised, connections beyond it wait to be accepted.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
}

/// Uses pages of 4 KiB, not the huge ones that the allocator asks for: an idle connection has touched only the
/// beginning of each of its buffers, but a huge page is resident as a whole. This saves a third of the memory of
/// such a connection.
pub fn keep_pages_small() {
    // Fails on kernels without huge pages, where there is nothing to disable.
    let _ = disable_transparent_huge_pages(true);
}
