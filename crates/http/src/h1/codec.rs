//! HTTP/1's message syntax (RFC 9112) without IO: bytes in, events out.
//!
//! [`RequestDecoder`] and [`ResponseDecoder`] are driven alike: pass the bytes received, drop as many as were consumed,
//! repeat until [`Event::More`]. The output does not depend on how the input was cut into pieces, and several messages
//! may lie in one buffer. Start lines and fields are parsed by `httparse`; message boundaries - the target of request
//! smuggling - are decided here, and ambiguous input is refused.

mod body;
mod chunked;
pub mod encode;
mod error;
mod fields;
mod limits;
mod request;
mod response;
mod scan;

pub use body::BodyLength;
pub use error::Error;
pub use fields::Fields;
pub use limits::Limits;
pub use request::{Request, RequestDecoder};
pub use response::{Response, ResponseDecoder};

/// A decoder's output. `H` is its kind of head.
#[derive(Debug, PartialEq, Eq)]
pub enum Event<'b, H> {
    /// Nothing complete: more bytes are needed.
    More,
    /// A head. If its `body` is [`BodyLength::None`], it is the whole message and no
    /// [`Event::End`] follows.
    Head(H),
    /// A piece of the body, without framing.
    Data(&'b [u8]),
    /// The body's end, after any trailers.
    End,
}

/// A message's HTTP version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// HTTP/1.0
    V10,
    /// HTTP/1.1
    V11,
}

impl Version {
    /// From `httparse`'s minor number, which is 0 or 1.
    fn from_minor(minor: Option<u8>) -> Version {
        if minor == Some(0) { Version::V10 } else { Version::V11 }
    }
}
