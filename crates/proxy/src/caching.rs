//! The proxy's cache: the decisions and contents of the `cache` crate as answers of a server.
//!
//! All cores share the memory tier, the disk tier behind it, if there is one, and the table of requests under way: concurrent requests for one object
//! go to its origin as one.

mod collapsed_forwarding;
mod disk;
mod responses;
mod store;

pub use self::collapsed_forwarding::{FlightRole, Flights, SingleFlight};
pub use self::responses::{CACHE_STATUS, NAME as CACHE_NAME, PreparedResponse};
pub use collapsed_forwarding::HitForMiss;
pub use disk::{DiskSettings, DiskTally, DiskTier};
pub use responses::CacheFill;
pub use store::{CacheSettings, CacheStore, PurgeCount, key_of_url};
pub use store::{ClientFields, RequestFields};
