//! How many machines serve a page.

use crate::choice;

choice! {
    /// Where the page's hosts are.
    #[derive(Default)]
    pub enum Hosting, "hosting" {
        /// Each on a machine of its own.
        #[default]
        Apart = "apart",
        /// All on one, at one address, with one certificate and the same workers.
        Together = "together",
    }
    not_yet {}
}

impl Hosting {
    /// Whether it is what it was when there was no choice.
    pub fn is_apart(&self) -> bool {
        *self == Hosting::Apart
    }
}
