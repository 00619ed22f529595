//! Journeys in either world: [`tour`] says what a journey is, [`simulate`] and [`emulate`] lay a network between its ends, and [`worlds`] chooses.
//!
//! Nothing here parses a packet, knows a store or judges a result.

#![forbid(unsafe_code)]

pub mod emulate;
pub mod link_test;
pub mod simulate;
pub mod tour;
pub mod worlds;
