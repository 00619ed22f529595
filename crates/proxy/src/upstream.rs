//! Upstream connections: kept alive, shared, and lent to requests.
//!
//! There is one [`Upstream`] per core. It resolves names, judges addresses, opens connections, lends them out and takes
//! them back; an exchange that fails on a connection that died while idle is retried if the request is safe to repeat.

mod body;
mod connections;
mod destination;
mod error;
mod fetch;
mod health;
mod open;
mod pool;
mod queue;
mod settings;
mod shares;
mod transfer;
mod tunnel;

pub use body::ResponseBody;
pub use destination::{Destination, Reach};
pub use error::FetchError;
pub use fetch::{Fetched, Order, Upstream};
pub use health::{Check, Choice, Health, HealthSettings, ServerTally};
pub use pool::PoolCount;
pub use settings::Settings;
pub use shares::Peer;
pub use tunnel::Tunnel;
