//! SPDY/2, SPDY/3 and SPDY/3.1, both ends, without I/O.
//!
//! A [`Session`] is one connection: it consumes received bytes and returns [`Event`]s; it accepts commands and
//! holds the bytes to be sent as an [`Output`]. The parts between them are usable alone: [`frame`]s, the [`Fields`]
//! of a header block, their compression ([`Deflater`], [`Inflater`]), flow-control windows and a schedule of the
//! streams' turns. The mapping of HTTP is in [`message`].
//!
//! Sources: the drafts 2, 3 and 3.1 of "SPDY Protocol" (Belshe, Peon; 2009 to 2013), cited as "2.6.1" after the
//! numbering of draft 3.1; where deployments differ from the drafts, the behaviour of Chrome, mod_spdy and nginx
//! decides, with a comment.
//!
//! It leaves out: client certificates (CREDENTIAL is refused), the NPN by which SPDY was once negotiated (ALPN has
//! the same names), storing the settings that a server asks a client to keep (they are reported as events).

#![forbid(unsafe_code)]

mod codes;
mod compress;
mod config;
mod fields;
pub mod frame;
pub mod message;
mod output;
mod recall;
mod schedule;
mod session;
mod version;
mod window;

pub use crate::codes::Priority;
pub use crate::codes::StreamId;
pub use crate::codes::{CloseReason, ResetReason};
pub use compress::{Compression, Deflater, InflateError, Inflater};
pub use config::{Config, Limits, PushedHead};
pub use fields::{FieldError, Fields};
pub use output::Output;
pub use recall::Recall;
pub use schedule::Policy;
pub use session::{CommandError, Event, Message, OpenError, Opened, Role, Session, SessionError};
pub use version::Version;
