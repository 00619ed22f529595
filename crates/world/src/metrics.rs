//! TCP's cache of peer metrics from one connection to the next.

use crate::ambient::{self, Kind};
use crate::sim;

/// Clears the peer metrics of the current node's TCP and, for this node, of its peers' (`ip tcp_metrics flush`, at both ends).
///
/// The kernel permits this only to the root of the whole machine. In the real world nothing happens: the creator of a network namespace can
/// keep its TCP from learning at all (`tcp_no_metrics_save`).
pub fn forget_peers() {
    match ambient::kind() {
        Kind::Sim => sim::forget_peers(),
        Kind::Real | Kind::Outside => {}
    }
}
