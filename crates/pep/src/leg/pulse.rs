//! Liveness of the other end and round-trip time: PING (RFC 9113 section 6.7).

use std::cell::Cell;
use std::time::Duration;

use h2::{Ping, PingPong};

/// Sends a PING every `settings.keep_alive`, the first at once; completes when an answer fails to come. Notes the shortest round trip in
/// `rtt`, and calls `came` at the first answer: a near end that the far end does not let in learns of it only after its handshake (RFC
/// 8446 section 4.4.2).
pub(super) async fn watch(
    mut pings: PingPong,
    settings: &super::Settings,
    rtt: &Rtt,
    came: impl FnOnce(),
) {
    let mut came = Some(came);
    loop {
        let asked = world::now();
        match world::timeout(settings.dead_after, pings.ping(Ping::opaque())).await {
            Ok(Ok(_)) => rtt.note(world::now().since(asked)),
            Ok(Err(_)) | Err(_) => return,
        }
        if let Some(came) = came.take() {
            came();
        }
        world::sleep(settings.keep_alive).await;
    }
}

/// The shortest round trip seen.
#[derive(Debug, Default)]
pub(crate) struct Rtt(Cell<Option<Duration>>);

impl Rtt {
    fn note(&self, sample: Duration) {
        self.0.set(Some(self.0.get().map_or(sample, |least| least.min(sample))));
    }

    /// The shortest round trip; zero before the first answer.
    pub(crate) fn least(&self) -> Duration {
        self.0.get().unwrap_or_default()
    }
}
