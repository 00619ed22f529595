//! Contents of request heads.

use crate::choice;

choice! {
    /// Header fields of requests.
    #[derive(Default)]
    pub enum RequestHeads, "request-heads" {
        /// A few fields, and a cookie that pads them to the size in the page.
        #[default]
        Sized = "sized",
        /// The recorded fields; if there are none, those that the browser sends.
        Recorded = "recorded",
    }
    not_yet {}
}

impl RequestHeads {
    /// True for the default.
    pub fn is_usual(&self) -> bool {
        *self == RequestHeads::default()
    }
}
