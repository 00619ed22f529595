//! What is compared: caches that are told of each request and say whether they had the object.

/// A cache bounded in bytes.
pub trait Policy {
    /// A request for an object of that weight: whether it was held. If not, it is offered to the cache.
    fn request(&mut self, object: u32, weight: u64) -> bool;
}
