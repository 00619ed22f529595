//! Kinds of wires available on this machine. A test over a missing one is skipped, with a message.

use farlink_emu::{Wire, diagnosis};

/// Returns true if TAP devices are available here: many containers have no /dev/net/tun.
pub fn has_tap() -> bool {
    let missing = diagnosis::missing(Some(Wire::Tap));
    for (capability, lack) in &missing {
        println!("skipped: {capability}: {}", lack.why);
    }
    missing.is_empty()
}
