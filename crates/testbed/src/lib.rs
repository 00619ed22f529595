//! Journeys in either world: [`tour`] defines a journey, [`simulate`] and [`emulate`] provide the network
//! between its ends, and [`worlds`] chooses.
//!
//! This crate parses no packets, uses no store and judges no results.

#![forbid(unsafe_code)]

pub mod emulate;
pub mod fit;
pub mod link_test;
pub mod simulate;
pub mod tour;
pub mod worlds;
