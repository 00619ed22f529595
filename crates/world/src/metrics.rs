//! What TCP remembers of its peers from one connection to the next.

use crate::ambient::{self, Kind};
use crate::sim;

/// Forgets what the current node's TCP and its peers' have learned of each other (`ip tcp_metrics flush`, at both ends).
///
/// The kernel lets nobody but the root of the whole machine do so. In the real world nothing happens: whoever makes a network namespace can
/// have its TCP learn nothing at all (`tcp_no_metrics_save`).
pub fn forget_peers() {
    match ambient::kind() {
        Kind::Sim => sim::forget_peers(),
        Kind::Real | Kind::Outside => {}
    }
}
