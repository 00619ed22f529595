//! The world of the current thread, its random streams and its peer metrics. The only ambient state of the project.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::net::IpAddr;

use chance::RandomSource;

use crate::report::{Endpoint, Keeping};
use crate::{ambient, sim};

/// The kind of world a thread is in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum WorldKind {
    /// None: a world's functions panic.
    Outside,
    /// The simulated one.
    Sim,
    /// The machine's.
    Real,
}

/// State common to both worlds.
pub(crate) struct SharedContext {
    /// Source of random streams.
    pub(crate) source: RandomSource,
    /// Names and addresses, consulted before anything else.
    pub(crate) hosts: BTreeMap<String, IpAddr>,
    /// Amount of data kept of connections.
    pub(crate) keeping: Keeping,
    /// Reporters of connections above UDP.
    pub(crate) added: RefCell<Vec<Box<dyn Fn() -> Endpoint>>>,
}

impl SharedContext {
    pub(crate) fn new(
        source: RandomSource,
        hosts: BTreeMap<String, IpAddr>,
        keeping: Keeping,
    ) -> SharedContext {
        SharedContext { source, hosts, keeping, added: RefCell::default() }
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
    static KIND: Cell<WorldKind> = const { Cell::new(WorldKind::Outside) };
    static COMMON: RefCell<Option<SharedContext>> = const { RefCell::new(None) };
}

/// The kind of world this thread is in.
///
/// # Panics
/// Outside any world.
pub(crate) fn kind() -> WorldKind {
    let kind = KIND.get();
    assert!(
        kind != WorldKind::Outside,
        "this thread has no world: run the future in `world::sim` or `world::real`"
    );
    kind
}

/// Runs `f` on the state shared by both worlds.
pub(crate) fn with_common<T>(f: impl FnOnce(&SharedContext) -> T) -> T {
    kind();
    COMMON.with_borrow(|common| {
        f(common.as_ref().expect("a thread in a world has its shared context"))
    })
}

/// Puts this thread into a world until the guard is dropped.
///
/// # Panics
/// If the thread is in a world already: worlds do not nest.
pub(crate) fn enter(kind: WorldKind, common: SharedContext) -> Entered {
    assert!(KIND.get() == WorldKind::Outside, "a thread can be in one world at a time");
    KIND.set(kind);
    COMMON.set(Some(common));
    Entered(())
}

/// Keeps the thread in a world while it lives.
pub(crate) struct Entered(());

impl Drop for Entered {
    fn drop(&mut self) {
        KIND.set(WorldKind::Outside);
        COMMON.set(None);
    }
}

/// The world's random stream for one purpose (`"loader/think"`), or its client's, if each has its own. The same name returns the same
/// stream from its beginning: keep the stream, do not request it for each draw.
pub fn stream(purpose: &str) -> chance::RandomStream {
    let own = match ambient::kind() {
        WorldKind::Sim => sim::state::own_source(),
        WorldKind::Real | WorldKind::Outside => None,
    };
    own.map_or_else(|| of_world(purpose), |own| own.stream(purpose))
}

/// The world's own stream, whichever client's task is running: for purposes whose name includes the client.
pub(crate) fn of_world(purpose: &str) -> chance::RandomStream {
    ambient::with_common(|common| common.source.stream(purpose))
}

/// Clears the peer metrics of the current node's TCP and, for this node, of its peers' (`ip tcp_metrics flush`, at both ends).
///
/// The kernel permits this only to the root of the whole machine. In the real world nothing happens: the creator of a network namespace can
/// keep its TCP from learning at all (`tcp_no_metrics_save`).
pub fn forget_peers() {
    match ambient::kind() {
        WorldKind::Sim => sim::forget_peers(),
        WorldKind::Real | WorldKind::Outside => {}
    }
}
