//! A connection's requests in progress, and the side that each waits for.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use tokio::sync::Notify;
use units::Time;

/// Time for a client to fetch the last of its responses on shutdown: a closed QUIC connection retransmits nothing.
/// Enough for two losses in a row over a satellite.
const LINGER: Duration = Duration::from_secs(5);

/// The requests in progress.
#[derive(Default)]
pub(super) struct Open {
    requests: Cell<usize>,
    /// The requests that wait for a handler.
    ours: Cell<usize>,
    tunnels: Cell<usize>,
    last_end: Cell<Option<Time>>,
    changed: Notify,
}

/// A counted part of them: a whole request, a handler's turn, or a tunnel, until dropped.
pub(super) struct Task(Rc<Open>, fn(&Open) -> &Cell<usize>);

impl Open {
    /// Counts a request.
    pub(super) fn request(self: &Rc<Open>) -> Task {
        self.count(|open| &open.requests)
    }

    /// Counts a wait for a handler.
    pub(super) fn ours(self: &Rc<Open>) -> Task {
        self.count(|open| &open.ours)
    }

    /// Counts a tunnel.
    pub(super) fn tunnel(self: &Rc<Open>) -> Task {
        self.count(|open| &open.tunnels)
    }

    fn count(self: &Rc<Open>, which: fn(&Open) -> &Cell<usize>) -> Task {
        which(self).set(which(self).get() + 1);
        Task(Rc::clone(self), which)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.requests.get() == 0
    }

    pub(super) fn is_ours(&self) -> bool {
        self.ours.get() > 0
    }

    pub(super) fn is_tunnelling(&self) -> bool {
        self.tunnels.get() > 0
    }

    /// Waits until there is none, and until the client must have received the last.
    pub(super) async fn over(self: Rc<Open>) {
        while !self.is_empty() {
            self.changed.notified().await;
        }
        if let Some(last) = self.last_end.get() {
            world::sleep_until(last + LINGER).await;
        }
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        let Task(open, which) = self;
        which(open).set(which(open).get() - 1);
        if open.is_empty() {
            open.last_end.set(Some(world::now()));
            open.changed.notify_one();
        }
    }
}
