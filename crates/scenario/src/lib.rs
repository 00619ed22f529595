//! Scenarios, the experiments that span grids of them, and the plan of journeys they come to.
//!
//! A [`Scenario`] is page x network x stack x transport x client x server x world, fully specified. It is typed
//! data with one canonical text, which is the identity of a cell: two scenarios are the same cell if and only
//! if their texts are equal, and the store holds the text beside every journey. [`experiment`] turns a TOML
//! file into a [`Plan`]; an [`Execute`] runs its journeys, one at a time.

#![forbid(unsafe_code)]

pub mod experiment;
pub mod grid;
pub mod settings;

mod background;
mod choice;
mod client;
mod contradiction;
mod itinerary;
mod knobs;
mod network;
mod plan;
mod quic;
mod recording;
mod resolution;
mod route;
mod scenario;
mod security;
mod serving;
mod shared;
mod stack;
mod transport;

// What describes a load: types of settings are exported as they are declared.
pub use client::*;
pub use quic::*;
pub use resolution::*;
pub use security::*;
pub use serving::*;
pub use stack::*;
pub use transport::*;

pub use background::{BackgroundTraffic, Flow, FlowKind, TrafficError};
pub use choice::{ChoiceError, nearest};
pub use itinerary::{Itinerary, Keeps, PageOrder, VisitPace};
pub use knobs::KnobError;
pub use network::{NetworkSpec, Queue};
pub use plan::{
    Execute, Floors, JourneyPlan, JourneyResult, Keep, MeasuredVisit, Order, Plan, Shard, StopRule,
    VERSION, seed_of,
};
pub use recording::Recording;
pub use route::{
    CacheState, Compression, PepSettings, Prefetch, ProxyPlace, ProxyPreset, ProxySettings, Route,
    RouteKind, Sight, Stretch, Tier, Via,
};
pub use scenario::{Noise, PageRef, Release, Scenario, World};
pub use shared::Shared;
