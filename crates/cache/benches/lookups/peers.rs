//! Third-party caches: a plain LRU behind a lock, and two concurrent ones. Each finds a value by a URL.

use std::hint::black_box;
use std::num::NonZeroUsize;
use std::sync::Arc;

use farlink_cache::Stored;
use lru::LruCache;
use parking_lot::Mutex;

use crate::tier::{Object, Tier, judged, stored};

/// The value that they hold for every object.
fn value() -> Arc<Stored> {
    Arc::new(stored(&judged("")))
}

/// A separate value for each object, as in our tier.
fn copy(value: &Stored) -> Arc<Stored> {
    Arc::new(value.clone())
}

/// The crate `lru` behind one lock.
pub struct Lru {
    cache: Mutex<LruCache<String, Arc<Stored>>>,
    value: Arc<Stored>,
}

impl Lru {
    pub fn new(count: usize) -> Lru {
        let count = NonZeroUsize::new(count).expect("it holds something");
        Lru { cache: Mutex::new(LruCache::new(count)), value: value() }
    }
}

impl Tier for Lru {
    fn name(&self) -> &'static str {
        "lru"
    }

    fn find(&self, object: &Object) -> bool {
        black_box(self.cache.lock().get(object.url.as_str()).cloned()).is_some()
    }

    fn store(&self, object: &Object) {
        self.cache.lock().put(object.url.clone(), copy(&self.value));
    }
}

/// `quick_cache`: shards, ideas of Clock-PRO and S3-FIFO.
pub struct QuickCache {
    cache: quick_cache::sync::Cache<String, Arc<Stored>>,
    value: Arc<Stored>,
}

impl QuickCache {
    pub fn new(count: usize) -> QuickCache {
        QuickCache { cache: quick_cache::sync::Cache::new(count), value: value() }
    }
}

impl Tier for QuickCache {
    fn name(&self) -> &'static str {
        "quick_cache"
    }

    fn find(&self, object: &Object) -> bool {
        black_box(self.cache.get(object.url.as_str())).is_some()
    }

    fn store(&self, object: &Object) {
        self.cache.insert(object.url.clone(), copy(&self.value));
    }
}

/// `moka`: W-TinyLFU, as in Caffeine; the calling thread does its housekeeping.
pub struct Moka {
    cache: moka::sync::Cache<String, Arc<Stored>>,
    value: Arc<Stored>,
}

impl Moka {
    pub fn new(count: usize) -> Moka {
        Moka { cache: moka::sync::Cache::new(count as u64), value: value() }
    }
}

impl Tier for Moka {
    fn name(&self) -> &'static str {
        "moka"
    }

    fn find(&self, object: &Object) -> bool {
        black_box(self.cache.get(object.url.as_str())).is_some()
    }

    fn store(&self, object: &Object) {
        self.cache.insert(object.url.clone(), copy(&self.value));
    }
}
