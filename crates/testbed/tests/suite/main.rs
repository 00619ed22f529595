//! Visits in simulation: goldens, closed forms, clients, routes, journeys. One program, since linking one for each
//! file takes minutes.

#[path = "../common/mod.rs"]
mod common;

mod auto_config;
mod bursts;
mod clients;
mod closed_form;
mod corpus;
mod discovery;
mod golden;
mod head_of_line;
mod heads;
mod inference;
mod journeys;
mod migration;
mod policies;
mod recording;
mod round_trips;
mod routes;
mod same_host;
