//! The layers between the `h2` crate and TLS.
//!
//! h2 is used unmodified, and leaves some of the protocol to its users that only its bytes show or can change. From h2
//! down to TLS, each layer a stream over the next:
//!
//! | layer | end | adds |
//! |---|---|---|
//! | [`priority`] | client | the priority in HEADERS (RFC 7540 section 6.2), which h2 does not send |
//! | [`field_filter`] | both | a malformed field ends its stream, where h2 ends the connection (RFC 9113 section 8.1.1) |
//! | [`observer`] | both | accounts of frames: heads' sizes on the wire, the end of a stream's sending, control frames; at the server also the client's priority signals, which h2 ignores |
//! | [`coalesce`] | both | the segments of real ends: a server's frames in whole records, each of a client's heads alone |

pub(crate) mod coalesce;
pub(crate) mod field_filter;
pub(crate) mod observer;
pub(crate) mod priority;
