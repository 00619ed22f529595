//! The proxy's other side: origins, asked over connections that are kept and shared.
//!
//! One [`Upstream`] a core. It resolves names, judges addresses, opens connections, lends them out and takes them back; an
//! exchange that fails on a connection which died idle is made once more where nothing can be done twice.

mod body;
mod destination;
mod error;
mod fetch;
mod open;
mod pool;
mod settings;
mod tunnel;

pub use body::ResponseBody;
pub use destination::{Destination, Reach};
pub use error::FetchError;
pub use fetch::{Fetched, Order, Upstream};
pub use pool::PoolCount;
pub use settings::Settings;
pub use tunnel::Tunnel;
