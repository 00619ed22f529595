//! What the machine lets a process have.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::disable_transparent_huge_pages;

/// As many descriptors as this process may have: each connection takes one, and many systems begin with 1,024.
pub fn raise() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    // Where it cannot be raised, connections beyond it wait to be accepted.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
}

/// Memory in pages of 4 KiB, not in huge ones, which the allocator asks for: a connection at rest has touched only the beginning of each of its
/// buffers, but a huge page is there as a whole. A third of such a connection's memory.
pub fn keep_pages_small() {
    // Where the kernel has no huge pages there are none.
    let _ = disable_transparent_huge_pages(true);
}
