//! Access control: clients, users and destinations. Decisions without IO; each refusal has a reason.
//!
//! The defaults allow nothing that would make the proxy a way into networks that its clients cannot reach themselves, or an open
//! proxy for arbitrary clients.

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
