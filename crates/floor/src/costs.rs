//! Least times of one object on a path, from which floors are built.

use std::time::Duration;

use super::{PageLoad, Path, ServiceCurve, Work};

/// A page load on a path.
#[derive(Debug)]
pub(super) struct Costs<'a, C> {
    pub(super) load: &'a PageLoad<'a>,
    pub(super) path: &'a Path<C>,
}

impl<C: ServiceCurve> Costs<'_, C> {
    /// The bottleneck's work on the bytes of an object from `begin` to `end`.
    pub(super) fn work(&self, index: usize, begin: u64, end: u64) -> Work {
        if self.load.is_cached(index) {
            return Work::default();
        }
        self.path.work(end) - self.path.work(begin)
    }

    /// The least time from the discovery of an object until its first byte is at the bottleneck.
    pub(super) fn request_delay(&self, index: usize) -> Duration {
        if self.load.is_cached(index) {
            return Duration::ZERO;
        }
        if self.load.is_at_proxy(index) {
            return self.path.up_delay;
        }
        self.path.request_delay(self.load.page, &self.load.page.objects[index])
    }

    /// The time from the service of an object's byte to its arrival.
    pub(super) fn down_delay(&self, index: usize) -> Duration {
        if self.load.is_cached(index) {
            return Duration::ZERO;
        }
        self.path.down_delay
    }
}
