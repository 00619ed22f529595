//! The servers of a recorded load, answering again: each under its own name, at an address of its own, over any protocol.
//!
//! [`ReplayedSite`] lists the hosts with their addresses, ports and certificates; [`Replay`] holds the responses and serves
//! them. A request that was not recorded gets the response of the most similar one ([`archive::matching`]) or none, and
//! either way an entry in the [`ReplayJournal`]: no miss is silent.

mod deterministic;
mod handler;
mod journal;
mod replies;
mod serve;
mod site;

pub use self::journal::{JournalEntry, ReplayJournal, RequestOutcome};
pub use self::serve::{Replay, ReplayError, ReplaySettings};
pub use self::site::{ReplayProtocol, ReplayedHost, ReplayedPort, ReplayedSite, SiteError};
