//! The proxy's other side: origins, asked over connections that are kept and shared.
//!
//! One [`Upstream`] a core. It resolves names, judges addresses, opens connections, lends them out and takes them back; an
//! exchange that fails on a connection which died idle is made once more where nothing can be done twice.

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
