//! Access control: clients, users and destinations. Decisions without IO; each refusal has a reason.
//!
//! The defaults allow nothing that would make the proxy a way into networks that its clients cannot reach themselves, or an open
//! proxy for arbitrary clients.

mod destinations;
mod users;

pub use destinations::{DestinationError, Destinations, PortSet, SpecialPurpose, special_purpose};
pub(crate) use destinations::{matches, within};
pub use users::{AllowedClients, PasswordHash, Users, UsersError};
