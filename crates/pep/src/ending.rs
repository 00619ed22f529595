//! How an end comes to its end: in order, or at once.

use std::sync::Arc;

use tokio::sync::watch;

/// Tells an end of the proxy to end. Clones tell the same; it may be told from another thread.
#[derive(Clone, Debug)]
pub struct Ending(Arc<watch::Sender<Stage>>);

/// How far the end has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stage {
    Running,
    /// Nothing new is taken.
    Draining,
    /// What is left breaks off.
    Over,
}

impl Default for Ending {
    fn default() -> Ending {
        Ending(Arc::new(watch::Sender::new(Stage::Running)))
    }
}

impl Ending {
    /// Nothing new is taken from now on; what is there may go on to its end.
    pub fn drain(&self) {
        self.to(Stage::Draining);
    }

    /// Everything breaks off.
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

    /// Whether it has come so far.
    pub(crate) fn has_reached(&self, stage: Stage) -> bool {
        *self.0.borrow() >= stage
    }

    /// Waits until it has come so far.
    pub(crate) async fn reached(&self, stage: Stage) {
        let mut stages = self.0.subscribe();
        // The sender lives as long as `self`.
        drop(stages.wait_for(|current| *current >= stage).await.map(|_| ()));
    }
}
