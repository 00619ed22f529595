//! Who may use the proxy, and what they may reach through it. Decisions without IO; each refusal says why.
//!
//! Nothing is allowed by default that would make the proxy a way into networks that its clients cannot reach themselves, or a way
//! out for clients that nobody named.

mod addresses;
mod clients;
mod destinations;
mod ports;
mod users;

pub use addresses::{SpecialPurpose, special_purpose};
pub use clients::Clients;
pub(crate) use destinations::matches;
pub use destinations::{Destinations, Refusal};
pub use ports::Ports;
pub use users::{PasswordHash, Users, UsersError};
