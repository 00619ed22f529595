//! A running proxy: its ports, connections and shutdown.
//!
//! A [`Worker`] is one core's share; in production there is one per core, each with its own listeners on the same addresses. A
//! [`PhaseSender`] switches all of them between phases: serve with these settings, drain.

mod admin;
mod port;
pub mod proxy_protocol;
mod worker;

use std::sync::Arc;

use tls::PublicClient;
use tokio::sync::watch;

use crate::caching::CacheStore;
use crate::config::ProxyConfig;

pub use admin::{AdminHandler, ProxyState};
pub use worker::{ListenError, PortError, Worker, WorkerParts};

/// Phase of a worker.
#[derive(Clone, Debug)]
pub enum WorkerPhase {
    /// Serve.
    Serve {
        /// The settings; existing connections keep theirs.
        settings: Arc<ProxyConfig>,
        /// TLS client for origins.
        tls: PublicClient,
        /// The cache, if any.
        store: Option<Arc<CacheStore>>,
    },
    /// Accept no more connections, finish requests under way, end.
    Drain,
}

/// Sender of phases to workers.
#[derive(Debug)]
pub struct PhaseSender(watch::Sender<WorkerPhase>);

/// A worker's receiver of phases.
#[derive(Clone, Debug)]
pub struct PhaseReceiver(watch::Receiver<WorkerPhase>);

impl PhaseSender {
    /// Creates both ends, with `phase` as the first.
    pub fn new(phase: WorkerPhase) -> (PhaseSender, PhaseReceiver) {
        let (sender, receiver) = watch::channel(phase);
        (PhaseSender(sender), PhaseReceiver(receiver))
    }

    /// Switches workers to `phase`.
    pub fn tell(&self, phase: WorkerPhase) {
        self.0.send_replace(phase);
    }
}

impl PhaseReceiver {
    /// The current phase.
    pub fn current(&mut self) -> WorkerPhase {
        self.0.borrow_and_update().clone()
    }

    /// Waits for the next phase. A dropped sender means the end.
    pub async fn changed(&mut self) -> WorkerPhase {
        match self.0.changed().await {
            Ok(()) => self.current(),
            Err(_) => WorkerPhase::Drain,
        }
    }
}
