//! What the machine lets a process have.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// As many descriptors as this process may have: each connection takes one, and many systems begin with 1,024.
pub fn raise() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    // Where it cannot be raised, connections beyond it wait to be accepted.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
}
