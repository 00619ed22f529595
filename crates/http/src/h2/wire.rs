//! The layers between TLS and the `h2` crate.
//!
//! h2 is used unmodified. It does not say, write or check all that browsers, servers and this project's accounts need;
//! its bytes are read, and on two occasions changed, on their way. Every layer finds frames with
//! [`Frames`](super::frame::Frames) and leaves the rest of them alone. From h2 down to TLS:
//!
//! | layer | ends | h2 lacks |
//! |---|---|---|
//! | [`field_filter`] | both | checks of malformed fields (RFC 9113 section 8.2.1): it panics or passes them on |
//! | [`priority`] | client writes, server reads | priority signals: PRIORITY, PRIORITY_UPDATE, the priority in HEADERS |
//! | [`observer`] | both | a head's size on the wire, the time at which a stream's last byte leaves, counts of control frames |
//! | [`coalesce`] | server, client | writes cut as servers (whole segments) and browsers (a head each) cut them |

pub(crate) mod coalesce;
pub(crate) mod field_filter;
pub(crate) mod observer;
pub(crate) mod priority;
