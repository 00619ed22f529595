//! Limits on the memory that a peer can claim.

/// Upper bound of a head's fields whatever [`Limits`] say: the room on the stack.
pub(super) const MOST_FIELDS: usize = 128;

/// Limits on one message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a head, start line and empty line included; also of a chunked body's extensions and
    /// trailers together.
    pub head_bytes: usize,
    /// Fields of a head; never more than 128.
    pub fields: usize,
}

impl Limits {
    /// For a server: 16 KiB, as HAProxy's buffer (`tune.bufsize`), and 100 fields, as Apache's
    /// `LimitRequestFields`.
    pub const SERVER: Limits = Limits { head_bytes: 16 * 1024, fields: 100 };
    /// For a client: 64 KiB, enough for the largest cookies that pages set, and 128 fields.
    pub const CLIENT: Limits = Limits { head_bytes: 64 * 1024, fields: MOST_FIELDS };
}
