//! Split HTTP: a page in clear text is fetched and parsed at the far end, which also sends the embedded objects
//! across unasked.
//!
//! The steps are those of Cardaci et al., "Using SPDY to Improve Web 2.0 over Satellite Links" (2015), section 3:
//!
//! 1. the client's `GET` comes to the near end,
//! 2. which traps it and passes it on ([`near`]),
//! 3. the far end fetches the page, scans it as it passes, and fetches the objects it embeds, with the cookies that it keeps ([`far`]),
//! 4. all of it is compressed where that helps ([`message`]), and sent in the order of its urgency,
//! 5. the near end answers the client's later requests from the objects received.
//!
//! Anything but a plain `GET` in clear text - TLS, uploads, upgrades, malformed input - passes unread: it is split TCP.

mod discover;
mod far;
mod html;
mod message;
mod near;

pub use self::discover::{Embedded, EmbeddedKind, discover};
pub(crate) use self::far::Fetcher;
pub use self::far::{PageCompression, PrefetchSettings};
pub(crate) use self::near::{
    Answered, ClientConnection, ClientEvent, GetContext, PushStore, answer,
};
