//! Permits for the connections that may be open at once on a core.

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::sync::Semaphore;

use crate::journal::Metrics;

/// A permit, released on drop.
pub(super) struct Place(Rc<Semaphore>);

impl Place {
    /// Waits for a free permit.
    pub(super) async fn acquire(room: Rc<Semaphore>) -> Place {
        match room.acquire().await {
            Ok(permit) => permit.forget(),
            Err(_) => unreachable!("the room is never closed"),
        }
        Place(room)
    }

    /// A permit, if one is free.
    pub(super) fn at_once(room: &Rc<Semaphore>) -> Option<Place> {
        room.try_acquire().ok()?.forget();
        Some(Place(Rc::clone(room)))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.add_permits(1);
    }
}

/// A client's connection, counted in the gauges as open.
pub(super) struct Counted(Arc<Metrics>);

impl Counted {
    pub(super) fn among(metrics: Arc<Metrics>) -> Counted {
        metrics.gauges().clients.fetch_add(1, Ordering::Relaxed);
        Counted(metrics)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.gauges().clients.fetch_sub(1, Ordering::Relaxed);
    }
}
