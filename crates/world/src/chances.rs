//! Seeded randomness of the current world.

use crate::ambient;

/// The world's random stream for one purpose (`"loader/think"`). The same name gives the same
/// stream from its beginning: keep the stream, do not ask again for each draw.
pub fn stream(purpose: &str) -> chance::Stream {
    ambient::with_common(|common| common.source.stream(purpose))
}
