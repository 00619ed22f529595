//! Counter of the streams that a QUIC connection carries.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use tokio::sync::Notify;

/// Time in which streams that were opened before the far end was known to go may still arrive: more than two round trips over a
/// geostationary satellite and a repair.
const STRAGGLERS: Duration = Duration::from_secs(2);

/// A count of streams. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct Carried(Rc<Inner>);

#[derive(Default)]
struct Inner {
    count: Cell<usize>,
    changed: Notify,
}

/// One counted stream, until it is dropped.
pub(crate) struct One(Carried);

impl Carried {
    pub(crate) fn one(&self) -> One {
        self.0.count.set(self.0.count.get() + 1);
        One(self.clone())
    }

    /// Waits until there are no streams, and none has arrived for a while.
    pub(crate) async fn none(&self) {
        loop {
            while self.0.count.get() > 0 {
                self.0.changed.notified().await;
            }
            world::sleep(STRAGGLERS).await;
            if self.0.count.get() == 0 {
                return;
            }
        }
    }
}

impl Drop for One {
    fn drop(&mut self) {
        let Inner { count, changed } = &*self.0.0;
        count.set(count.get() - 1);
        changed.notify_one();
    }
}
