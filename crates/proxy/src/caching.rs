//! The proxy's cache: the decisions and contents of the `cache` crate as answers of a server.
//!
//! All cores share the memory tier, the disk tier behind it, if there is one, and the table of requests under way: concurrent requests for one object
//! go to its origin as one.

mod disk;
mod filling;
mod flights;
mod hit_for_miss;
mod prepared;
mod shown;
mod store;

pub use disk::{DiskSettings, DiskTally, DiskTier};
pub use filling::Filling;
pub use flights::{Flight, Flights, Turn};
pub use hit_for_miss::HitForMiss;
pub use prepared::{CACHE_STATUS, NAME as CACHE_NAME, Prepared};
pub use shown::{Asked, Shown};
pub use store::{Forgotten, Settings, Store, key_of_url};
