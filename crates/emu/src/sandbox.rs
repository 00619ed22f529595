//! The process tree of an emulation, which leaves nothing behind when its root ends, for whatever reason.
//!
//! ```text
//!   farlink          the user's process: holds a Sandbox
//!     warden         a fork of it in a new user (unless root), mount and network namespace; waits for its child, nothing else
//!       supervisor   the same executable as PID 1 of a new PID namespace: holds a Supervisor, builds testbeds, runs emulators
//!         node ...   the same or another executable, in the network namespace of one end: see NetNamespace::start
//! ```
//!
//! The warden is there because unshare(2) moves only the caller's children to a new PID namespace.
//!
//! The kernel ends it all: warden and supervisor die with their parents (`PR_SET_PDEATHSIG`), and all others with the PID namespace's first
//! process (pid_namespaces(7)). Mounts, interfaces and files exist in namespaces and in memory only; they vanish with the last
//! process in them. The one remaining race, a supervisor that misses its parent's death, is closed by the channel: the supervisor ends
//! when farlink's end of it is closed.
//!
//! Invariant: nothing that a sandbox makes has a name in the machine's own file system or network.

mod caller;
mod descriptors;
mod mounts;
mod names;
mod outside;
mod supervisor;
mod terminal;
mod warden;

pub use caller::RunAs;
pub use descriptors::{receive_listener, send_listener};
pub use names::Names;
pub use outside::Sandbox;
pub use supervisor::{Reaped, Supervisor};
pub use terminal::take_terminal;
