//! SPDY/2, SPDY/3 and SPDY/3.1, both ends, without I/O.
//!
//! A [`Session`] is one connection: it is fed the bytes that arrive and gives [`Event`]s; it is given commands and
//! holds the bytes to be sent as an [`Output`]. Between them lie the parts, each usable alone: [`frame`]s, the
//! [`Fields`] of a header block, their compression ([`Deflater`], [`Inflater`]), flow-control windows and a
//! schedule of who sends next. What HTTP makes of it is in [`message`].
//!
//! Sources: the drafts 2, 3 and 3.1 of "SPDY Protocol" (Belshe, Peon; 2009 to 2013), cited as "2.6.1" after the numbering of draft 3.1;
//! where the drafts and what was deployed differ, what Chrome, mod_spdy and nginx did decides, and the place says so.
//!
//! What it leaves out: client certificates (CREDENTIAL is refused), the NPN by which SPDY was once negotiated (ALPN
//! has the same names), storing the settings that a server asks a client to keep (they are told as events).

#![forbid(unsafe_code)]

mod compress;
mod config;
mod context;
mod fields;
pub mod frame;
pub mod message;
mod output;
mod priority;
mod reason;
mod recall;
mod schedule;
mod session;
mod stream_id;
mod version;
mod window;

pub use compress::{Compression, Deflater, InflateError, Inflater};
pub use config::{Config, Limits, PushedHead};
pub use fields::{FieldError, Fields};
pub use output::Output;
pub use priority::Priority;
pub use reason::{CloseReason, ResetReason};
pub use recall::Recall;
pub use schedule::Policy;
pub use session::{CommandError, Event, Message, OpenError, Opened, Role, Session, SessionError};
pub use stream_id::StreamId;
pub use version::Version;
