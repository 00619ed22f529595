//! (this crate's first slice is on its way)

pub mod floor;
