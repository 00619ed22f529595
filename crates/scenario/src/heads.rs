//! What fills requests' heads.

use crate::choice;

choice! {
    /// What requests say of themselves.
    #[derive(Default)]
    pub enum RequestHeads, "request-heads" {
        /// A few fields, and a cookie that makes up the page's size.
        #[default]
        Sized = "sized",
        /// The fields of the recording; where there are none, those that the browser sends.
        Recorded = "recorded",
    }
    not_yet {}
}

impl RequestHeads {
    /// Whether they are as they were when there was no choice.
    pub fn is_usual(&self) -> bool {
        *self == RequestHeads::default()
    }
}
