//! The interface of the caches under comparison: they are told of each request and report hits.

/// A cache bounded in bytes.
pub trait Policy {
    /// A request for an object of that weight. Returns true on a hit; on a miss the object is offered to the cache.
    fn request(&mut self, object: u32, weight: u64) -> bool;
}
