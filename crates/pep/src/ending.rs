//! Shutdown of an end: in order, or at once.

use std::sync::Arc;

use tokio::sync::watch;

/// Handle to shut down an end of the proxy. Clones share it; it may be used from another thread.
#[derive(Clone, Debug)]
pub struct Ending(Arc<watch::Sender<Stage>>);

/// Stage of the shutdown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stage {
    Running,
    /// Nothing new is accepted.
    Draining,
    /// Remaining connections are broken off.
    Over,
}

impl Default for Ending {
    fn default() -> Ending {
        Ending(Arc::new(watch::Sender::new(Stage::Running)))
    }
}

impl Ending {
    /// Accepts nothing new from now on; existing connections may go on to their ends.
    pub fn drain(&self) {
        self.to(Stage::Draining);
    }

    /// Breaks everything off.
    pub fn end(&self) {
        self.to(Stage::Over);
    }

    fn to(&self, stage: Stage) {
        self.0.send_if_modified(|current| {
            let is_later = *current < stage;
            *current = stage.max(*current);
            is_later
        });
    }

    /// Returns true if the stage has been reached.
    pub(crate) fn has_reached(&self, stage: Stage) -> bool {
        *self.0.borrow() >= stage
    }

    /// Waits until the stage is reached.
    pub(crate) async fn reached(&self, stage: Stage) {
        let mut stages = self.0.subscribe();
        // The sender lives as long as `self`.
        drop(stages.wait_for(|current| *current >= stage).await.map(|_| ()));
    }
}
