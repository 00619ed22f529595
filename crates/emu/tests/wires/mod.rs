//! What this machine's wires can be made of. A test over one that it lacks is skipped, and says so.

use farlink_emu::{Wire, diagnosis};

/// Whether TAP devices can be had here: many containers have no /dev/net/tun.
pub fn has_tap() -> bool {
    let missing = diagnosis::missing(Some(Wire::Tap));
    for (capability, lack) in &missing {
        println!("skipped: {capability}: {}", lack.why);
    }
    missing.is_empty()
}
