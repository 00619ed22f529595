//! Work that would block a world's thread.

use crate::ambient::{self, Kind};

/// Runs `work` off the world's thread. In the simulated world it runs at once and takes no time.
///
/// # Panics
/// If `work` does.
pub async fn blocking<T, F>(work: F) -> T
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    match ambient::kind() {
        Kind::Sim => work(),
        _ => tokio::task::spawn_blocking(work)
            .await
            .expect("work is not cancelled while its world runs, and must not panic"),
    }
}
