//! TCP as its users see it: packet scripts, closed forms, controllers. One program, since linking one for each file
//! takes minutes.

#[path = "../common/mod.rs"]
mod common;

mod bbr;
mod behaviour;
mod closed_forms;
mod ecn;
mod knobs;
mod metrics;
mod responses;
mod series;
