//! A running proxy: its ports, connections and shutdown.
//!
//! A [`Worker`] is one core's share; in production there is one per core, each with its own listeners on the same addresses. A
//! [`Control`] switches all of them between phases: serve with these settings, drain.

mod admin;
mod port;
mod worker;

use std::sync::Arc;

use tls::PublicClient;
use tokio::sync::watch;

use crate::caching::Store;
use crate::config::Settings;

pub use admin::{AdminHandler, ProxyState};
pub use worker::{Complaint, NoPort, Worker, WorkerParts};

/// Phase of a worker.
#[derive(Clone, Debug)]
pub enum Phase {
    /// Serve.
    Serve {
        /// The settings; existing connections keep theirs.
        settings: Arc<Settings>,
        /// TLS client for origins.
        tls: PublicClient,
        /// The cache, if any.
        store: Option<Arc<Store>>,
    },
    /// Accept no more connections, finish requests under way, end.
    Drain,
}

/// Sender of phases to workers.
#[derive(Debug)]
pub struct Control(watch::Sender<Phase>);

/// A worker's receiver of phases.
#[derive(Clone, Debug)]
pub struct Orders(watch::Receiver<Phase>);

impl Control {
    /// Creates both ends, with `phase` as the first.
    pub fn new(phase: Phase) -> (Control, Orders) {
        let (sender, receiver) = watch::channel(phase);
        (Control(sender), Orders(receiver))
    }

    /// Switches workers to `phase`.
    pub fn tell(&self, phase: Phase) {
        self.0.send_replace(phase);
    }
}

impl Orders {
    /// The current phase.
    pub fn current(&mut self) -> Phase {
        self.0.borrow_and_update().clone()
    }

    /// Waits for the next phase. A dropped sender means the end.
    pub async fn changed(&mut self) -> Phase {
        match self.0.changed().await {
            Ok(()) => self.current(),
            Err(_) => Phase::Drain,
        }
    }
}
