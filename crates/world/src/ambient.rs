//! The world of the current thread. The only ambient state of the project.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::net::IpAddr;

use chance::Source;

use crate::report::{Endpoint, Keeping};

/// The kind of world a thread is in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// None: a world's functions panic.
    Outside,
    /// The simulated one.
    Sim,
    /// The machine's.
    Real,
}

/// State common to both worlds.
pub(crate) struct Common {
    /// Source of random streams.
    pub(crate) source: Source,
    /// Names and addresses, consulted before anything else.
    pub(crate) hosts: BTreeMap<String, IpAddr>,
    /// Amount of data kept of connections.
    pub(crate) keeping: Keeping,
    /// Reporters of connections above UDP.
    pub(crate) added: RefCell<Vec<Box<dyn Fn() -> Endpoint>>>,
}

impl Common {
    pub(crate) fn new(source: Source, hosts: BTreeMap<String, IpAddr>, keeping: Keeping) -> Common {
        Common { source, hosts, keeping, added: RefCell::default() }
    }
}

/// The ends of connections above UDP.
pub(crate) fn added() -> Vec<Endpoint> {
    with_common(|common| common.added.borrow().iter().map(|tell| tell()).collect())
}

/// Drops these reporters, while the world on which they report still exists.
pub(crate) fn forget_added() {
    let added = with_common(|common| common.added.take());
    drop(added);
}

thread_local! {
    static KIND: Cell<Kind> = const { Cell::new(Kind::Outside) };
    static COMMON: RefCell<Option<Common>> = const { RefCell::new(None) };
}

/// The kind of world this thread is in.
///
/// # Panics
/// Outside any world.
pub(crate) fn kind() -> Kind {
    let kind = KIND.get();
    assert!(
        kind != Kind::Outside,
        "this thread is in no world: run the future by `world::sim` or `world::real`"
    );
    kind
}

/// Runs `f` on the state shared by both worlds.
pub(crate) fn with_common<T>(f: impl FnOnce(&Common) -> T) -> T {
    kind();
    COMMON.with_borrow(|common| f(common.as_ref().expect("a thread in a world has its commons")))
}

/// Puts this thread into a world until the guard is dropped.
///
/// # Panics
/// If the thread is in a world already: worlds do not nest.
pub(crate) fn enter(kind: Kind, common: Common) -> Entered {
    assert!(KIND.get() == Kind::Outside, "a thread can be in one world at a time");
    KIND.set(kind);
    COMMON.set(Some(common));
    Entered(())
}

/// Keeps the thread in a world while it lives.
pub(crate) struct Entered(());

impl Drop for Entered {
    fn drop(&mut self) {
        KIND.set(Kind::Outside);
        COMMON.set(None);
    }
}
