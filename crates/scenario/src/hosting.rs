//! Number of machines that serve a page.

use crate::choice;

choice! {
    /// Placement of the page's hosts on machines.
    #[derive(Default)]
    pub enum Hosting, "hosting" {
        /// Each on a machine of its own.
        #[default]
        Apart = "apart",
        /// All on one machine, at one address, with one certificate and the same workers.
        Together = "together",
    }
    not_yet {}
}

impl Hosting {
    /// True if each host has a machine of its own, the default.
    pub fn is_apart(&self) -> bool {
        *self == Hosting::Apart
    }
}
