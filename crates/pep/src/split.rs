//! Split TCP (RFC 3135 sections 2.4, 3.1): each half of a connection is acknowledged where it ends, and the leg carries it in between.

mod ask;
mod fragile;
mod pipe;
mod splice;

pub use self::ask::{Ask, Refused};
pub(crate) use self::fragile::Fragile;
pub(crate) use self::pipe::{connect, join};
pub(crate) use self::splice::{Ended, Splice, room};
