//! How many streams of a QUIC connection are being carried.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use tokio::sync::Notify;

/// What was opened before its end was known may come late: more than two round trips over a geostationary satellite and a repair.
const STRAGGLERS: Duration = Duration::from_secs(2);

/// A count of streams. Clones are the same.
#[derive(Clone, Default)]
pub(crate) struct Carried(Rc<Inner>);

#[derive(Default)]
struct Inner {
    count: Cell<usize>,
    changed: Notify,
}

/// One of them, until it is dropped.
pub(crate) struct One(Carried);

impl Carried {
    pub(crate) fn one(&self) -> One {
        self.0.count.set(self.0.count.get() + 1);
        One(self.clone())
    }

    /// Waits until there is none, and none has come for a while.
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
