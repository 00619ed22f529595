//! What workers are told, from whatever thread.

use std::sync::Arc;

use tls::PublicClient;
use tokio::sync::watch;

use crate::caching::Store;
use crate::config::Settings;

/// What a worker is to do.
#[derive(Clone, Debug)]
pub enum Phase {
    /// Serve.
    Serve {
        /// With these settings; connections that are there keep those that they came under.
        settings: Arc<Settings>,
        /// With this client for origins over TLS.
        tls: PublicClient,
        /// With this cache, if any.
        store: Option<Arc<Store>>,
    },
    /// Take no more connections, finish what is under way, end.
    Drain,
}

/// Tells workers what to do.
#[derive(Debug)]
pub struct Control(watch::Sender<Phase>);

/// What a worker is told.
#[derive(Clone, Debug)]
pub struct Orders(watch::Receiver<Phase>);

impl Control {
    /// Begins with `phase`.
    pub fn new(phase: Phase) -> (Control, Orders) {
        let (sender, receiver) = watch::channel(phase);
        (Control(sender), Orders(receiver))
    }

    /// From now on, `phase`.
    pub fn tell(&self, phase: Phase) {
        self.0.send_replace(phase);
    }
}

impl Orders {
    /// What is to be done now.
    pub fn current(&mut self) -> Phase {
        self.0.borrow_and_update().clone()
    }

    /// Waits until something else is to be done. Nobody being left to tell means the end.
    pub async fn changed(&mut self) -> Phase {
        match self.0.changed().await {
            Ok(()) => self.current(),
            Err(_) => Phase::Drain,
        }
    }
}
