//! Seeded randomness of the current world.

use crate::ambient::{self, Kind};
use crate::sim;

/// The world's random stream for one purpose (`"loader/think"`), or its client's, if each has its own. The same name returns the same
/// stream from its beginning: keep the stream, do not request it for each draw.
pub fn stream(purpose: &str) -> chance::Stream {
    let own = match ambient::kind() {
        Kind::Sim => sim::state::own_source(),
        Kind::Real | Kind::Outside => None,
    };
    own.map_or_else(|| of_world(purpose), |own| own.stream(purpose))
}

/// The world's own stream, whichever client's task is running: for purposes whose name includes the client.
pub(crate) fn of_world(purpose: &str) -> chance::Stream {
    ambient::with_common(|common| common.source.stream(purpose))
}
